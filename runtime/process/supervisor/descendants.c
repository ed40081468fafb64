// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group;
    int ours;
    int is_fork;  // got the signal before its exec, while it was still a copy of its parent
    // `started` distinguishes it from a later process with the same id. `stack`, the start address
    // of the stack, changes at an exec and so also identifies the program.
    unsigned long long started, stack;
};

enum { MOST_LISTED = 32768, MOST_LATE = 256 };

// The last scan of /proc.
static struct process processes[MOST_LISTED];

// Processes that received SIGTERM when the grace period began, sorted by process id. A fork that
// had not reached its exec yet may have lost the signal.
static struct process told[MOST_LISTED];
static int signalled_count;
// Processes that received SIGTERM later, after the tool's exit.
static struct process told_late[MOST_LATE];
static int told_late_count;

static int by_pid(const void *left, const void *right) {
    const pid_t a = ((const struct process *)left)->pid;
    const pid_t b = ((const struct process *)right)->pid;
    return (a > b) - (a < b);
}

// Parses the fields after the name in a line of /proc/PID/stat, see proc(5).
static void read_stat(const char *behind_name, struct process *process) {
    char *at = (char *)behind_name + 4;
    process->parent = (pid_t)strtol(at, &at, 10);
    process->group = (pid_t)strtol(at, &at, 10);
    for (int field = 6; field < 22; ++field) strtoull(at, &at, 10);
    process->started = strtoull(at, &at, 10);
    for (int field = 23; field < 28; ++field) strtoull(at, &at, 10);
    process->stack = strtoull(at, &at, 10);
}

static int is_same(const struct process *one, const struct process *other) {
    return one->pid == other->pid && one->started == other->started && one->stack == other->stack;
}

// Called when the grace period begins. Sends SIGTERM once per process, because many programs exit
// at once on a second one.
static void terminate_all(pid_t tool, int count) {
    signalled_count = told_late_count = 0;
    for (int i = 0; i < count; ++i) {
        if (!processes[i].ours) continue;
        const struct process key = {.pid = processes[i].parent};
        const struct process *parent =
            bsearch(&key, processes, (size_t)count, sizeof *processes, by_pid);
        told[signalled_count] = processes[i];
        told[signalled_count].is_fork = parent != NULL && parent->stack == processes[i].stack;
        ++signalled_count;
        // Members of the tool's group have already been signalled through the group.
        if (processes[i].group != tool || getpgid(processes[i].pid) != tool) {
            kill(processes[i].pid, SIGTERM);
        }
    }
}

// Called after the tool's exit. Sends SIGTERM to newly orphaned processes that have not received
// it: otherwise they would use up the whole grace period. Does not signal processes that other
// processes start during their cleanup.
static void terminate_orphans(int count) {
    const pid_t self = getpid();
    for (int i = 0; i < count; ++i) {
        const struct process *orphan = &processes[i];
        if (orphan->parent != self) continue;
        const struct process *then =
            bsearch(orphan, told, (size_t)signalled_count, sizeof *told, by_pid);
        // A fork that has called exec since then counts as not signalled: the exec may have lost
        // the signal.
        if (then != NULL && then->started == orphan->started &&
            (!then->is_fork || then->stack == orphan->stack)) {
            continue;
        }
        // Once the list is full, further orphans get only SIGKILL: without an entry they could get
        // SIGTERM repeatedly.
        int is_told = told_late_count == MOST_LATE;
        for (int late = 0; late < told_late_count && !is_told; ++late) {
            is_told = is_same(&told_late[late], orphan);
        }
        if (is_told) continue;
        told_late[told_late_count++] = *orphan;
        kill(orphan->pid, SIGTERM);
    }
}

// Fills `processes` from all of /proc, sorted by process id, because not every kernel has the list
// of a process's children. Returns the count, or -1.
static int list_processes(void) {
    int count = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL) return -1;
    for (struct dirent *entry; count < MOST_LISTED && (entry = readdir(proc)) != NULL;) {
        const long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0) continue;
        char path[64] = "/proc/";
        strncat(path, entry->d_name, 20);
        strcat(path, "/stat");
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            closedir(proc);
            return -1;
        }
        // The process has ended since then.
        if (file < 0) continue;
        char line[512];
        const ssize_t got = read(file, line, sizeof line - 1);
        close(file);
        if (got <= 0) continue;
        line[got] = '\0';
        // The format is "pid (name) state parent …". The name may contain any character, including
        // parentheses, hence strrchr.
        const char *behind_name = strrchr(line, ')');
        if (behind_name == NULL || behind_name[1] == '\0') continue;
        // Includes zombies: other threads of a zombie may still run and can be signalled.
        processes[count].pid = (pid_t)pid;
        processes[count].ours = 0;
        read_stat(behind_name, &processes[count]);
        ++count;
    }
    closedir(proc);
    // Sorted for bsearch: there may be thousands of processes.
    qsort(processes, (size_t)count, sizeof *processes, by_pid);
    return count;
}

static int is_kept(pid_t pid, const pid_t *kept, int kept_count) {
    for (int i = 0; i < kept_count; ++i) {
        if (kept[i] == pid) return 1;
    }
    return 0;
}

// Sets `ours` for our descendants, except the kept children and their descendants. A parent usually
// has the smaller id, so one pass usually finds all descendants.
static void mark_ours(int count, const pid_t *kept, int kept_count) {
    const pid_t self = getpid();
    for (int grew = 1; grew;) {
        grew = 0;
        for (int i = 0; i < count; ++i) {
            if (processes[i].ours) continue;
            if (processes[i].parent == self) {
                if (is_kept(processes[i].pid, kept, kept_count)) continue;
            } else {
                const struct process key = {.pid = processes[i].parent};
                const struct process *parent =
                    bsearch(&key, processes, (size_t)count, sizeof *processes, by_pid);
                if (parent == NULL || !parent->ours) continue;
            }
            processes[i].ours = 1;
            grew = 1;
        }
    }
}

void signal_descendants(pid_t tool, int signal_number) {
    const int count = list_processes();
    if (count < 0) {
        if (tool != 0) kill(-tool, signal_number);
        return;
    }
    mark_ours(count, NULL, 0);
    // Signals the tool's own group first: it could fork faster than the scan finds its members.
    if (tool != 0) kill(-tool, signal_number);
    if (signal_number == SIGTERM) {
        if (tool != 0) terminate_all(tool, count);
        else terminate_orphans(count);
        return;
    }
    for (int i = 0; i < count; ++i) {
        if (processes[i].ours) kill(processes[i].pid, signal_number);
    }
}

void kill_children(void) {
    const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    char list[4096];
    const ssize_t got = read(file, list, sizeof list - 1);
    close(file);
    if (got <= 0) return;
    list[got] = '\0';
    char *end = list;
    for (char *at = list;; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at || *end != ' ') return;  // the buffer may end within a number
        kill((pid_t)pid, SIGKILL);
    }
}

// True if the kernel's list of our children has only kept ones. False if it cannot be read to its
// end.
static int has_only(const pid_t *kept, int kept_count) {
    const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    static char list[64 * 1024];
    size_t size = 0;
    ssize_t got = 0;
    while (size < sizeof list - 1 && (got = read(file, list + size, sizeof list - 1 - size)) > 0) {
        size += (size_t)got;
    }
    close(file);
    if (got != 0) return 0;
    list[size] = '\0';
    char *end = list;
    for (char *at = list;; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at) return 1;
        if (!is_kept((pid_t)pid, kept, kept_count)) return 0;
    }
}

int kill_all_except(const pid_t *kept, int kept_count) {
    if (has_only(kept, kept_count)) return 0;
    const int count = list_processes();
    if (count < 0) return -1;
    mark_ours(count, kept, kept_count);
    int found = 0;
    for (int i = 0; i < count; ++i) {
        if (!processes[i].ours) continue;
        ++found;
        kill(processes[i].pid, SIGKILL);
    }
    return found;
}
