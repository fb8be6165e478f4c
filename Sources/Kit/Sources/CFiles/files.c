#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <stdio.h>

int32_t files_rename(int32_t from, const char *old_name, int32_t to, const char *new_name, int32_t replaces) {
    return renameat2(from, old_name, to, new_name, replaces ? 0 : RENAME_NOREPLACE) == 0 ? 0 : errno;
}
