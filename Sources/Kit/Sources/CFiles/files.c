#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int32_t files_rename(int32_t from, const char *old_name, int32_t to, const char *new_name, int32_t replaces) {
    return renameat2(from, old_name, to, new_name, replaces ? 0 : RENAME_NOREPLACE) == 0 ? 0 : errno;
}

static int64_t copy_by_hand(int32_t from, int32_t to) {
    char buffer[64 * 1024];
    ssize_t count, done = 0;
    do count = read(from, buffer, sizeof buffer);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    while (done < count) {
        ssize_t written = write(to, buffer + done, (size_t)(count - done));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -errno;
        if (written == 0) return -ENOSPC;
        done += written;
    }
    return count;
}

int64_t files_copy(int32_t from, int32_t to, uint64_t count) {
    ssize_t copied = copy_file_range(from, NULL, to, NULL, count, 0);
    if (copied > 0) return copied;
    /* Not between all file systems; and 0 is also what files give whose size is made up. */
    if (copied == 0 || errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS || errno == EBADF)
        return copy_by_hand(from, to);
    return errno == EINTR ? copy_by_hand(from, to) : -errno;
}

int32_t files_sync(int32_t file) { return syncfs(file) == 0 ? 0 : errno; }
