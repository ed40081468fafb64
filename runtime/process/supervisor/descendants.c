// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group;
    int ours;
    int is_fork;  // told while it was still the program that its parent is
    // Both tell it from a later one of the same number, and the second also from what it was before
    // its exec: where its stack begins, which no two of them share.
    unsigned long long started, stack;
};

enum { MOST_LISTED = 32768, MOST_LATE = 256 };

// Those that were told to end when the grace began, by number. A shell's child that was still a
// fork may have lost the signal at its exec.
static struct process told[MOST_LISTED];
static int told_count;
// Those that were told behind it.
static struct process told_late[MOST_LATE];
static int told_late_count;

static int by_pid(const void *left, const void *right) {
    const pid_t a = ((const struct process *)left)->pid;
    const pid_t b = ((const struct process *)right)->pid;
    return (a > b) - (a < b);
}

// What stands behind the name in a line of /proc/PID/stat, by proc(5).
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

// The grace begins: each is told once, since many take a second SIGTERM for "at once".
static void tell_first(pid_t tool, const struct process *processes, int count) {
    told_count = told_late_count = 0;
    for (int i = 0; i < count; ++i) {
        if (!processes[i].ours) continue;
        const struct process key = {.pid = processes[i].parent};
        const struct process *parent =
            bsearch(&key, processes, (size_t)count, sizeof *processes, by_pid);
        told[told_count] = processes[i];
        told[told_count].is_fork = parent != NULL && parent->stack == processes[i].stack;
        ++told_count;
        // The others have it by their group.
        if (processes[i].group != tool || getpgid(processes[i].pid) != tool) {
            kill(processes[i].pid, SIGTERM);
        }
    }
}

// The tool itself has ended. What was orphaned by that and has not heard of the end is told: it would
// hold it up for the whole grace. What others start while they clean up is left to them.
static void tell_orphans(const struct process *processes, int count) {
    const pid_t self = getpid();
    for (int i = 0; i < count; ++i) {
        const struct process *orphan = &processes[i];
        if (orphan->parent != self) continue;
        const struct process *then =
            bsearch(orphan, told, (size_t)told_count, sizeof *told, by_pid);
        if (then != NULL && then->started == orphan->started &&
            (!then->is_fork || then->stack == orphan->stack)) {
            continue;
        }
        int is_told = told_late_count == MOST_LATE;
        for (int late = 0; late < told_late_count && !is_told; ++late) {
            is_told = is_same(&told_late[late], orphan);
        }
        if (is_told) continue;
        told_late[told_late_count++] = *orphan;
        kill(orphan->pid, SIGTERM);
    }
}

// All of /proc is read: the children of children have no list of their own that every kernel offers.
void signal_descendants(pid_t tool, int signal_number) {
    static struct process processes[MOST_LISTED];
    int count = 0;

    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        if (tool != 0) kill(-tool, signal_number);
        return;
    }
    for (struct dirent *entry; count < MOST_LISTED && (entry = readdir(proc)) != NULL;) {
        const long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0) continue;
        char path[64] = "/proc/";
        strncat(path, entry->d_name, 20);
        strcat(path, "/stat");
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        char line[512];
        const ssize_t got = read(file, line, sizeof line - 1);
        close(file);
        if (got <= 0) continue;
        line[got] = '\0';
        // pid (name) state parent …: the name may hold anything, also parentheses.
        const char *behind_name = strrchr(line, ')');
        if (behind_name == NULL || behind_name[1] == '\0') continue;
        // Also a zombie is signalled: one whose other threads live on is not dead.
        processes[count].pid = (pid_t)pid;
        processes[count].ours = 0;
        read_stat(behind_name, &processes[count]);
        ++count;
    }
    closedir(proc);

    // A machine may have very many, and a parent mostly has the smaller number: then one round does.
    qsort(processes, (size_t)count, sizeof *processes, by_pid);
    const pid_t self = getpid();
    for (int grew = 1; grew;) {
        grew = 0;
        for (int i = 0; i < count; ++i) {
            if (processes[i].ours) continue;
            if (processes[i].parent != self) {
                const struct process key = {.pid = processes[i].parent};
                const struct process *parent =
                    bsearch(&key, processes, (size_t)count, sizeof *processes, by_pid);
                if (parent == NULL || !parent->ours) continue;
            }
            processes[i].ours = 1;
            grew = 1;
        }
    }
    // Its own group goes at once, so that it cannot fork faster than it is found.
    if (tool != 0) kill(-tool, signal_number);
    if (signal_number == SIGTERM) {
        if (tool != 0) tell_first(tool, processes, count);
        else tell_orphans(processes, count);
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
        if (end == at || *end != ' ') return;  // a number that was cut off is no number
        kill((pid_t)pid, SIGKILL);
    }
}
