#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Landlock as Linux 6.12 has it (ABI 6). Debian 12's header ends at ABI 2, so the numbers are spelt out here; what the
 * running kernel does not know is masked off, for it refuses a set with an unknown bit.
 * https://docs.kernel.org/userspace-api/landlock.html
 */
#define SYS_CREATE_RULESET 444
#define SYS_ADD_RULE 445
#define SYS_RESTRICT_SELF 446
#define RULE_PATH_BENEATH 1
#define RULE_NET_PORT 2
#define CREATE_RULESET_VERSION 1u

#define FS(bit) (UINT64_C(1) << (bit))
enum {
    EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK,
    MAKE_FIFO, MAKE_BLOCK, MAKE_SYM, REFER /* ABI 2 */, TRUNCATE /* ABI 3 */, IOCTL_DEV /* ABI 5 */
};
#define BIND_TCP UINT64_C(1)    /* ABI 4 */
#define CONNECT_TCP UINT64_C(2) /* ABI 4 */
#define SCOPES UINT64_C(3)      /* ABI 6: abstract sockets, signals */

struct ruleset_attributes {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
};

struct path_attributes {
    uint64_t access;
    int32_t parent;
} __attribute__((packed));

struct port_attributes {
    uint64_t access;
    uint64_t port;
};

static uint64_t known_files(int abi) {
    uint64_t files = FS(REFER) - 1;
    if (abi >= 2) files |= FS(REFER);
    if (abi >= 3) files |= FS(TRUNCATE);
    if (abi >= 5) files |= FS(IOCTL_DEV);
    return files;
}

/* No links, sockets, pipes or nodes are made by a confined program, not even in a folder of its own. */
static uint64_t rights(enum access access) {
    uint64_t read = FS(READ_FILE) | FS(READ_DIR);
    switch (access) {
    case ACCESS_READ: return read;
    case ACCESS_EXECUTE: return read | FS(EXECUTE);
    case ACCESS_WRITE:
        return read | FS(WRITE_FILE) | FS(TRUNCATE) | FS(REMOVE_DIR) | FS(REMOVE_FILE) | FS(MAKE_DIR) | FS(MAKE_REG) |
               FS(REFER);
    case ACCESS_DEVICE: return read | FS(WRITE_FILE) | FS(TRUNCATE) | FS(IOCTL_DEV);
    }
    return 0;
}

static void allow_beneath(int ruleset, int descriptor, const char *path, uint64_t access) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) refuse(errno, "%s", path);
    if (!S_ISDIR(status.st_mode))
        access &= FS(EXECUTE) | FS(WRITE_FILE) | FS(READ_FILE) | FS(TRUNCATE) | FS(IOCTL_DEV);
    struct path_attributes rule = {access, descriptor};
    if (syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0) refuse(errno, "no rule for %s", path);
}

static void allow_path(int ruleset, const struct path_rule *rule, uint64_t known) {
    int descriptor = open(rule->path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) {
        if (rule->access != ACCESS_WRITE && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return;
        refuse(errno, "%s", rule->path);
    }
    allow_beneath(ruleset, descriptor, rule->path, rights(rule->access) & known);
    close(descriptor);
}

/* Whoever may execute the program may execute its loader, which the kernel opens for it: the one that started this
 * program, since both come from the same build. */
static const char *loader(void) {
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    const char *base = NULL;
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_PHDR) base = (const char *)headers - headers[i].p_vaddr;
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_INTERP && base != NULL) return base + headers[i].p_vaddr;
    return NULL;
}

/*
 * /proc/self is /proc/<pid>, and the program will have this pid. The rule is bound to the inode that the folder has
 * now; short of memory the kernel drops that one and makes another, which no rule knows: so the program inherits a
 * descriptor that keeps it.
 */
int keep_own_proc(void) {
    static int descriptor = -1;
    if (descriptor < 0) descriptor = open("/proc/self", O_PATH | O_DIRECTORY);
    return descriptor;
}

static void allow_ports(int ruleset, const struct options *options) {
    for (size_t i = 0; i < options->port_count; i++) {
        struct port_attributes rule = {CONNECT_TCP, options->ports[i]};
        if (syscall(SYS_ADD_RULE, ruleset, RULE_NET_PORT, &rule, 0) != 0) refuse(errno, "--tcp %u", options->ports[i]);
    }
}

static int probe(const struct options *options) {
    int abi = (int)syscall(SYS_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    int error = errno;
    const char *missing = abi < 1 ? "this kernel has no Landlock"
                          : options->lenient           ? NULL
                          : options->no_tcp && abi < 4 ? "this kernel's Landlock has no rules for TCP"
                          : options->scoped && abi < 6 ? "this kernel's Landlock has no scopes" : NULL;
    if (missing != NULL && !options->best_effort)
        refuse(abi < 1 ? error : 0, "%s; --best-effort starts without", missing);
    return abi < 1 ? 0 : abi;
}

void confine_files(const struct options *options, struct strength *strength) {
    int abi = probe(options);
    if (abi == 0) return;
    struct ruleset_attributes attributes = {
        .files = known_files(abi),
        .network = options->no_tcp && abi >= 4 ? BIND_TCP | CONNECT_TCP : 0,
        .scoped = options->scoped && abi >= 6 ? SCOPES : 0,
    };
    /* Kernels refuse a longer struct than they know unless the rest is zero, which it is here. */
    int ruleset = (int)syscall(SYS_CREATE_RULESET, &attributes, sizeof attributes, 0);
    if (ruleset < 0) refuse(errno, "no Landlock ruleset can be made");
    for (size_t i = 0; i < options->path_count; i++) allow_path(ruleset, &options->paths[i], attributes.files);
    const char *executed[] = {options->program[0], loader()};
    for (size_t i = 0; i < 2; i++) {
        struct path_rule rule = {executed[i], ACCESS_EXECUTE};
        if (rule.path != NULL) allow_path(ruleset, &rule, FS(EXECUTE) | FS(READ_FILE));
    }
    if (keep_own_proc() >= 0) allow_beneath(ruleset, keep_own_proc(), "/proc/self", rights(ACCESS_READ));
    if (attributes.network != 0) allow_ports(ruleset, options);
    if (syscall(SYS_RESTRICT_SELF, ruleset, 0) != 0) refuse(errno, "Landlock does not take the ruleset");
    close(ruleset);
    strength->landlock_abi = abi;
    strength->files = attributes.files;
    strength->network = attributes.network;
    strength->scoped = attributes.scoped;
}
