/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_SESSION_H
#define NARRATORIA_HOST_SESSION_H
/* A plugin's access to its session: state, assets, prompts and stored turns. */
#include "narratoria/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- narratoria.state/1 */
#define NAR_HOST_STATE "narratoria.state/1"
typedef struct nar_host_state {
    uint32_t size;
    uint32_t reserved;
    /* Writes the state at a JSON Pointer ("" is the whole state) as JSON, before it returns.
     * NAR_NOT_FOUND if the state has no value there; NAR_INVALID_ARGUMENT if it is not a JSON
     * Pointer. [engine-thread, active] */
    nar_status (*read)(const nar_host *host, nar_str pointer, nar_write_fn write, void *user);
    /* Merges a JSON object into the state (RFC 7396). The text is copied. The history records it
     * under the plugin's id, and sinks receive NAR_KIND_STATE_PATCHED. NAR_INVALID_DOCUMENT if
     * it is not an object. [engine-thread, active] */
    nar_status (*patch)(const nar_host *host, nar_str patch);
} nar_host_state;

/* ---- narratoria.assets/1 */
#define NAR_HOST_ASSETS "narratoria.assets/1"
typedef struct nar_host_assets {
    uint32_t size;
    uint32_t reserved;
    /* Writes the asset registry as a JSON array, oldest first:
     * [{planId, toolId, attempt, seq, assetId, kind, mediaType, path, metadata}].
     * [engine-thread, active] */
    nar_status (*list)(const nar_host *host, nar_write_fn write, void *user);
} nar_host_assets;

/* ---- narratoria.prompt/1 */
#define NAR_HOST_PROMPT "narratoria.prompt/1"
typedef struct nar_host_prompt {
    uint32_t size;
    uint32_t reserved;
    /* Submits a prompt for the player. The text is copied. Its turn begins when the running turn
     * has ended. *submission, which may be NULL, identifies it (session.h). NAR_BUSY if two prompts of
     * this plugin have not ended yet. [engine-thread, active] */
    nar_status (*submit)(const nar_host *host, nar_str text, uint64_t *submission);
    /* Returns the id of the submission that runs now, or 0. In a sink it is the one that the record
     * belongs to. [engine-thread, active] */
    uint64_t (*submission)(const nar_host *host);
    /* Cancels one submission, as nar_session_cancel_submission does. NAR_NOT_FOUND: it has ended, or
     * never existed. [engine-thread, active] */
    nar_status (*cancel)(const nar_host *host, uint64_t submission);
    /* Cancels the running submission and all that wait, as nar_session_cancel does: tools receive
     * SIGTERM and a grace period. [engine-thread, active] */
    nar_status (*cancel_all)(const nar_host *host);
} nar_host_prompt;

/* ---- narratoria.turns/1 */
#define NAR_HOST_TURNS "narratoria.turns/1"
/* Moves between the stored turns of the session (store.h has values for `turn`). A move is a
 * submission (session.h): it runs after the call has returned, and publishes
 * NAR_KIND_SESSION_MOVED. If it fails, nothing has changed, and NAR_KIND_WARNING says why. The call
 * and the move wait for the disk. NAR_BUSY: a submission runs or waits. NAR_UNSUPPORTED: the session
 * has no store. NAR_NOT_FOUND: it has no such turn. Otherwise the store errors of store.h.
 * `submission` may be NULL. */
typedef struct nar_host_turns {
    uint32_t size;
    uint32_t reserved;
    /* Goes to the end of a turn, as nar_session_go_to does: NAR_TURN_PREVIOUS undoes the last
     * prompt, NAR_TURN_BEGINNING starts over, without the patches that the host made before the
     * first prompt. NAR_INVALID_ARGUMENT: the turn has not ended, or is NAR_TURN_CURRENT.
     * [engine-thread, active] */
    nar_status (*go_to)(const nar_host *host, uint64_t turn, uint64_t *submission);
    /* Goes to the end of the turn before a prompt and plays the prompt again, as nar_session_again
     * does without `tools`. NAR_TURN_CURRENT is the last prompt up to the current turn; an
     * interrupted one that follows does not count. NAR_INVALID_ARGUMENT: the turn is not a prompt,
     * or the session has no narrator. [engine-thread, active] */
    nar_status (*again)(const nar_host *host, uint64_t turn, uint64_t *submission);
    /* Writes the last `count` turns up to this one, without those of the host, before it returns: a
     * JSON array on one line, the oldest turn first, with the objects of nar_store_read_turns and in
     * each a member `assets`, which lists the assets of the turn as nar_host_assets does. Reads no
     * turns before them. NAR_TURN_INTERRUPTED: up to the interrupted prompt; [] if there is none.
     * Not a move: it may be called while a submission runs. NAR_INVALID_ARGUMENT: `write` is NULL.
     * [engine-thread, active] */
    nar_status (*read)(const nar_host *host, uint64_t turn, uint32_t count, nar_write_fn write,
                       void *user);
    /* Resumes an interrupted prompt, as nar_session_resume does. `turn` is its number or
     * NAR_TURN_INTERRUPTED, `flags` 0 or NAR_RESUME_REPEATS. NAR_DECLINED: a tool that is not
     * repeatable had already started; NAR_RESUME_REPEATS runs it a second time.
     * NAR_INVALID_ARGUMENT: the turn is not an interrupted prompt, `flags` has another bit, or the
     * session has no narrator. [engine-thread, active] */
    nar_status (*resume)(const nar_host *host, uint64_t turn, uint32_t flags, uint64_t *submission);
} nar_host_turns;

#ifdef __cplusplus
}
#endif
#endif
