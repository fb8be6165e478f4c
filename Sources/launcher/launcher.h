/* What apsule-launch is made of: each file takes one kind of power away from the process that becomes PROGRAM. */
#ifndef APSULE_LAUNCHER_H
#define APSULE_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the launcher itself ends with: it refused, or could not confine or start the program. */
#define LAUNCH_FAILED 125

enum access { ACCESS_READ, ACCESS_EXECUTE, ACCESS_WRITE, ACCESS_DEVICE };

struct path_rule {
    const char *path;
    enum access access;
};

struct limit_rule {
    int resource;
    uint64_t value;
};

/* The command line. Arrays have room for every argument, and live as long as the process. */
struct options {
    struct path_rule *paths;
    size_t path_count;
    struct limit_rule *limits;
    size_t limit_count;
    int *keep;
    size_t keep_count;
    uint16_t *ports;
    size_t port_count;
    const char *directory;
    pid_t parent;
    int report;
    bool no_tcp;
    bool scoped;
    bool filter;
    /* Files are confined or nothing starts; what newer kernels can take away besides is taken where it can be. */
    bool lenient;
    bool best_effort;
    char *const *program;
};

/* What was reached; the report is made of it. */
struct strength {
    int landlock_abi;
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
    bool bounding_empty;
    bool filtered;
};

/* Ends the process with LAUNCH_FAILED and a message on standard error; errno's text follows where `error` is not 0. */
__attribute__((noreturn, format(printf, 2, 3))) void refuse(int error, const char *format, ...);

void parse_options(int count, char **arguments, struct options *options);
void drop_capabilities(struct strength *strength);
void set_limits(const struct options *options);
void confine_files(const struct options *options, struct strength *strength);
void filter_calls(const struct options *options, struct strength *strength);
void close_descriptors(const struct options *options);
int keep_own_proc(void);
#endif
