/*
 * apsule-launch: gives powers up, then becomes PROGRAM.
 *
 * Landlock and seccomp bind the calling thread and what it starts, so a program with threads of its own cannot confine
 * itself any more: this one has a single thread, confines it, and execs. Whatever it cannot take away it refuses to
 * start, with exit status 125, unless --best-effort asks for what this kernel has.
 */
#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What swiftc reads from objects and hands to the linker before the runtime that it links to every program: without
 * it, and without Swift's start files (Package.swift), that runtime would be loaded for nothing at each start. */
__attribute__((used, section(".swift1_autolink_entries"))) static const char linker_options[] = "-Xlinker\0--as-needed";

void refuse(int error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("apsule-launch: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (error != 0) fprintf(stderr, ": %s", strerror(error));
    fputc('\n', stderr);
    exit(LAUNCH_FAILED);
}

/* One line of JSON; a caller that asked for it reads it before it trusts the program with anything. */
static void report(const struct options *options, const struct strength *strength) {
    if (options->report < 0) return;
    char line[256];
    int length = snprintf(
        line, sizeof line,
        "{\"landlock\":%d,\"files\":%llu,\"tcp\":%s,\"scoped\":%s,\"bounding\":%s,\"filter\":%s,\"uid\":%u}\n",
        strength->landlock_abi, (unsigned long long)strength->files, strength->network != 0 ? "true" : "false",
        strength->scoped != 0 ? "true" : "false", strength->bounding_empty ? "true" : "false",
        strength->filtered ? "true" : "false", (unsigned)getuid());
    if (write(options->report, line, (size_t)length) != length) refuse(errno, "--report %d", options->report);
}

/* The parent may have ended before the request was made, which then never fires: hence the second look. */
static void die_with_parent(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL) != 0) refuse(errno, "PR_SET_PDEATHSIG");
    if (parent != 0 && getppid() != parent) refuse(0, "the parent has ended");
}

int main(int count, char **arguments) {
    /* A file with set-user-id or file capabilities must not lend them to whoever writes this command line. */
    if (getauxval(AT_SECURE) != 0) refuse(0, "refuses to run with privileges that its caller does not have");

    struct options options;
    parse_options(count, arguments, &options);
    umask(077);
    if (options.directory != NULL && chdir(options.directory) != 0) refuse(errno, "--chdir %s", options.directory);

    struct strength strength = {0};
    set_limits(&options);
    drop_capabilities(&strength);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) refuse(errno, "PR_SET_NO_NEW_PRIVS");
    confine_files(&options, &strength);
    filter_calls(&options, &strength);
    report(&options, &strength);
    close_descriptors(&options);
    /* Last: a change of credentials clears it. */
    die_with_parent(options.parent);

    execv(options.program[0], options.program);
    refuse(errno, "%s", options.program[0]);
}
