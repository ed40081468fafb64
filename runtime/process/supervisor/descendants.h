/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_DESCENDANTS_H
#define NARRATORIA_SUPERVISOR_DESCENDANTS_H
/* Everything that descends from this process. It is a subreaper: whoever loses its parent becomes its
 * child, so nothing gets away. */
#include <sys/types.h>

/* Signals all of them. `tool` leads their first group; 0: it was reaped. SIGTERM is told to each once:
 * while there is a tool to all, behind it to those that its end has orphaned and that never heard of it. */
void signal_descendants(pid_t tool, int signal_number);

/* Kills its own children alone, which is soon done: whoever forks and exits faster than all processes
 * can be looked through has become one of them by then. Not every kernel has the list. */
void kill_children(void);

#endif
