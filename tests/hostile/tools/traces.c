/* SPDX-License-Identifier: Apache-2.0 */

/* Row: traces its supervisor.
 * Expected: the attempt ends on time, and none of its processes survives.
 *
 * Started by a tool. Attaches to the process given as the argument and stops it until this process
 * is killed. Exits at once with 1 if attaching is not permitted. */

#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    const pid_t traced = count > 1 ? (pid_t)atoi(arguments[1]) : 0;
    if (traced <= 1 || ptrace(PTRACE_ATTACH, traced, NULL, NULL) != 0) return 1;
    (void)waitpid(traced, NULL, __WALL);
    (void)sleep(39);
    return 0;
}
