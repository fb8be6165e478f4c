#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int ascending(const void *one, const void *other) {
    int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

static void close_between(unsigned first, unsigned last) {
    if (first > last || close_range(first, last, 0) == 0) return;
    struct rlimit limit = {0, 0};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) refuse(errno, "the descriptors cannot be closed");
    if (last >= limit.rlim_max) last = (unsigned)limit.rlim_max;
    for (unsigned descriptor = first; descriptor <= last; descriptor++) close((int)descriptor);
}

/* Descriptors are power too: what nobody named does not reach the program. */
void close_descriptors(const struct options *options) {
    size_t count = 0;
    int *kept = calloc(options->keep_count + 1, sizeof(int));
    if (kept == NULL) refuse(errno, "memory");
    for (size_t i = 0; i < options->keep_count; i++) {
        int flags = fcntl(options->keep[i], F_GETFD);
        if (flags < 0 || fcntl(options->keep[i], F_SETFD, flags & ~FD_CLOEXEC) != 0)
            refuse(errno, "--keep %d", options->keep[i]);
        kept[count++] = options->keep[i];
    }
    if (keep_own_proc() >= 0) kept[count++] = keep_own_proc();
    qsort(kept, count, sizeof(int), ascending);
    unsigned next = 3;
    for (size_t i = 0; i < count; i++) {
        if (kept[i] < 3) continue;
        if ((unsigned)kept[i] > next) close_between(next, (unsigned)kept[i] - 1);
        next = (unsigned)kept[i] + 1;
    }
    close_between(next, ~0u);
    free(kept);
}
