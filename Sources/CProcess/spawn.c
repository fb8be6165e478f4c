#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_target(const struct process_descriptor *descriptors, size_t count, int number) {
    for (size_t i = 0; i < count; i++)
        if (descriptors[i].target == number) return true;
    return false;
}

/* Each descriptor is first moved above all targets, so that none overwrites another that is still to be placed. */
static int place(
    posix_spawn_file_actions_t *actions, const struct process_descriptor *descriptors, size_t count, int *moved,
    bool inherits_output) {
    int top = 2;
    for (size_t i = 0; i < count; i++)
        if (descriptors[i].target > top) top = descriptors[i].target;
    for (size_t i = 0; i < count; i++) {
        moved[i] = fcntl(descriptors[i].source, F_DUPFD_CLOEXEC, top + 1);
        if (moved[i] < 0) return errno;
        int error = posix_spawn_file_actions_adddup2(actions, moved[i], descriptors[i].target);
        if (error != 0) return error;
    }
    for (int number = 0; number <= top; number++) {
        if (is_target(descriptors, count, number) || (number != 0 && number <= 2 && inherits_output)) continue;
        int error = number > 2 ? posix_spawn_file_actions_addclose(actions, number)
                               : posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0);
        if (error != 0) return error;
    }
    return posix_spawn_file_actions_addclosefrom_np(actions, top + 1);
}

/* This process may block or ignore signals that a fresh program expects. */
static int refresh_signals(posix_spawnattr_t *attributes, bool new_session) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (new_session) flags |= POSIX_SPAWN_SETSID;
    return error != 0 ? error : posix_spawnattr_setflags(attributes, flags);
}

int32_t process_spawn(
    const char *program, char *const *arguments, char *const *environment,
    const struct process_descriptor *descriptors, size_t count, bool inherits_output, bool new_session) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int *moved = malloc((count + 1) * sizeof(int));
    if (moved == NULL) return -ENOMEM;
    for (size_t i = 0; i < count; i++) moved[i] = -1;
    pid_t pid = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawnattr_init(&attributes);
        if (error == 0) {
            error = refresh_signals(&attributes, new_session);
            if (error == 0) error = place(&actions, descriptors, count, moved, inherits_output);
            if (error == 0) error = posix_spawn(&pid, program, &actions, &attributes, arguments, environment);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    for (size_t i = 0; i < count; i++)
        if (moved[i] >= 0) close(moved[i]);
    free(moved);
    return error != 0 ? -error : pid;
}
