#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH"
#endif

/* What neither JavaScript, nor a family, nor the C libraries behind them call: other processes' memory, the kernel's
 * code and keys, mounts and namespaces, and interfaces that only widen what an exploit can reach. */
static const unsigned refused[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd, SYS_perf_event_open, SYS_bpf,
    SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_keyctl, SYS_add_key,
    SYS_request_key, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_unshare, SYS_setns, SYS_open_by_handle_at,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_swapon,
    SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_personality,
};
#define REFUSED (sizeof refused / sizeof refused[0])

/* TIOCSTI types into the terminal, TIOCLINUX pastes into it. */
static const unsigned terminal[] = {0x5412, 0x541C};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define UNLESS_EQUAL_SKIP(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)

void filter_calls(const struct options *options, struct strength *strength) {
    if (!options->filter) return;
    struct sock_filter program[32 + 2 * REFUSED];
    unsigned short length = 0;
#define ADD(statement) program[length++] = (struct sock_filter)statement
    ADD(LOAD(arch));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0));
    ADD(RETURN(SECCOMP_RET_KILL_PROCESS));
    ADD(LOAD(nr));
#if defined(__x86_64__)
    /* The second numbering of the same calls, which would step past the list. */
    ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1));
    ADD(REFUSE);
#endif
    for (size_t i = 0; i < REFUSED; i++) {
        ADD(UNLESS_EQUAL_SKIP(refused[i], 1));
        ADD(REFUSE);
    }
    ADD(UNLESS_EQUAL_SKIP(SYS_socket, 3));
    ADD(LOAD(args[0]));
    ADD(UNLESS_EQUAL_SKIP(AF_PACKET, 1));
    ADD(RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT));
    ADD(LOAD(nr));
    ADD(UNLESS_EQUAL_SKIP(SYS_ioctl, 5));
    ADD(LOAD(args[1]));
    for (size_t i = 0; i < 2; i++) {
        ADD(UNLESS_EQUAL_SKIP(terminal[i], 1));
        ADD(REFUSE);
    }
    ADD(RETURN(SECCOMP_RET_ALLOW));
#undef ADD
    struct sock_fprog filter = {length, program};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) {
        strength->filtered = true;
    } else if (!options->best_effort) {
        refuse(errno, "this kernel takes no filter of system calls; --best-effort starts without");
    }
}
