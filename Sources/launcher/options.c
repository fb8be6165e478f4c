#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char usage[] =
    "usage: apsule-launch OPTION… -- PROGRAM ARGUMENT…\n"
    "  --ro PATH           read files and list folders beneath PATH\n"
    "  --rx PATH           execute too\n"
    "  --rw PATH           read, make, change and remove files and folders beneath PATH, which must exist\n"
    "  --dev PATH          read, write and control a device\n"
    "  --rlimit NAME=N     as core cpu data fsize memlock nofile nproc stack\n"
    "  --no-tcp            no TCP but to the ports that --tcp names\n"
    "  --tcp PORT          connect to this port\n"
    "  --scoped            no signals to, and no abstract sockets of, processes outside\n"
    "  --lenient           pass over --no-tcp and --scoped where this kernel has no such rules\n"
    "  --filter            refuse the system calls that only a debugger or an administrator needs\n"
    "  --env NAME=VALUE    add to the environment\n"
    "  --chdir PATH        start there\n"
    "  --keep FD           hand this descriptor over; all others above 2 are closed\n"
    "  --parent PID        do not start unless this process is the parent\n"
    "  --best-effort       start with what the kernel can take away\n"
    "  --report FD         write what was taken away, as one line of JSON\n"
    "A PATH that is not there is passed over, but for --rw. PROGRAM is a path; it may always be executed.\n";

static const struct {
    const char *name;
    int resource;
} limits[] = {
    {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},
};

static uint64_t number(const char *option, const char *text, uint64_t maximum) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || errno != 0 || value > maximum)
        refuse(0, "%s: '%s' is not a number up to %llu", option, text, (unsigned long long)maximum);
    return value;
}

static struct limit_rule limit(const char *text) {
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals != NULL && i < sizeof limits / sizeof limits[0]; i++) {
        size_t length = strlen(limits[i].name);
        if (length == (size_t)(equals - text) && strncmp(text, limits[i].name, length) == 0)
            return (struct limit_rule){limits[i].resource, number("--rlimit", equals + 1, UINT64_MAX)};
    }
    refuse(0, "--rlimit: '%s' names no limit", text);
}

static void *room(int count, size_t size) {
    void *memory = calloc((size_t)count, size);
    if (memory == NULL) refuse(errno, "memory");
    return memory;
}

static void set_environment(char *text) {
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || putenv(text) != 0) refuse(0, "--env: '%s' is not NAME=VALUE", text);
}

/* Whether the option is one without a value, which is then set. */
static bool take_flag(const char *name, struct options *options) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"--no-tcp", &options->no_tcp},
        {"--scoped", &options->scoped},
        {"--filter", &options->filter},
        {"--lenient", &options->lenient},
        {"--best-effort", &options->best_effort},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(name, flags[i].name) == 0) return *flags[i].flag = true;
    return false;
}

static void take_value(const char *name, char *value, struct options *options) {
    static const struct {
        const char *name;
        enum access access;
    } accesses[] = {
        {"--ro", ACCESS_READ}, {"--rx", ACCESS_EXECUTE}, {"--rw", ACCESS_WRITE}, {"--dev", ACCESS_DEVICE}};
    for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++) {
        if (strcmp(name, accesses[i].name) != 0) continue;
        options->paths[options->path_count++] = (struct path_rule){value, accesses[i].access};
        return;
    }
    if (strcmp(name, "--rlimit") == 0)
        options->limits[options->limit_count++] = limit(value);
    else if (strcmp(name, "--tcp") == 0)
        options->ports[options->port_count++] = (uint16_t)number(name, value, UINT16_MAX);
    else if (strcmp(name, "--env") == 0)
        set_environment(value);
    else if (strcmp(name, "--chdir") == 0)
        options->directory = value;
    else if (strcmp(name, "--keep") == 0)
        options->keep[options->keep_count++] = (int)number(name, value, INT32_MAX);
    else if (strcmp(name, "--parent") == 0)
        options->parent = (pid_t)number(name, value, INT32_MAX);
    else if (strcmp(name, "--report") == 0)
        options->report = (int)number(name, value, INT32_MAX);
    else
        refuse(0, "%s is no option; see --help", name);
}

void parse_options(int count, char **arguments, struct options *options) {
    *options = (struct options){
        .paths = room(count, sizeof(struct path_rule)),
        .limits = room(count, sizeof(struct limit_rule)),
        .keep = room(count, sizeof(int)),
        .ports = room(count, sizeof(uint16_t)),
        .report = -1,
    };
    int next = 1;
    for (; next < count && strcmp(arguments[next], "--") != 0; next++) {
        if (strcmp(arguments[next], "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        if (take_flag(arguments[next], options)) continue;
        if (strncmp(arguments[next], "--", 2) != 0) refuse(0, "'%s': an option or -- is expected", arguments[next]);
        if (next + 1 >= count) refuse(0, "%s needs a value", arguments[next]);
        take_value(arguments[next], arguments[next + 1], options);
        next++;
    }
    if (next + 1 >= count) refuse(0, "no program is named after --");
    options->program = arguments + next + 1;
}
