#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int32_t process_event(void) {
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event < 0 ? -errno : event;
}

int32_t process_pipe(int32_t *read_end, int32_t *write_end) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    *read_end = ends[0];
    *write_end = ends[1];
    return 0;
}

int32_t process_open(int32_t pid) {
    long pidfd = syscall(SYS_pidfd_open, pid, 0);
    return pidfd < 0 ? -errno : (int32_t)pidfd;
}

int32_t process_signal(int32_t pidfd, int32_t signal) {
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

int32_t process_reap(int32_t pidfd, int32_t *status) {
    siginfo_t info = {0};
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) != 0)
        if (errno != EINTR) return -errno;
    if (info.si_pid == 0) return 0;
    *status = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
    return 1;
}

int32_t process_wait_semaphore(void *semaphore, int64_t deadline) {
    struct timespec until = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &until) != 0)
        if (errno != EINTR) return -errno;
    return 0;
}

int32_t wire_memory(size_t size) {
    int memory = memfd_create("apsule", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0) return -errno;
    if (ftruncate(memory, (off_t)size) == 0) return memory;
    int error = errno;
    close(memory);
    return -error;
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int32_t wire_seal(int32_t memory) {
    return fcntl(memory, F_ADD_SEALS, SEALS | F_SEAL_SEAL) != 0 ? -errno : 0;
}

int64_t wire_sealed_size(int32_t memory) {
    int seals = fcntl(memory, F_GET_SEALS);
    struct stat status;
    if (seals < 0 || (seals & SEALS) != SEALS) return -EPERM;
    return fstat(memory, &status) != 0 ? -errno : (int64_t)status.st_size;
}
