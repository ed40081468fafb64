/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_SESSION_H
#define NARRATORIA_HOST_SESSION_H
/* What a plugin may read and change of its session. */
#include "narratoria/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- narratoria.state/1 */
#define NAR_HOST_STATE "narratoria.state/1"
typedef struct nar_host_state {
    uint32_t size;
    uint32_t reserved;
    /* Writes the state at a JSON Pointer ("" is all of it) as JSON, before it returns. NAR_NOT_FOUND
     * when there is nothing; NAR_INVALID_ARGUMENT when it is no pointer. [engine-thread, active] */
    nar_status (*read)(const nar_host *host, nar_str pointer, nar_write_fn write, void *user);
    /* Merges a JSON object into the state (RFC 7396); the text is copied. It stands in the history
     * with the plugin's id, and sinks get NAR_KIND_STATE_PATCHED. NAR_INVALID_DOCUMENT when it is no object. [engine-thread, active] */
    nar_status (*patch)(const nar_host *host, nar_str patch);
} nar_host_state;

/* ---- narratoria.assets/1 */
#define NAR_HOST_ASSETS "narratoria.assets/1"
typedef struct nar_host_assets {
    uint32_t size;
    uint32_t reserved;
    /* Writes the registry as a JSON array, oldest first:
     * [{planId, toolId, attempt, seq, assetId, kind, mediaType, path, metadata}].
     * [engine-thread, active] */
    nar_status (*list)(const nar_host *host, nar_write_fn write, void *user);
} nar_host_assets;

/* ---- narratoria.prompt/1 */
#define NAR_HOST_PROMPT "narratoria.prompt/1"
typedef struct nar_host_prompt {
    uint32_t size;
    uint32_t reserved;
    /* Submits the player's next words, which are copied; the turn begins when the running one has
     * ended. NAR_BUSY when one waits already. [engine-thread, active] */
    nar_status (*submit)(const nar_host *host, nar_str text);
    /* Ends the turn or plan that runs and drops what waits, as nar_session_cancel does: tools get
     * SIGTERM and the grace time. Look at `size` before you call it: older hosts have none.
     * [engine-thread, active] */
    nar_status (*cancel)(const nar_host *host);
} nar_host_prompt;

#ifdef __cplusplus
}
#endif
#endif
