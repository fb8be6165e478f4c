#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The highest capability is asked of the running kernel, which may know more than the headers. */
static bool empty_bounding_set(void) {
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0UL, 0UL, 0UL) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0UL, 0UL, 0UL) != 0) return false;
    return true;
}

/*
 * Root without capabilities is still the owner of root's files, but no longer above every other owner, and may not look
 * into a process that has capabilities. Whoever is not root may not change the bounding set; no_new_privs, set next,
 * makes it empty in effect.
 */
void drop_capabilities(struct strength *strength) {
    if (prctl(PR_CAP_AMBIENT, (unsigned long)PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL) != 0)
        refuse(errno, "the ambient capabilities stay");
    strength->bounding_empty = empty_bounding_set();
    if (strength->bounding_empty) {
        unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                             SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
        if (prctl(PR_SET_SECUREBITS, bits, 0UL, 0UL, 0UL) != 0) refuse(errno, "the secure bits cannot be set");
    }
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    if (syscall(SYS_capset, &header, none) != 0) refuse(errno, "the capabilities stay");
    if (geteuid() == 0 && !strength->bounding_empty) refuse(0, "root's capabilities would come back with the program");
}

void set_limits(const struct options *options) {
    for (size_t i = 0; i < options->limit_count; i++) {
        struct rlimit now;
        int resource = options->limits[i].resource;
        if (getrlimit(resource, &now) != 0) refuse(errno, "--rlimit");
        rlim_t value = options->limits[i].value < now.rlim_max ? (rlim_t)options->limits[i].value : now.rlim_max;
        struct rlimit wanted = {value, value};
        if (setrlimit(resource, &wanted) != 0) refuse(errno, "--rlimit");
    }
}
