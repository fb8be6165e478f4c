#define _GNU_SOURCE
#include "host_core.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int32_t host_open_beneath(int32_t directory, const char *path, int32_t flags, uint32_t mode) {
    /* O_TMPFILE has the bit of O_DIRECTORY in it, and a mode that no file gets is refused. */
    int makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    struct open_how how = {
        .flags = (uint64_t)(uint32_t)(flags | O_CLOEXEC | O_NOCTTY),
        .mode = makes ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long result;
    int attempts = 0;
    /* A folder that was renamed while ".." was resolved: EAGAIN, though nothing is wrong with the path. */
    do result = syscall(SYS_openat2, directory, path, &how, sizeof how);
    while (result < 0 && errno == EAGAIN && ++attempts < 256);
    return result < 0 ? -errno : (int32_t)result;
}

int32_t host_openat(int32_t directory, const char *path, int32_t flags, uint32_t mode) {
    int result = openat(directory, path, flags | O_CLOEXEC | O_NOCTTY, mode);
    return result < 0 ? -errno : result;
}

void host_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int32_t host_usable_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int32_t host_file_system(const char *path, uint64_t *id) {
    struct statfs info;
    if (statfs(path, &info) != 0) return -errno;
    memcpy(id, &info.f_fsid, sizeof *id);
    return 0;
}

struct visitor {
    void (*visit)(void *context, const char *path);
    void *context;
};

static int visit_library(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    const struct visitor *visitor = data;
    visitor->visit(visitor->context, info->dlpi_name);
    return 0;
}

void host_loaded_libraries(void (*visit)(void *context, const char *path), void *context) {
    struct visitor visitor = {visit, context};
    dl_iterate_phdr(visit_library, &visitor);
}
