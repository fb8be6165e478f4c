/* Processes and what they send each other: system calls that Swift cannot make itself. All give -errno on failure. */
#ifndef APSULE_PROCESS_H
#define APSULE_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor of this process, and its number in the child. */
struct process_descriptor {
    int32_t source;
    int32_t target;
};

/*
 * posix_spawn(3) with fresh signals: the number of the child. Descriptors that are not named are closed; 0, 1 and 2 are
 * then /dev/null, or for 1 and 2 this process's. A new session has no terminal and gets no Ctrl-C of its parent's.
 */
int32_t process_spawn(
    const char *program, char *const *arguments, char *const *environment,
    const struct process_descriptor *descriptors, size_t count, bool inherits_output, bool new_session);

/* A counter to wake a poll(2) with, close-on-exec and nonblocking. */
int32_t process_event(void);

/* A pipe that no child inherits unasked; 0, or -errno. */
int32_t process_pipe(int32_t *read_end, int32_t *write_end);

/* pidfd_open(2), close-on-exec: names one process, and never another that later has its number. */
int32_t process_open(int32_t pid);

/* pidfd_send_signal(2). */
int32_t process_signal(int32_t pidfd, int32_t signal);

/* waitid(2) on a pidfd without waiting: 1 where it has ended, with its exit status or, negative, its signal; else 0. */
int32_t process_reap(int32_t pidfd, int32_t *status);

/* sem_clockwait(3) until a time of the monotonic clock, in nanoseconds: 0, or -ETIMEDOUT. */
int32_t process_wait_semaphore(void *semaphore, int64_t deadline);

/* sendmsg(2) of two pieces and descriptors, without waiting or SIGPIPE: bytes sent. */
int64_t wire_send(
    int32_t socket, const void *first, size_t first_size, const void *second, size_t second_size,
    const int32_t *descriptors, size_t descriptor_count);

/* recvmsg(2), waiting: bytes read, 0 at the end. Descriptors are close-on-exec; `descriptor_count` is room, then count.
 * -EMSGSIZE, and none is left open, where there were more than there is room for. */
int64_t wire_receive(
    int32_t socket, void *buffer, size_t size, int32_t *descriptors, size_t *descriptor_count);

/* A memory file that can be sealed. */
int32_t wire_memory(size_t size);

/* Makes a memory file unchangeable. */
int32_t wire_seal(int32_t memory);

/* The size of a memory file that nobody can change any more; -EPERM for any other file. */
int64_t wire_sealed_size(int32_t memory);
#endif
