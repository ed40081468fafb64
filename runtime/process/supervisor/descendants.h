/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_DESCENDANTS_H
#define NARRATORIA_SUPERVISOR_DESCENDANTS_H
/* Signals the descendants of this process. It must be a subreaper: a descendant that loses its
 * parent becomes its child, so none escapes. */
#include <sys/types.h>

/* Signals all descendants. `tool` leads the first process group; 0: already reaped. Sends
 * SIGTERM once per process: to all descendants while the tool runs; after it exits, only to
 * newly orphaned ones that have not received it. */
void signal_descendants(pid_t tool, int signal_number);

/* Kills the direct children only, which is much faster than scanning all processes. A process
 * that forks and exits faster than a scan has become a direct child by then. Does nothing on
 * kernels without the list of children. */
void kill_children(void);

/* Kills all descendants except the children in `kept` and their descendants. Returns the number of
 * processes that it found; zombies count until they are reaped. Returns -1 if /proc could not be
 * read; then some may be left. */
int kill_all_except(const pid_t *kept, int kept_count);

#endif
