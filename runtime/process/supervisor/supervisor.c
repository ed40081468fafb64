// SPDX-License-Identifier: Apache-2.0
// A supervisor: starts one tool at a time for the library and ensures that no process of an
// invocation outlives the invocation.
//
// It exists for two reasons. The host may be large, and forking gigabytes is slow. And a process
// that a tool leaves behind needs a parent that knows which invocation it belongs to. So the
// library has one of these small processes per slot and sends requests over a socket. The
// supervisor is a subreaper (PR_SET_CHILD_SUBREAPER): every orphan of the tool becomes its child.
// When the library's process ends, in whatever way, the supervisor kills its invocation and exits.
//
// It is a fork of the reaper (reaper.c), which kills the processes that a killed supervisor leaves
// behind. When the reaper ends, the supervisor also kills its invocation and exits.
//
// If the host names a cgroup2 folder, each invocation also gets a control group there. The group
// limits all of its processes together and tells the kernel which processes belong to it.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "events.h"
#include "protocol.h"
#include "sandbox.h"
#include "scratch.h"
#include "supervisor.h"
#include "system_call.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif

enum { MAXIMUM_TEXTS = 8192, CHILD_STACK = 64 * 1024, UNKILLABLE_MS = 5000, KILL_ROUND_MS = 20 };
enum { FIRST_TELL_ROUND_MS = 20 };
enum { GROUP_PATIENCE_MS = 5, MAXIMUM_GROUP_DEPTH = 64, MOST_PROCESSES = 4 * 1024 * 1024 };

// The order matters: from TERMINATING on, an invocation only advances to later phases.
enum phase { IDLE, RUNNING, TERMINATING, KILLING };

static struct {
    enum phase phase;
    pid_t main;             // the tool's process id; 0 once reaped
    int64_t deadline_ms;    // TERMINATING: end of the grace period; KILLING: when to give up
    int64_t next_round_ms;  // when to look for remaining processes again
    int64_t round_ms;       // TERMINATING: delay of the next round; it doubles
    int input_file;         // copied into input_pipe; -1: none, or fully copied
    int input_pipe;
    int outputs[2];  // the tool's output pipes, held until the end is reported; -1: none
    int listener;    // delivers calls of a sandboxed tool that must be refused; -1: none
    struct supervisor_ended ended;
} invocation = {.input_file = -1, .input_pipe = -1, .outputs = {-1, -1}, .listener = -1};

// The control group of the invocation. Unused if `prefix` is NULL.
static struct {
    const char *prefix;
    uint32_t supervisor;
    unsigned number;
    int folder;  // -1: none
    char name[128];
} group = {.folder = -1};

static union {
    struct supervisor_request request;
    char bytes[SUPERVISOR_REQUEST_BYTES];
} packet;
static char *texts[MAXIMUM_TEXTS + 4];
static char child_stack[CHILD_STACK] __attribute__((aligned(64)));

struct start {
    const char *path;
    const char *folder;
    char **arguments;
    char **environment;
    int descriptors[3];
    int entrance;  // cgroup.procs, if the child enters the group by itself; otherwise -1
    // Written by the child, which shares this memory until its exec.
    volatile int error;
    volatile uint32_t stage;
};
static struct start start;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// ---- the child, between clone and exec: it calls no library function and writes only to `start`

static long set_limit(int resource, uint64_t value) {
    if (value == SUPERVISOR_NO_LIMIT) return 0;
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    // SIGXCPU comes one second before SIGKILL and names the limit.
    if (resource == RLIMIT_CPU) limit.rlim_max = value + 1;
    long failed = system_call(SYS_prlimit64, 0, resource, (long)&limit, 0);
    if (failed == -EPERM) {
        // The value exceeds our own hard limit; the hard limit applies instead.
        struct rlimit own;
        failed = system_call(SYS_prlimit64, 0, resource, 0, (long)&own);
        if (failed == 0) {
            own.rlim_cur = own.rlim_max;
            failed = system_call(SYS_prlimit64, 0, resource, (long)&own, 0);
        }
    }
    return failed;
}

static void fail(uint32_t stage, long error) {
    start.stage = stage;
    start.error = (int)-error;
    if (packet.request.sandbox != 0) give_up_sandbox();
    system_call(SYS_exit_group, 127, 0, 0, 0);
}

static int run_child(void *unused) {
    (void)unused;
    system_call(SYS_setsid, 0, 0, 0, 0);
    // The tool dies with this supervisor.
    system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    long failed = 0;
    if (start.entrance >= 0) {
        failed = system_call(SYS_write, start.entrance, (long)"0", 1, 0);
        if (failed < 0) fail(SUPERVISOR_STAGE_GROUP_ENTER, failed);
    }
    const struct supervisor_request *request = &packet.request;
    if (request->sandbox != 0) {
        uint32_t stage = SUPERVISOR_STAGE_SANDBOX;
        failed = enter_sandbox(&stage);
        if (failed != 0) fail(stage, failed);
    }
    for (int i = 0; i < 3; ++i) system_call(SYS_dup3, start.descriptors[i], i, 0, 0);
    if (request->sandbox != 0) {
        failed = system_call(SYS_close_range, 3, ~0u, 0, 0);
        if (failed != 0) fail(SUPERVISOR_STAGE_SANDBOX, failed);
    }
    if ((failed = set_limit(RLIMIT_AS, request->limits.memory_bytes)) != 0 ||
        (failed = set_limit(RLIMIT_FSIZE, request->limits.file_bytes)) != 0 ||
        (failed = set_limit(RLIMIT_CPU, request->limits.cpu_seconds)) != 0 ||
        (failed = set_limit(RLIMIT_NOFILE, request->limits.open_files)) != 0) {
        fail(SUPERVISOR_STAGE_LIMITS, failed);
    }
    failed = system_call(SYS_chdir, (long)start.folder, 0, 0, 0);
    if (failed != 0) fail(SUPERVISOR_STAGE_FOLDER, failed);
    // The tool begins without blocked signals; the supervisor blocks all of them.
    const uint64_t no_signals = 0;
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof no_signals);
    failed = request->sandbox != 0
                 ? execute_in_sandbox(start.path, start.arguments, start.environment)
                 : system_call(SYS_execve, (long)start.path, (long)start.arguments,
                               (long)start.environment, 0);
    fail(SUPERVISOR_STAGE_EXECUTE, failed);
    return 0;
}

// ---- the control group

// Returns 0 or errno.
static int write_to_group(const char *file, const char *text) {
    const int descriptor = openat(group.folder, file, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    const ssize_t written = write(descriptor, text, strlen(text));
    const int error = written < 0 ? errno : 0;
    close(descriptor);
    return error;
}

// Reads a short file. Sets `text` to an empty string if it cannot be read.
static void read_from_group(const char *file, char *text, size_t size) {
    const int descriptor = openat(group.folder, file, O_RDONLY | O_CLOEXEC);
    const ssize_t got = descriptor < 0 ? 0 : read(descriptor, text, size - 1);
    if (descriptor >= 0) close(descriptor);
    text[got > 0 ? got : 0] = '\0';
}

static char *write_number(char *out, uint64_t value) {
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (count > 0) *out++ = digits[--count];
    *out = '\0';
    return out;
}

static int limit_group(const char *file, uint64_t value) {
    char text[24];
    write_number(text, value);
    return write_to_group(file, text);
}

// Creates the invocation's group and sets its limits. Returns 0, or errno with *stage set.
static int make_group(const struct supervisor_request *request, uint32_t *stage) {
    *stage = SUPERVISOR_STAGE_GROUP;
    int error = EEXIST;
    for (int tries = 0; tries < 100 && error == EEXIST; ++tries) {
        char *end = stpcpy(group.name, group.prefix);
        *end++ = '-';
        end = write_number(end, group.supervisor);
        *end++ = '-';
        write_number(end, ++group.number);
        error = mkdirat(SUPERVISOR_GROUPS, group.name, 0755) == 0 ? 0 : errno;
    }
    if (error != 0) return error;
    group.folder = openat(SUPERVISOR_GROUPS, group.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group.folder < 0) {
        error = errno;
        unlinkat(SUPERVISOR_GROUPS, group.name, AT_REMOVEDIR);
        return error;
    }
    // The kernel rejects a pids.max above its own maximum, and such a value limits nothing.
    if (request->limits.processes <= MOST_PROCESSES) {
        *stage = SUPERVISOR_STAGE_GROUP_PROCESSES;
        if ((error = limit_group("pids.max", request->limits.processes)) != 0) return error;
    }
    if (request->limits.resident_bytes != SUPERVISOR_NO_LIMIT) {
        *stage = SUPERVISOR_STAGE_GROUP_MEMORY;
        if ((error = limit_group("memory.max", request->limits.resident_bytes)) != 0) return error;
        // A partly killed tool is useless: on out-of-memory the kernel kills the whole group.
        if ((error = write_to_group("memory.oom.group", "1")) != 0) return error;
        // The file does not exist on kernels without swap.
        error = write_to_group("memory.swap.max", "0");
        if (error != 0 && error != ENOENT) return error;
    }
    return 0;
}

// Kills every process in the group, regardless of its parent.
static void kill_group(void) {
    if (group.folder < 0 || write_to_group("cgroup.kill", "1") == 0) return;
    // Linux before 5.14 has no cgroup.kill: kills one by one. The next round kills processes that
    // were forked in the meantime.
    char list[4096];
    read_from_group("cgroup.procs", list, sizeof list);
    char *end = list;
    for (char *at = list;; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at || *end != '\n') return;
        if (pid > 0) kill((pid_t)pid, SIGKILL);
    }
}

// Removes the groups that the tool created inside its own group, from the leaves up.
static void remove_groups_in(int folder, int depth) {
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    if (list == NULL) {
        if (again >= 0) close(again);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0 || depth == 0) continue;
        const int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (inner < 0) continue;
        remove_groups_in(inner, depth - 1);
        close(inner);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
    closedir(list);
}

// Saves the counters of the invocation's group and removes the group. Returns false if processes
// remain in it.
static int remove_group(void) {
    if (group.folder < 0) return 1;
    char events[512];
    read_from_group("pids.events", events, sizeof events);
    invocation.ended.refused_processes = event_count(events, "max");
    read_from_group("memory.events", events, sizeof events);
    invocation.ended.memory_limit_hits = event_count(events, "oom");
    invocation.ended.memory_kills = event_count(events, "oom_kill");
    // A reaped process may remain in the group for a moment.
    for (int round = 0; unlinkat(SUPERVISOR_GROUPS, group.name, AT_REMOVEDIR) != 0; ++round) {
        if (errno == ENOENT) break;
        if (round == GROUP_PATIENCE_MS) return 0;
        kill_group();
        remove_groups_in(group.folder, MAXIMUM_GROUP_DEPTH);
        const struct timespec moment = {.tv_nsec = 1000000};
        if (round > 0) nanosleep(&moment, NULL);
    }
    close(group.folder);
    group.folder = -1;
    return 1;
}

static void close_input(void) {
    if (invocation.input_file >= 0) close(invocation.input_file);
    if (invocation.input_pipe >= 0) close(invocation.input_pipe);
    invocation.input_file = invocation.input_pipe = -1;
}

static void begin_killing(void) {
    close_input();
    if (invocation.phase != KILLING) invocation.deadline_ms = now_ms() + UNKILLABLE_MS;
    invocation.phase = KILLING;
    kill_group();
    signal_descendants(invocation.main, SIGKILL);
    invocation.next_round_ms = now_ms() + KILL_ROUND_MS;
}

static void report_end(void) {
    close_input();
    if (invocation.listener >= 0) close(invocation.listener);
    invocation.listener = -1;
    clean_sandbox(&invocation.ended);
    invocation.phase = IDLE;
    if (start.error != 0) {
        invocation.ended.start_error = start.error;
        invocation.ended.start_stage = start.stage;
    }
    send(SUPERVISOR_SOCKET, &invocation.ended, sizeof invocation.ended, MSG_NOSIGNAL);
    for (int i = 0; i < 2; ++i) {
        if (invocation.outputs[i] >= 0) close(invocation.outputs[i]);
        invocation.outputs[i] = -1;
    }
    if (packet.request.scratch_variables > 0) sweep_scratches();
}

// Reaps all ended children. Returns true if no child is left.
static int reap(void) {
    // After the tool's exit its process group is killed before the tool is reaped, because reaping
    // frees the id of the group. A member cannot fork faster than a group signal. In TERMINATING
    // the other members keep their grace period.
    siginfo_t done = {.si_pid = 0};
    if (invocation.main != 0 && invocation.phase != TERMINATING &&
        waitid(P_PID, (id_t)invocation.main, &done, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        done.si_pid != 0) {
        kill(-invocation.main, SIGKILL);
    }
    for (;;) {
        int status;
        struct rusage usage;
        const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0) return 1;
        if (pid == 0) return 0;
        if (pid != invocation.main) continue;
        invocation.main = 0;
        invocation.ended.wait_status = status;
        invocation.ended.user_us =
            (uint64_t)usage.ru_utime.tv_sec * 1000000u + (uint64_t)usage.ru_utime.tv_usec;
        invocation.ended.system_us =
            (uint64_t)usage.ru_stime.tv_sec * 1000000u + (uint64_t)usage.ru_stime.tv_usec;
        invocation.ended.resident_kb = (uint64_t)usage.ru_maxrss;
    }
}

static void on_children(void) {
    if (invocation.phase == IDLE) return;
    if (invocation.phase == KILLING) kill_children();
    const pid_t main_before = invocation.main;
    const int no_child_left = reap();
    if (invocation.phase == TERMINATING && main_before != 0 && invocation.main == 0 &&
        !no_child_left) {
        signal_descendants(invocation.main, SIGTERM);
        invocation.round_ms = FIRST_TELL_ROUND_MS;
        invocation.next_round_ms = now_ms() + invocation.round_ms;
    }
    if (no_child_left && remove_group()) {
        report_end();
    } else if (invocation.main == 0 && (invocation.phase == RUNNING ||
                                        (no_child_left && invocation.phase == TERMINATING))) {
        // The tool has exited; the processes that it left behind are killed without a grace period.
        begin_killing();
    }
}

// ---- the requests

static void fail_start(uint32_t stage, int error, const int *descriptors, int count) {
    for (int i = 0; i < count; ++i) close(descriptors[i]);
    start.error = error;
    start.stage = stage;
    if (!remove_group()) invocation.ended.left_behind = 1;
    report_end();
}

// The child shares our memory and has its own stack, so nothing is copied and the parent does not
// wait. Only one child at a time is between clone and exec: the next start follows `ended`.
static int make_child(int shares_descriptors, int *error, uint32_t *stage) {
    *stage = SUPERVISOR_STAGE_CLONE;
    start.entrance = -1;
    // The child shares our descriptors until it has created the listener of its sandbox.
    const int flags = CLONE_VM | (shares_descriptors ? CLONE_FILES : 0);
    if (group.folder >= 0) {
        // CLONE_INTO_CGROUP: the child is in the group from its first instruction.
        const struct clone_into_arguments arguments = {
            .flags = (uint64_t)CLONE_INTO_CGROUP | (uint64_t)flags,
            .exit_signal = SIGCHLD,
            .stack = (uint64_t)(uintptr_t)child_stack,
            .stack_size = sizeof child_stack,
            .cgroup = (uint64_t)group.folder};
        const long child = clone_into(&arguments, run_child);
        if (child >= 0) return (int)child;
        *error = (int)-child;
        // Linux before 5.7, or a seccomp filter: the child enters the group by itself.
        if (*error != ENOSYS && *error != EINVAL && *error != E2BIG && *error != EPERM) {
            if (*error != EAGAIN && *error != ENOMEM) *stage = SUPERVISOR_STAGE_GROUP_ENTER;
            return -1;
        }
        start.entrance = openat(group.folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (start.entrance < 0) {
            *error = errno;
            *stage = SUPERVISOR_STAGE_GROUP_ENTER;
            return -1;
        }
    }
    const int child = clone(run_child, child_stack + sizeof child_stack, flags | SIGCHLD, NULL);
    *error = errno;
    return child;
}

// Starts an invocation. `error`: errno if descriptors were lost in transit, else 0.
static void begin(size_t size, int *descriptors, int descriptor_count, int error) {
    const struct supervisor_request *request = &packet.request;
    memset(&invocation.ended, 0, sizeof invocation.ended);
    start.error = 0;
    start.stage = SUPERVISOR_STAGE_NONE;

    const int wanted = request->input_is_file ? 4 : 3;
    const uint64_t text_count = 2 + (uint64_t)request->argument_count + request->environment_count +
                                (uint64_t)request->readable_count;
    if (error == 0 && (descriptor_count != wanted || text_count > MAXIMUM_TEXTS ||
                       request->scratch_variables > 2)) {
        error = EINVAL;
    }
    if (error != 0) {
        fail_start(SUPERVISOR_STAGE_REQUEST, error, descriptors, descriptor_count);
        return;
    }
    char *text = packet.bytes + sizeof *request;
    char *end = packet.bytes + size;
    uint32_t taken = 0;
    // `texts` also gets the variables of the scratch folder, and a NULL after the arguments and
    // after the environment.
    const uint64_t sandbox_at = 2 + (uint64_t)request->argument_count + request->environment_count;
    for (uint64_t i = 0; i < text_count; ++i) {
        char *zero = memchr(text, 0, (size_t)(end - text));
        if (zero == NULL) {
            fail_start(SUPERVISOR_STAGE_REQUEST, EINVAL, descriptors, descriptor_count);
            return;
        }
        if (i == 0) start.path = text;
        else if (i == 1) start.folder = text;
        else texts[taken++] = text;
        if (i + 1 == 2u + request->argument_count) texts[taken++] = NULL;
        if (i + 1 == sandbox_at) {
            for (uint32_t k = 0; k < request->scratch_variables; ++k) {
                texts[taken++] = scratch_variable((int)k);
            }
            texts[taken++] = NULL;
        }
        text = zero + 1;
    }
    start.arguments = texts;
    start.environment = texts + request->argument_count + 1;
    memcpy(start.descriptors, descriptors, sizeof start.descriptors);

    if (request->input_is_file) {
        // The tool's input is always a pipe; we fill it from the file.
        int pipe_ends[2];
        if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
            fail_start(SUPERVISOR_STAGE_REQUEST, errno, descriptors, descriptor_count);
            return;
        }
        fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
        close(descriptors[0]);
        descriptors[0] = pipe_ends[0];
        start.descriptors[0] = pipe_ends[0];
        invocation.input_file = descriptors[3];
        invocation.input_pipe = pipe_ends[1];
    }

    uint32_t stage = SUPERVISOR_STAGE_CLONE;
    int failed = 0;
    if (group.prefix != NULL) failed = make_group(request, &stage);
    if (failed == 0 && request->sandbox != 0) {
        char **readable =
            start.environment + request->environment_count + request->scratch_variables + 1;
        failed = prepare_sandbox(request->sandbox, request->scratch_variables > 0, readable,
                                 request->readable_count, &stage);
    }
    if (failed != 0) {
        fail_start(stage, failed, descriptors, 3);
        return;
    }
    // Evaluated once: the child may detect that it cannot have a listener.
    const int listens = request->sandbox != 0 && listens_to_sandbox();
    const int child = make_child(listens, &error, &stage);
    if (child >= 0 && listens) invocation.listener = await_sandbox(child);
    // Closes our copy of the read end, so that the writer gets EPIPE once the tool stops reading.
    close(descriptors[0]);
    for (int i = 0; i < 2; ++i) {
        if (request->one_notice) invocation.outputs[i] = descriptors[1 + i];
        else close(descriptors[1 + i]);
    }
    // The child uses its own copy of this descriptor. `entrance` keeps its value, because the child
    // may still read it.
    if (start.entrance >= 0) close(start.entrance);
    if (child < 0) {
        fail_start(stage, error, NULL, 0);
        return;
    }
    invocation.main = child;
    invocation.phase = RUNNING;
}

// Receives one packet. Returns false if the library has closed the socket.
static int on_request(void) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = packet.bytes, .iov_len = sizeof packet.bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    // A start arrives only when nothing runs, so the previous packet is no longer needed. Terminate
    // and kill go to a separate buffer: the child may still be reading the texts of the start.
    struct supervisor_request small;
    if (invocation.phase != IDLE) {
        part.iov_base = &small;
        part.iov_len = sizeof small;
    }
    const ssize_t size = recvmsg(SUPERVISOR_SOCKET, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if ((size_t)size < sizeof(struct supervisor_request)) return 0;

    int descriptors[4];
    int count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(descriptors, CMSG_DATA(c), (size_t)count * sizeof(int));
    }
    if (invocation.phase == IDLE) {
        // The kernel drops descriptors that exceed this process's limit.
        const int error = message.msg_flags & MSG_CTRUNC ? EMFILE : 0;
        if (packet.request.kind == SUPERVISOR_START) {
            begin((size_t)size, descriptors, count, error);
        }
        return 1;
    }
    invocation.ended.told_to_end = 1;
    if (small.kind == SUPERVISOR_KILL) {
        begin_killing();
    } else if (small.kind == SUPERVISOR_TERMINATE && invocation.phase == RUNNING) {
        if (small.grace_ms == 0) {
            begin_killing();
            return 1;
        }
        invocation.phase = TERMINATING;
        invocation.deadline_ms = now_ms() + small.grace_ms;
        invocation.next_round_ms = INT64_MAX;
        signal_descendants(invocation.main, SIGTERM);
    }
    return 1;
}

static void on_refusal(void) {
    if (take_refusal(invocation.listener, &invocation.ended)) return;
    close(invocation.listener);
    invocation.listener = -1;
}

static void pump_input(void) {
    const ssize_t moved = splice(invocation.input_file, NULL, invocation.input_pipe, NULL,
                                 1024 * 1024, SPLICE_F_NONBLOCK);
    if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) close_input();
}

// ---- start, main loop, exit

static void leave(void) {
    if (invocation.phase != IDLE) {
        begin_killing();
        for (const int64_t patience = now_ms() + UNKILLABLE_MS;
             !(reap() && remove_group()) && now_ms() < patience;) {
            struct timespec round = {.tv_nsec = 1000000};
            nanosleep(&round, NULL);
            kill_group();
            signal_descendants(invocation.main, SIGKILL);
        }
    }
    remove_group();
    clean_sandbox(&invocation.ended);
    remove_scratch();
    _exit(0);
}

void supervise(const char *prefix, uint32_t id, pid_t reaper) {
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "narratoria-sup", 0, 0, 0);
    // If its tool has stopped this supervisor, the end of the reaper wakes it.
    prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
    if (prefix[0] != '\0') group.prefix = prefix;
    group.supervisor = id;
    begin_scratch(id);
    const int reaper_process = (int)syscall(SYS_pidfd_open, reaper, 0);
    if (getppid() != reaper) _exit(0);

    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    const int child_signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (child_signals < 0) _exit(3);

    for (;;) {
        struct pollfd polled[6] = {
            {.fd = SUPERVISOR_SOCKET, .events = POLLIN},
            {.fd = child_signals, .events = POLLIN},
            // The socket does not show every exit of the host: a forked child of the host may hold
            // it open.
            {.fd = SUPERVISOR_HOST, .events = POLLIN},
            {.fd = invocation.input_pipe, .events = POLLOUT},
            {.fd = reaper_process, .events = POLLIN},
            {.fd = invocation.listener, .events = POLLIN},
        };
        int timeout = -1;
        if (invocation.phase == TERMINATING) {
            const int64_t next = invocation.deadline_ms < invocation.next_round_ms
                                     ? invocation.deadline_ms
                                     : invocation.next_round_ms;
            const int64_t left = next - now_ms();
            timeout = left > 0 ? (int)left : 0;
        } else if (invocation.phase == KILLING) {
            const int64_t left = invocation.next_round_ms - now_ms();
            timeout = left > 0 ? (int)left : 0;
        }
        const int ready = poll(polled, 6, timeout);
        if (ready < 0 && errno != EINTR) leave();

        if (polled[1].revents != 0) {
            // One SIGCHLD may stand for several children.
            struct signalfd_siginfo information;
            (void)!read(child_signals, &information, sizeof information);
            on_children();
        }
        if (polled[3].revents != 0 && invocation.input_pipe >= 0) pump_input();
        if (polled[5].revents != 0 && invocation.listener == polled[5].fd) on_refusal();
        if (polled[0].revents & POLLIN) {
            if (!on_request()) leave();
        } else if (polled[0].revents != 0) {
            leave();
        }
        if (polled[2].revents != 0 || polled[4].revents != 0) leave();

        if (invocation.phase == TERMINATING && now_ms() >= invocation.deadline_ms) {
            begin_killing();
        } else if (invocation.phase == TERMINATING && now_ms() >= invocation.next_round_ms) {
            signal_descendants(invocation.main, SIGTERM);
            invocation.round_ms *= 2;
            invocation.next_round_ms = now_ms() + invocation.round_ms;
        } else if (invocation.phase == KILLING && now_ms() >= invocation.next_round_ms) {
            // A process was forked between the scan and the kill: scans again, even while exits of
            // children keep this loop busy.
            if (now_ms() >= invocation.deadline_ms) {
                invocation.ended.left_behind = 1;
                report_end();
                remove_scratch();
                _exit(0);
            }
            begin_killing();
            on_children();
        }
    }
}
