/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_CONTEXT_H
#define NARRATORIA_CONTEXT_H
/*
 * The session's state by keys, and what its keys mean: the ToolContext of spec 002. There is one
 * state: a key that a tool sets here and a state_patch event of a process are the same thing, with
 * the same records, history and limits. session.h has the same functions for the host.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What is known about a key of the state (spec 002 StateMetadata). Metadata is about the key and not
 * about its value: it may come before the first value, and stays when the value changes.
 *
 * Metadata belongs to the running session and to no document: patches, the history, results and
 * snapshots do not have it, because a formatter is code. Whoever describes the state does so again
 * in each session. Read back as JSON it is {"description": "…", "formatter": true or false}.
 */
typedef struct nar_state_metadata {
    uint32_t size;
    uint32_t reserved;
    nar_str description; /* for people and models; may be empty. At most 4096 bytes.             */
    void *user;
    /* Writes `value`, which is JSON, as text for a prompt, by calling write(to, text). NULL, any
     * status other than NAR_OK, or more than 64 KiB, which `write` refuses with
     * NAR_INVALID_ARGUMENT: the default form. It may call the session's functions, and gets
     * the state as text in the default form for all keys.
     * [engine-thread, callback-ok] */
    nar_status (*format)(void *user, nar_str value, nar_write_fn write, void *to);
    /* `format` is not called again: other metadata took its place, the state was cleared, or the
     * session ends. Not called if the function that was given this metadata failed. May be NULL.
     * [engine-thread] */
    void (*released)(void *user);
} nar_state_metadata;

/*
 * ---- narratoria.context/1
 *
 * Who writes: `token` is the token of an invocation of this plugin (invocation.h), which may not
 * have ended or written `done`. The write is then that tool's: it follows what the tool has output
 * before, takes effect before the call returns, appears to sinks and in the result as a state_patch
 * event of the tool, and takes part in the detection of conflicts. With token 0 the write is the
 * plugin's own, as with narratoria.state/1.
 *
 * Statuses of the writing functions; *failure, which may be NULL, gets the reason. If the status is
 * not NAR_OK, nothing has changed.
 *   NAR_INVALID_DOCUMENT  the value or its metadata is not valid
 *   NAR_INVALID_ARGUMENT  the key is not UTF-8, or a limit of the session refuses the write
 *   NAR_GONE, NAR_STALE   the invocation, or the plugin, has ended
 *   NAR_REENTRANT         with a token, called inside an event sink, or while an event of the same
 *                         invocation is handled; post it (host_loop.h)
 *
 * All functions belong on the engine thread. A tool that works on another thread posts the call, or
 * writes a state_patch event to its output, which any thread may do.
 */
#define NAR_HOST_CONTEXT "narratoria.context/1"
typedef struct nar_host_context {
    uint32_t size;
    uint32_t reserved;
    /* setState: the key has this JSON value from now on. The value replaces the former one, also an
     * object. A null is a value like others; a patch removes keys. An object
     * {"value": …, "metadata": {"description": …}} is unpacked, whatever other members it has;
     * "metadata": null removes the key's metadata. `metadata` may be NULL: the metadata stays as it
     * is. In records a null is in `nulls`, beside the `patch`, which cannot say it.
     * [engine-thread, active] */
    nar_status (*set_state)(const nar_host *host, uint64_t token, nar_str key, nar_str value,
                            const nar_state_metadata *metadata, nar_failure *failure);
    /* getStateValue: writes the key's value as JSON, before it returns. NAR_NOT_FOUND if there is
     * none. [engine-thread, active] */
    nar_status (*get_state_value)(const nar_host *host, nar_str key, nar_write_fn write, void *user);
    /* hasState: NAR_OK or NAR_NOT_FOUND. [engine-thread, active] */
    nar_status (*has_state)(const nar_host *host, nar_str key);
    /* getAllState: writes the state, a JSON object. [engine-thread, active] */
    nar_status (*get_all_state)(const nar_host *host, nar_write_fn write, void *user);
    /* clearState: removes all keys and all metadata. [engine-thread, active] */
    nar_status (*clear_state)(const nar_host *host, uint64_t token, nar_failure *failure);
    /* getStateMetadata: writes the key's metadata as JSON. NAR_NOT_FOUND if there is none.
     * [engine-thread, active] */
    nar_status (*get_state_metadata)(const nar_host *host, nar_str key, nar_write_fn write,
                                     void *user);
    /* getAllStateMetadata: writes the metadata of all keys, a JSON object by key.
     * [engine-thread, active] */
    nar_status (*get_all_state_metadata)(const nar_host *host, nar_write_fn write, void *user);
    /* registerStateMetadata: replaces the key's metadata; NULL removes it. At most 10,000 keys.
     * [engine-thread, active] */
    nar_status (*register_state_metadata)(const nar_host *host, nar_str key,
                                          const nar_state_metadata *metadata, nar_failure *failure);
    /* formatStateForPrompt: writes the state as text for a model, like
     * nar_session_format_state_for_prompt. [engine-thread, active] */
    nar_status (*format_state_for_prompt)(const nar_host *host, nar_write_fn write, void *user);
    /* Delivers what the tool has output so far, before it returns: a read that follows sees the
     * patches in it. The loop does the same, later. NAR_GONE, NAR_STALE and NAR_REENTRANT as for
     * writes; NAR_INVALID_ARGUMENT for a tool that answers at once. [engine-thread, active] */
    nar_status (*deliver_output)(const nar_host *host, uint64_t token);
} nar_host_context;

#ifdef __cplusplus
}
#endif
#endif
