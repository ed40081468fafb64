/* SPDX-License-Identifier: Apache-2.0 */
/* command_time COUNT PROGRAM [ARGUMENT…]: starts the program COUNT times in sequence, with empty
 * input and discarded output. Prints the median seconds from start to exit. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s COUNT PROGRAM [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    const int count = atoi(argv[1]);
    if (count < 1) return 2;
    double *times = malloc((size_t)count * sizeof *times);
    if (times == NULL) return 1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    for (int i = 0; i < count; ++i) {
        const double begin = now();
        pid_t pid;
        int status;
        if (posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0) {
            fprintf(stderr, "%s failed\n", argv[2]);
            return 1;
        }
        times[i] = now() - begin;
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("%.6f\n", times[count / 2]);
    free(times);
    return 0;
}
