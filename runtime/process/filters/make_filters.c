// SPDX-License-Identifier: Apache-2.0
// Build-time program: writes the seccomp filters of the sandbox as a C header to the file named on
// the command line.
//
// There is one filter per combination of the guarantees that need one, because a process that
// stacks filters pays for each of them at its start. libseccomp generates the programs; the library
// and the supervisor do not need it at run time.
//
// Arguments of type int are compared in their low 32 bits only: the kernel ignores the rest of the
// register, and a comparison of all 64 bits could be passed with a set high bit.

#define _GNU_SOURCE
/* libseccomp's macros omit a member that most comparisons do not use. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../supervisor/sandbox_bits.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

static scmp_filter_ctx filter;
static const char *current;

static void check(int result) {
    if (result == 0) return;
    fprintf(stderr, "make_filters: %s: %s\n", current, strerror(-result));
    exit(1);
}

// A name unknown to libseccomp is an error: a filter without it would permit the call. libseccomp
// skips known names that this architecture does not have.
static int number_of(const char *name) {
    current = name;
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) check(-ENOSYS);
    return number;
}

static void refuse(uint32_t action, const char *name) {
    check(seccomp_rule_add(filter, action, number_of(name), 0));
}

static void refuse_if(uint32_t action, const char *name, struct scmp_arg_cmp condition) {
    check(seccomp_rule_add_array(filter, action, number_of(name), 1, &condition));
}

#define REFUSE_ALL(action, ...)                                                             \
    do {                                                                                    \
        static const char *const names[] = {__VA_ARGS__};                                   \
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) refuse(action, names[i]); \
    } while (0)

static void refuse_ioctl(uint32_t action, uint32_t command) {
    refuse_if(action, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, command));
}

// Restrictions of every sandbox.
static void add_base(void) {
    const uint32_t no = SCMP_ACT_ERRNO(EPERM);
    // Ways around the filters, or into other processes.
    REFUSE_ALL(no, "io_uring_setup", "io_uring_enter", "io_uring_register", "ptrace",
               "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
               "kcmp", "pidfd_getfd", "bpf", "userfaultfd", "perf_event_open", "open_by_handle_at",
               "lookup_dcookie", "move_pages", "migrate_pages");
    refuse_if(no, "prlimit64", SCMP_A0(SCMP_CMP_NE, 0));
    // A crash must not run the host's program for core dumps: see enter_sandbox() in sandbox.c.
    const struct scmp_arg_cmp changes_core[] = {
        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, RLIMIT_CORE), SCMP_A2(SCMP_CMP_NE, 0)};
    check(seccomp_rule_add_array(filter, no, number_of("prlimit64"), 2, changes_core));
    refuse_if(no, "setrlimit", SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, RLIMIT_CORE));
    // The scheduling of other processes. 0 is the calling thread; a filter cannot distinguish the
    // ids of other threads from those of other processes.
    refuse_if(no, "setpriority", SCMP_A0(SCMP_CMP_NE, PRIO_PROCESS));
    refuse_if(no, "setpriority", SCMP_A1(SCMP_CMP_NE, 0));
    refuse_if(no, "ioprio_set", SCMP_A0(SCMP_CMP_NE, 1 /* IOPRIO_WHO_PROCESS */));
    refuse_if(no, "ioprio_set", SCMP_A1(SCMP_CMP_NE, 0));
    static const char *const scheduling[] = {"sched_setscheduler", "sched_setparam",
                                             "sched_setattr", "sched_setaffinity"};
    for (size_t i = 0; i < sizeof scheduling / sizeof *scheduling; ++i) {
        refuse_if(no, scheduling[i], SCMP_A0(SCMP_CMP_NE, 0));
    }
    // Kernel keys outlive the process.
    REFUSE_ALL(no, "add_key", "request_key", "keyctl");
    // Objects that outlive the process and that other processes may open by a number or a name.
    REFUSE_ALL(no, "mq_open", "mq_unlink", "shmget", "shmat", "shmctl", "msgget", "msgsnd",
               "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "ipc");
    // The machine.
    REFUSE_ALL(no, "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
               "create_module", "query_module", "get_kernel_syms", "swapon", "swapoff", "quotactl",
               "quotactl_fd", "acct", "reboot", "syslog", "iopl", "ioperm", "modify_ldt",
               "settimeofday", "clock_settime", "clock_settime64", "clock_adjtime",
               "clock_adjtime64", "adjtimex", "stime", "sethostname", "setdomainname", "vhangup",
               "nfsservctl", "uselib", "_sysctl", "sysfs", "vm86", "vm86old", "vserver",
               "afs_syscall", "fanotify_init");
    // The view of the file system, and namespaces, in which the kernel would grant rights.
    REFUSE_ALL(no, "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig",
               "fsmount", "fspick", "move_mount", "open_tree", "mount_setattr", "setns");
    static const uint32_t spaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                      CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i) {
        refuse_if(no, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]));
        refuse_if(no, "unshare", SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]));
    }
    refuse_if(no, "unshare", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWTIME, CLONE_NEWTIME));
    // The flags of clone3 are in memory, which a filter cannot read. C libraries fall back to
    // clone.
    refuse(SCMP_ACT_ERRNO(ENOSYS), "clone3");
    // Fake input for the next reader of the terminal.
    refuse_ioctl(no, TIOCSTI);
    refuse_ioctl(no, TIOCLINUX);
    refuse_ioctl(no, TIOCSETD);
    refuse_ioctl(no, TIOCCONS);
}

// Refuses system calls newer than those handled here, up to the last number that x86-64 and aarch64
// share. 463 to 466: setxattrat and similar calls, 467: open_tree_attr, 469: file_setattr.
static void refuse_newer(void) {
    current = "a system call from a newer kernel";
    for (int number = 463; number < 512; ++number) {
        check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0));
    }
}

// The supervisor refuses and counts the calls of its listener. A tool with its own listener would
// be asked instead and could permit them.
static void refuse_own_listener(void) {
    refuse_if(SCMP_ACT_ERRNO(EPERM), "seccomp",
              SCMP_A1(SCMP_CMP_MASKED_EQ, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                      SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

static void add_network(uint32_t no) {
    // Sockets of other families are refused without being counted: the C library tries them by
    // itself, for example to look up user names.
    for (unsigned family = 0; family <= AF_INET6; ++family) {
        const int is_told = family == AF_INET || family == AF_INET6;
        refuse_if(is_told ? SCMP_ACT_NOTIFY : no, "socket", SCMP_A0(SCMP_CMP_EQ, family));
    }
    refuse_if(no, "socket", SCMP_A0(SCMP_CMP_GT, AF_INET6));
    REFUSE_ALL(no, "connect", "bind", "listen", "accept", "accept4", "socketcall");
    // A socket pair is private to the program. Permits only types that cannot send to an address.
    refuse_if(no, "socketpair", SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    refuse_if(no, "socketpair", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM));
    refuse_if(no, "socketpair", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW));
    refuse_if(no, "sendto", SCMP_A4(SCMP_CMP_NE, 0));
}

// Refuses connections to local services: a service could write or read a file, run a program that
// shows its environment, or pass open descriptors.
static void add_no_services(uint32_t no) {
    refuse_if(no, "socket", SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, AF_UNIX));
    refuse_if(no, "socketpair", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM));
    refuse_if(no, "socketpair", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW));
    refuse(no, "socketcall");
}

// Refuses changes of attributes, which Landlock does not cover.
static void add_write(uint32_t no) {
    REFUSE_ALL(no, "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat",
               "chown32", "fchown32", "lchown32", "utime", "utimes", "futimesat", "utimensat",
               "utimensat_time64", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
               "lremovexattr", "fremovexattr");
    current = "fchmodat2";
    check(seccomp_rule_add(filter, no, 452, 0));
    // Flags of a file can be changed even through a read-only descriptor.
    static const uint32_t commands[] = {0x40086602u /* FS_IOC_SETFLAGS */,
                                        0x40046602u /* FS_IOC32_SETFLAGS */,
                                        0x401c5820u /* FS_IOC_FSSETXATTR */,
                                        0x40087602u /* FS_IOC_SETVERSION */,
                                        0x40047602u /* FS_IOC32_SETVERSION */,
                                        0x40086604u /* EXT4_IOC_SETVERSION */,
                                        0x40046604u /* EXT4_IOC32_SETVERSION */,
                                        0x800c6613u /* FS_IOC_SET_ENCRYPTION_POLICY */,
                                        0x40806685u /* FS_IOC_ENABLE_VERITY */,
                                        0xc0045877u /* FIFREEZE */,
                                        0xc0045878u /* FITHAW */,
                                        0xc0185879u /* FITRIM */};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) refuse_ioctl(no, commands[i]);
    // All ioctls of btrfs, which can create and delete subvolumes in a read-only folder, and the
    // label of a file system. Programs that share blocks of files (FICLONE) fall back to copying.
    refuse_if(SCMP_ACT_ERRNO(EOPNOTSUPP), "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, 0x9400));
}

// Refuses reads that Landlock does not cover.
static void add_read(void) {
    REFUSE_ALL(SCMP_ACT_ERRNO(EOPNOTSUPP), "getxattr", "lgetxattr", "fgetxattr", "listxattr",
               "llistxattr", "flistxattr");
    REFUSE_ALL(SCMP_ACT_ERRNO(EPERM), "inotify_init", "inotify_init1");
}

static void add_subprocess(uint32_t no) {
    REFUSE_ALL(SCMP_ACT_NOTIFY, "fork", "vfork");
    refuse_if(SCMP_ACT_NOTIFY, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    refuse(SCMP_ACT_NOTIFY, "execveat");
    // Only the exec that starts the tool has the key.
    const uint64_t word = SANDBOX_KEY_WORD;
    refuse_if(SCMP_ACT_NOTIFY, "execve", SCMP_A3(SCMP_CMP_NE, word << 32 | (word + 1)));
    refuse_if(SCMP_ACT_NOTIFY, "execve", SCMP_A4(SCMP_CMP_NE, (word + 2) << 32 | (word + 3)));
    refuse_if(SCMP_ACT_NOTIFY, "execve", SCMP_A5(SCMP_CMP_NE, (word + 4) << 32 | (word + 5)));
    // The tool must not outlive its supervisor.
    refuse_if(no, "prctl", SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, PR_SET_PDEATHSIG));
}

static void write_program(unsigned bits) {
    current = "the program";
    const int file = memfd_create("filter", 0);
    if (file < 0) check(-errno);
    check(seccomp_export_bpf(filter, file));
    lseek(file, 0, SEEK_SET);
    struct {
        uint16_t code;
        uint8_t if_true, if_false;
        uint32_t value;
    } instruction;
    printf("static const struct sock_filter filter_%u[] = {\n", bits);
    unsigned words = 0;  // bit set: the words of the key that were found
    while (read(file, &instruction, sizeof instruction) == sizeof instruction) {
        const uint32_t word = instruction.value - SANDBOX_KEY_WORD;
        if (word < 2 * SANDBOX_KEYS) {
            // The supervisor writes the real key only into such instructions.
            if (instruction.code != (BPF_JMP | BPF_JEQ | BPF_K)) check(-EINVAL);
            words |= 1u << word;
        }
        printf("    {0x%02x, %u, %u, 0x%08x},\n", instruction.code, instruction.if_true,
               instruction.if_false, instruction.value);
    }
    printf("};\n");
    close(file);
    const unsigned all = (1u << (2 * SANDBOX_KEYS)) - 1;
    if (words != (bits & SANDBOX_SUBPROCESS ? all : 0)) check(-EINVAL);
}

int main(int argument_count, char **arguments) {
    current = "the header";
    if (argument_count != 2) check(-EINVAL);
    if (freopen(arguments[1], "w", stdout) == NULL) check(-errno);
    // Set explicitly, because the kernel of the build machine, or qemu, does not matter. Level 5
    // has SCMP_ACT_NOTIFY.
    current = "the API level";
    check(seccomp_api_set(5));
    printf("/* Made by make_filters.c. */\n");
    for (unsigned bits = 0; bits < SANDBOX_FILTERS; ++bits) {
        filter = seccomp_init(SCMP_ACT_ALLOW);
        current = "the filter";
        if (filter == NULL) check(-ENOMEM);
        check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)));
        // A binary tree: at the start of a process the kernel runs a new filter once per system
        // call.
        check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));
        const uint32_t no = SCMP_ACT_ERRNO(EPERM);
        add_base();
        refuse_newer();
        if (bits & SANDBOX_NETWORK) add_network(no);
        else add_no_services(no);
        if (bits & SANDBOX_WRITE) add_write(no);
        if (bits & SANDBOX_READ) add_read();
        if (bits & SANDBOX_SUBPROCESS) add_subprocess(no);
        if (bits & (SANDBOX_NETWORK | SANDBOX_SUBPROCESS)) refuse_own_listener();

        write_program(bits);
        seccomp_release(filter);
    }
    printf("static const struct sock_fprog filters[] = {\n");
    for (unsigned bits = 0; bits < SANDBOX_FILTERS; ++bits) {
        printf("    {sizeof filter_%u / sizeof *filter_%u, (struct sock_filter *)filter_%u},\n",
               bits, bits, bits);
    }
    printf("};\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
