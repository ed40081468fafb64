// SPDX-License-Identifier: Apache-2.0
// masked PROGRAM ARG…: runs a program without Landlock. Its three system calls fail with ENOSYS in
// the program and in its descendants.
// masked --confined PROGRAM ARG…: runs a program that can make a network namespace but not enter
// one.
// masked --listening PROGRAM ARG…: runs a program under a seccomp listener, so that no second
// listener can be added.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 444, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 446, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static struct sock_filter confined[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const int listens = count > 1 && strcmp(arguments[1], "--listening") == 0;
    const int confines = count > 1 && strcmp(arguments[1], "--confined") == 0;
    const struct sock_fprog program =
        listens    ? (struct sock_fprog){sizeof allow / sizeof *allow, allow}
        : confines ? (struct sock_fprog){sizeof confined / sizeof *confined, confined}
                   : (struct sock_fprog){sizeof filter / sizeof *filter, filter};
    arguments += 1 + (listens || confines);
    if (count < 2 + (listens || confines) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        perror("masked");
        return 2;
    }
    const long made = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                              listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
    if (made < 0) {
        perror("masked");
        return 2;
    }
    // The listener must stay open while the program runs.
    if (listens) fcntl((int)made, F_SETFD, 0);
    execvp(arguments[0], arguments);
    perror(arguments[0]);
    return 2;
}
