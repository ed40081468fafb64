/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SUPERVISOR_H
#define NARRATORIA_SUPERVISOR_SUPERVISOR_H
#include <stdint.h>
#include <sys/types.h>

/* Runs a supervisor in a new child of the reaper. `reaper`: the reaper's process id. The
 * descriptors of protocol.h must be open; all signals must be blocked and have their default
 * actions. Group names begin with `prefix` (empty without a cgroup folder) and `id`. Does not
 * return. */
_Noreturn void supervise(const char *prefix, uint32_t id, pid_t reaper);

#endif
