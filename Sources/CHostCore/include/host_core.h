/* System calls that Swift cannot make itself: variadic ones, and those without a libc wrapper. */
#ifndef APSULE_HOST_CORE_H
#define APSULE_HOST_CORE_H
#include <stddef.h>
#include <stdint.h>

/* openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS: a descriptor, or -errno. */
int32_t host_open_beneath(int32_t directory, const char *path, int32_t flags, uint32_t mode);

/* openat(2) with its mode: a descriptor, or -errno. */
int32_t host_openat(int32_t directory, const char *path, int32_t flags, uint32_t mode);

/* Calls `visit` with the path of each library that this program has loaded. */
void host_loaded_libraries(void (*visit)(void *context, const char *path), void *context);

/* Names the calling thread. */
void host_name_thread(const char *name);

/* How many processors this program may run on at once. */
int32_t host_usable_processors(void);

/* statfs(2): the file system's id; 0, or -errno. */
int32_t host_file_system(const char *path, uint64_t *id);

/* SHA-256 of `size` bytes at `data`, into the 32 bytes at `digest`. */
void host_sha256(const uint8_t *data, size_t size, uint8_t *digest);

/* Tells the processor that this thread only waits for another to write. */
static inline void host_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}
#endif
