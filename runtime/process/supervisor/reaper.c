// SPDX-License-Identifier: Apache-2.0
// narratoria-supervisor: the reaper of an engine, and the parent of its supervisors.
//
// A tool has the rights of its user and can therefore kill or stop its supervisor. The processes
// that a killed supervisor leaves behind are reparented to the next subreaper: this process, which
// kills them and then reports the supervisor as gone. It also kills a stopped supervisor, which
// would no longer watch over its tool.
//
// Supervisors are forks of this process, without an exec. When the library closes the socket, or
// its process ends, the supervisors end everything and exit; the reaper waits for them and exits.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "probe.h"
#include "protocol.h"
#include "scratch.h"
#include "supervisor.h"

enum { MOST_SUPERVISORS = 16384, ROUND_MS = 20, UNKILLABLE_MS = 5000, LEAVING_MS = 6000 };

// The supervisors. The first `alive` ones run; the others have ended, but their report was not sent
// yet.
static struct reaper_report supervisors[MOST_SUPERVISORS];
static pid_t pids[MOST_SUPERVISORS];
static int alive;
static int count;
// When to give up on processes that ended supervisors left behind; 0: none are left.
static int64_t give_up_ms;
static char prefix[REAPER_PREFIX_BYTES];

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void swap(int one, int other) {
    const struct reaper_report report = supervisors[one];
    const pid_t pid = pids[one];
    supervisors[one] = supervisors[other];
    pids[one] = pids[other];
    supervisors[other] = report;
    pids[other] = pid;
}

// Reaps all ended children and records ended and stopped supervisors. Other children are processes
// that a supervisor left behind.
static void take_children(void) {
    for (;;) {
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid <= 0) return;
        int at = 0;
        while (at < alive && pids[at] != pid) ++at;
        if (at == alive) continue;
        if (WIFSTOPPED(status)) {
            supervisors[at].fate = REAPER_STOPPED;
            kill(pid, SIGKILL);
            continue;
        }
        if (supervisors[at].fate != REAPER_STOPPED) {
            supervisors[at].fate = WIFSIGNALED(status) ? REAPER_KILLED : REAPER_EXITED;
        }
        swap(at, --alive);
    }
}

static int send_report(const struct reaper_report *report) {
    return send(SUPERVISOR_SOCKET, report, sizeof *report, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
           (errno != EAGAIN && errno != EINTR);
}

// Kills processes that ended supervisors left behind, then reports these supervisors. Returns false
// if it must be called again.
static int settle(void) {
    take_children();
    if (alive == count) return 1;
    // -1 if /proc could not be read.
    const int left = kill_all_except(pids, alive);
    if (left != 0) {
        if (give_up_ms == 0) give_up_ms = now_ms() + UNKILLABLE_MS;
        if (now_ms() < give_up_ms) return 0;
    }
    give_up_ms = 0;
    for (int i = alive; i < count; ++i) {
        if (supervisors[i].fate != REAPER_EXITED) remove_scratch_of(supervisors[i].id);
    }
    // The library may be too busy to read; the reports then wait here.
    while (count > alive) {
        supervisors[count - 1].left_behind = left > 0   ? REAPER_LEFT_SURVIVORS
                                             : left < 0 ? REAPER_LEFT_UNKNOWN
                                                        : REAPER_LEFT_NOTHING;
        if (!send_report(&supervisors[count - 1])) return 0;
        --count;
    }
    return 1;
}

static void start_supervisor(const struct reaper_request *request, const int *descriptors,
                             int descriptor_count, int is_truncated) {
    struct reaper_report report = {.id = request->id};
    const int has_groups = request->prefix[0] != '\0';
    const pid_t self = getpid();
    pid_t child = -1;
    if (is_truncated) {
        errno = EMFILE;
    } else if (descriptor_count != (has_groups ? 2 : 1) ||
               memchr(request->prefix, 0, sizeof request->prefix) == NULL) {
        errno = EINVAL;
    } else if (count == MOST_SUPERVISORS) {
        errno = EAGAIN;
    } else {
        strcpy(prefix, request->prefix);
        child = fork();
    }
    if (child == 0) {
        dup2(descriptors[0], SUPERVISOR_SOCKET);
        close(REAPER_SIGNALS);
        if (has_groups) dup2(descriptors[1], SUPERVISOR_GROUPS);
        for (int i = 0; i < descriptor_count; ++i) close(descriptors[i]);
        for (int i = SUPERVISOR_SOCKET; i <= SUPERVISOR_HOST; ++i) fcntl(i, F_SETFD, FD_CLOEXEC);
        supervise(prefix, request->id, self);
    }
    report.start_error = child < 0 ? errno : 0;
    for (int i = 0; i < descriptor_count; ++i) close(descriptors[i]);
    if (child < 0) {
        send_report(&report);
        return;
    }
    supervisors[count] = report;
    pids[count] = child;
    swap(alive++, count++);
    // The library needs the process id only if a tool stops the supervisor, so a lost report is not
    // sent again.
    report.process = child;
    send_report(&report);
}

// Receives one packet. Returns false if the library has closed the socket.
static int on_request(void) {
    struct reaper_request request;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = &request, .iov_len = sizeof request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    const ssize_t size = recvmsg(SUPERVISOR_SOCKET, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size != sizeof request) return 0;
    int descriptors[2];
    int descriptor_count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        descriptor_count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(descriptors, CMSG_DATA(c), (size_t)descriptor_count * sizeof(int));
    }
    // The kernel drops descriptors that exceed this process's limit.
    start_supervisor(&request, descriptors, descriptor_count, message.msg_flags & MSG_CTRUNC);
    return 1;
}

static void take_signal(void) {
    // One SIGCHLD may stand for several children.
    struct signalfd_siginfo information;
    (void)!read(REAPER_SIGNALS, &information, sizeof information);
}

// Waits until the supervisors have ended their invocations and exited. Kills them after a timeout.
static void leave(void) {
    const int64_t start = now_ms();
    for (;;) {
        settle();
        siginfo_t child;
        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) _exit(0);
        const int64_t passed = now_ms() - start;
        // Kills all descendants as well: a process that traces a supervisor hides its end.
        if (passed >= LEAVING_MS) kill_all_except(NULL, 0);
        if (passed >= LEAVING_MS + UNKILLABLE_MS) _exit(0);
        struct pollfd signals = {.fd = REAPER_SIGNALS, .events = POLLIN};
        if (poll(&signals, 1, ROUND_MS) > 0) take_signal();
    }
}

// Detaches from the host's terminal, descriptors and signals, so that tools do not inherit them.
static void become_quiet(void) {
    setsid();
    // Uses the raw system call: the C library refuses the two signals before SIGRTMIN, which the
    // host may have inherited as ignored.
    const uint64_t by_default[4] = {0};
    for (int i = 1; i < NSIG; ++i) syscall(SYS_rt_sigaction, i, by_default, NULL, sizeof(uint64_t));
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    const int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; ++i) {
        if (nothing >= 0 && nothing != i) dup2(nothing, i);
    }
    if (nothing > SUPERVISOR_SOCKET) close(nothing);
    if (syscall(SYS_close_range, SUPERVISOR_SOCKET + 1, ~0u, 0) != 0) {
        const long most = sysconf(_SC_OPEN_MAX);
        for (int i = SUPERVISOR_SOCKET + 1; i < most; ++i) close(i);
    }
    fcntl(SUPERVISOR_SOCKET, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "narratoria-reap", 0, 0, 0);
    // If a tool has stopped the reaper, the end of the host, or of the host thread that started it,
    // wakes it.
    prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
}

int main(int argument_count, char **arguments) {
    if (argument_count == 2 && strcmp(arguments[0], PROBE_NAME) == 0) return probe(arguments);
    become_quiet();
    if (argument_count != 3) _exit(2);
    name_scratches(arguments[2]);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    if (signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK) != REAPER_SIGNALS) _exit(3);
    const pid_t host = (pid_t)strtol(arguments[1], NULL, 10);
    const int host_process = (int)syscall(SYS_pidfd_open, host, 0);
    if (getppid() != host) _exit(0);
    if (host_process != SUPERVISOR_HOST) _exit(3);

    for (;;) {
        struct pollfd polled[3] = {
            {.fd = SUPERVISOR_SOCKET, .events = POLLIN},
            {.fd = REAPER_SIGNALS, .events = POLLIN},
            {.fd = host_process, .events = POLLIN},
        };
        const int ready = poll(polled, 3, alive == count ? -1 : ROUND_MS);
        if (ready < 0 && errno != EINTR) leave();
        if (polled[1].revents != 0) take_signal();
        if (polled[1].revents != 0 || alive != count) settle();
        if (polled[0].revents & POLLIN) {
            if (!on_request()) leave();
        } else if (polled[0].revents != 0) {
            leave();
        }
        if (polled[2].revents != 0) leave();
    }
}
