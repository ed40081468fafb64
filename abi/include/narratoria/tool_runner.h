/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_TOOL_RUNNER_H
#define NARRATORIA_TOOL_RUNNER_H
/*
 * Extension narratoria.tool_runner/1: a plugin that runs tools in its own way, for example on a
 * cluster, in a container or in a different engine. It receives the attempts of tools whose
 * toolPath begins with one of its schemes and a colon.
 */
#include "narratoria/invocation.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_TOOL_RUNNER "narratoria.tool_runner/1"

/* The tools use no processor core of this machine. Up to 1000 of them run at a time; tools of other
 * runners are limited by `jobs` of the engine. */
#define NAR_TOOL_RUNNER_WAITS 1u

typedef struct nar_tool_runner_extension {
    uint32_t size;
    uint32_t flags;          /* NAR_TOOL_RUNNER_…; the plugin is refused if another bit is set */
    const nar_str *schemes; /* without the colon: letters, digits, + - . _. Of two plugins with the
                               same scheme, the one loaded first is used, and a log line says so. */
    uint64_t scheme_count;

    /* Starts an attempt and returns soon. Its events follow through nar_host_invocation, now or
     * later. Any status other than NAR_OK fails the attempt with the reason in *failure, under its
     * code, if that has the form of nar_invocation_end.error_code, or else SPAWN_FAILED, and the
     * token becomes invalid. After NAR_NOT_FOUND the tool is not
     * retried, because no later attempt could start either; for a failure that comes later there is
     * NAR_END_PERMANENT. [engine-thread, active] */
    nar_status (*start)(void *instance, uint64_t token, const nar_invocation *invocation,
                        nar_failure *failure);

    /* Requests the end, at most once and never after `ended`: the attempt was cancelled, timed out,
     * or wrote an invalid line. `ended` may be called from here. After a timeout or an invalid line
     * the runtime waits for `ended` for the grace period of a process, then abandons the attempt
     * and invalidates the token. When the whole plan is stopped it does not wait: the token is
     * invalid when this function returns. [engine-thread, active] */
    void (*cancel)(void *instance, uint64_t token);
} nar_tool_runner_extension;

#ifdef __cplusplus
}
#endif
#endif
