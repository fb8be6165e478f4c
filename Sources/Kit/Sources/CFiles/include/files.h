/* What Swift's Glibc does not show of the file system. */
#ifndef FILES_H
#define FILES_H

#include <stdint.h>

/* Moves one name of a folder to one name of another, where nothing is unless `replaces`: 0 or an errno. */
int32_t files_rename(int32_t from, const char *old_name, int32_t to, const char *new_name, int32_t replaces);

/* Copies at most `count` bytes between the positions of two files, sharing them where the file system can: how many, 0 at
 * the end, or -errno. */
int64_t files_copy(int32_t from, int32_t to, uint64_t count);

/* Writes everything of the file system that a descriptor is on to its disk: 0 or an errno. */
int32_t files_sync(int32_t file);

#endif
