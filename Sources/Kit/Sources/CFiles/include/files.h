/* What Swift's Glibc does not show of the file system. */
#ifndef FILES_H
#define FILES_H

#include <stdint.h>

/* Moves one name of a folder to one name of another, where nothing is unless `replaces`: 0 or an errno. */
int32_t files_rename(int32_t from, const char *old_name, int32_t to, const char *new_name, int32_t replaces);

#endif
