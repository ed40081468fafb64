/* SPDX-License-Identifier: Apache-2.0 */
/* spawn_loop COUNT AT_ONCE PROGRAM: the minimum cost of running a tool: posix_spawn with
 * standard output in a pipe, reading to the end of file, waiting. Prints the seconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMax = 64 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static pid_t start(char *program, int *output) {
    static char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    char *const arguments[] = {program, NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t pid;
    if (posix_spawn(&pid, program, &actions, NULL, arguments, environment) != 0) fail(program);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = ends[0];
    return pid;
}

static void wait_for(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid) fail("waitpid");
    if (status != 0) {
        fprintf(stderr, "a tool failed\n");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s COUNT AT_ONCE PROGRAM\n", argv[0]);
        return 2;
    }
    long left = strtol(argv[1], NULL, 10);
    const int at_once = atoi(argv[2]);
    if (at_once < 1 || at_once > kMax) return 2;
    struct pollfd pipes[kMax];
    pid_t pids[kMax];
    int running = 0;
    char buffer[65536];

    const double begin = now();
    while (left > 0 || running > 0) {
        while (left > 0 && running < at_once) {
            pids[running] = start(argv[3], &pipes[running].fd);
            pipes[running].events = POLLIN;
            ++running;
            --left;
        }
        /* A single process is read without poll(). */
        if (at_once > 1 && poll(pipes, (nfds_t)running, -1) < 0) fail("poll");
        for (int i = 0; i < running;) {
            if (at_once > 1 && pipes[i].revents == 0) {
                ++i;
                continue;
            }
            const ssize_t got = read(pipes[i].fd, buffer, sizeof buffer);
            if (got < 0) fail("read");
            if (got > 0) {
                ++i;
                continue;
            }
            close(pipes[i].fd);
            wait_for(pids[i]);
            --running;
            pipes[i] = pipes[running];
            pids[i] = pids[running];
        }
    }
    printf("%.6f\n", now() - begin);
    return 0;
}
