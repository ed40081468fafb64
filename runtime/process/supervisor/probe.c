// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox_bits.h"

// Reports a forbidden act that was not refused, or a permitted act that failed.
static void tell(const char *act) {
    char line[128];
    const int length = snprintf(line, sizeof line, "%s\n", act);
    (void)!write(STDOUT_FILENO, line, (size_t)length);
}

static int opens(const char *path, int flags) {
    const int file = open(path, flags | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

static void try_sockets(int family, const char *act) {
    const int made = socket(family, SOCK_DGRAM, 0);
    if (made >= 0) tell(act);
}

// Attempts to start processes and programs.
static void try_programs(void) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) {
        tell("fork");
        waitpid(child, NULL, 0);
    }
    char name[] = PROBE_NAME;
    char bits[] = "0";
    char *again[] = {name, bits, NULL};
    char *environment[] = {NULL};
    // If this exec succeeds, the new program reports it, because its bits are 0.
    execve("/proc/self/exe", again, environment);
}

int probe(char **arguments) {
    const unsigned bits = (unsigned)strtoul(arguments[1], NULL, 10);
    const char *scratch = getenv("TMPDIR");
    if (scratch == NULL) scratch = "";
    if (bits == 0) {
        tell("execve");
        return 0;
    }
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) tell("new privileges");
    uint32_t header[2] = {0x20080522, 0}, sets[6] = {0};
    const uint32_t administration = 1u << 21;  // CAP_SYS_ADMIN
    if (syscall(SYS_capget, header, sets) != 0 || sets[0] & administration) tell("rights of root");
    // The supervisor has the same user, so without a sandbox its memory would be readable.
    char path[512];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    if (opens(path, O_RDONLY)) tell("the memory of another process");
    if (syscall(SYS_ptrace, 0 /* PTRACE_TRACEME */, 0, 0, 0) == 0) tell("ptrace");
    if (syscall(SYS_keyctl, 0, -3, 0, 0, 0) >= 0) tell("keyctl");
    if (bits & SANDBOX_NETWORK) {
        try_sockets(AF_INET, "an IPv4 socket");
        try_sockets(AF_INET6, "an IPv6 socket");
        try_sockets(AF_UNIX, "a Unix socket");
        try_sockets(AF_NETLINK, "a netlink socket");
    }
    if (bits & SANDBOX_WRITE) {
        if (opens("/proc/self/comm", O_WRONLY)) tell("writing to a file");
        if (fchmod(STDIN_FILENO, 0600) == 0) tell("changing the mode of a file");
        snprintf(path, sizeof path, "%s.new", scratch);
        if (mkdir(path, 0700) == 0) {
            rmdir(path);
            tell("making a folder");
        }
        snprintf(path, sizeof path, "%s/new", scratch);
        if (!opens(path, O_WRONLY | O_CREAT)) tell("(no scratch folder)");
    }
    if (bits & SANDBOX_READ) {
        if (opens("/proc/self/comm", O_RDONLY)) tell("reading a file");
        if (opens("/", O_RDONLY | O_DIRECTORY)) tell("listing a folder");
    }
    if (bits & SANDBOX_SUBPROCESS) try_programs();
    return 0;
}
