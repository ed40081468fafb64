/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_CONTEXT_H
#define NARRATORIA_CONTEXT_H
/*
 * Key-value access to the session's state, with metadata for each key: the ToolContext of spec 002.
 * A session has one state: setting a key here is equivalent to a state_patch event from a process,
 * with the same records, history and limits. session.h has the same functions for the host.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Metadata of a state key (spec 002 StateMetadata). It describes the key, not its value: it may be
 * set before the key has a value, and it stays when the value changes.
 *
 * Metadata belongs to the running session. Patches, the history, results and snapshots do not
 * contain it. A store keeps the descriptions (session.h), but not the formatters, which are code:
 * register them again in each session. As JSON it is
 * {"description": "…", "formatter": true or false}.
 */
typedef struct nar_state_metadata {
    uint32_t size;
    uint32_t reserved;
    nar_str description; /* for people and models; may be empty. At most 4096 bytes.             */
    void *user;
    /* Formats `value`, which is JSON, as text for a prompt, and passes the text to write(to, text).
     * The default format is used if `format` is NULL, returns a status other than NAR_OK, or writes
     * more than 64 KiB, which `write` refuses with NAR_INVALID_ARGUMENT. `format` may call the
     * session's functions. If it formats the state there, all keys get the default format.
     * [engine-thread, callback-ok] */
    nar_status (*format)(void *user, nar_str value, nar_write_fn write, void *to);
    /* `format` is not called again after this call: the metadata was replaced or removed, the state
     * was cleared, or the session ends. Not called if the function that received this metadata
     * failed. May be NULL. [engine-thread] */
    void (*released)(void *user);
} nar_state_metadata;

/*
 * ---- narratoria.context/1
 *
 * `token` selects the writer. The token of an attempt of this plugin (invocation.h) makes it a
 * write of that tool, which must not have ended or written `done`. The write comes after the tool's
 * earlier output and takes effect before the call returns. In the event stream and in the result it
 * is a state_patch event of the tool, and it is checked for conflicts. With token 0 the write is
 * the plugin's own, as with narratoria.state/1.
 *
 * Statuses of the writing functions; *failure, which may be NULL, gets the reason. If the status is
 * not NAR_OK, nothing has changed.
 *   NAR_INVALID_DOCUMENT  the value or its metadata is not valid
 *   NAR_INVALID_ARGUMENT  the key is not UTF-8, or a limit of the session refuses the write
 *   NAR_GONE, NAR_STALE   the attempt, or the plugin, has ended
 *   NAR_REENTRANT         with a token, called inside an event sink, or while an event of the same
 *                         attempt is handled; post it (host_loop.h)
 *
 * All functions must be called on the engine thread. A tool that works on a different thread posts
 * the call, or writes a state_patch event to its output, which is allowed on any thread.
 */
#define NAR_HOST_CONTEXT "narratoria.context/1"
typedef struct nar_host_context {
    uint32_t size;
    uint32_t reserved;
    /* setState: sets the key to a JSON value. It replaces the previous value, even an object. Null
     * is an ordinary value and does not remove the key, unlike in a patch. An object
     * {"value": …, "metadata": {"description": …}} is unpacked, and its other members are ignored;
     * "metadata": null removes the key's metadata. If `metadata` is NULL, the metadata is
     * unchanged. Records list nulls in `nulls`, because a `patch` cannot express them.
     * [engine-thread, active] */
    nar_status (*set_state)(const nar_host *host, uint64_t token, nar_str key, nar_str value,
                            const nar_state_metadata *metadata, nar_failure *failure);
    /* getStateValue: writes the key's value as JSON, before it returns. NAR_NOT_FOUND if the key
     * has no value. [engine-thread, active] */
    nar_status (*get_state_value)(const nar_host *host, nar_str key, nar_write_fn write, void *user);
    /* hasState: NAR_OK or NAR_NOT_FOUND. [engine-thread, active] */
    nar_status (*has_state)(const nar_host *host, nar_str key);
    /* getAllState: writes the state, a JSON object. [engine-thread, active] */
    nar_status (*get_all_state)(const nar_host *host, nar_write_fn write, void *user);
    /* clearState: removes all keys and all metadata. [engine-thread, active] */
    nar_status (*clear_state)(const nar_host *host, uint64_t token, nar_failure *failure);
    /* getStateMetadata: writes the key's metadata as JSON. NAR_NOT_FOUND if it has no metadata.
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
    /* Processes all output that the tool has written so far, so that the next read sees the patches
     * in it. Without this call, the loop processes the output later. Returns NAR_GONE, NAR_STALE
     * and NAR_REENTRANT as writes do. [engine-thread, active] */
    nar_status (*deliver_output)(const nar_host *host, uint64_t token);
} nar_host_context;

#ifdef __cplusplus
}
#endif
#endif
