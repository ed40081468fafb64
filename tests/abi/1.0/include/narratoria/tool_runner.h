/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_TOOL_RUNNER_H
#define NARRATORIA_TOOL_RUNNER_H
/*
 * A plugin that runs tools in its own way: on a cluster, in a container, in another engine. It gets
 * the invocations whose toolPath begins with one of its schemes and a colon.
 */
#include "narratoria/invocation.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_TOOL_RUNNER "narratoria.tool_runner/1"

typedef struct nar_tool_runner_extension {
    uint32_t size;
    uint32_t reserved;
    const nar_str *schemes; /* without the colon: letters, digits, + - . _; of two plugins with the
                               same scheme the one loaded first has it, which is logged          */
    uint64_t scheme_count;

    /* Begins an attempt and returns soon; its events follow by nar_host_invocation, now or later.
     * Anything but NAR_OK: it could not be started (SPAWN_FAILED) for the reason in *failure, and
     * the token is dead. [engine-thread, active] */
    nar_status (*start)(void *instance, uint64_t token, const nar_invocation *invocation,
                        nar_failure *failure);

    /* Asks for the end, once, and never after `ended`: cancelled, its time is up, or its output was
     * no event. It may call `ended` from here. When a try's time is up or its output was no event,
     * `ended` is waited for as long as a process has grace; then it is given up and the token is
     * dead. When the whole plan is stopped nobody waits: the token is dead when this returns.
     * [engine-thread, active] */
    void (*cancel)(void *instance, uint64_t token);
} nar_tool_runner_extension;

#ifdef __cplusplus
}
#endif
#endif
