/* SPDX-License-Identifier: Apache-2.0 */

/* Row: traces its supervisor.
 * Must happen: the attempt ends on time, and nothing of it lives afterwards.
 *
 * Started by a tool: the argument is the process that it attaches to and stops, until it is killed
 * itself. Exits at once with 1 if it may not. */

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
