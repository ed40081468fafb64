/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_PLUGINS_H
#define NARRATORIA_PLUGINS_H
/*
 * Plugins as a host sees them. A session loads
 *   - what the host lists (nar_session_options.plugins),
 *   - every plugin that the story names in [plugins."ID"] or as its narrator,
 *   - every file in the story's plugins/ folder.
 * A path (with a slash) is that file; an id is looked for in, in this order: the folders of
 * NARRATORIA_PLUGIN_PATH, the story's plugins/, ~/.local/lib/narratoria/plugins, and the installed
 * folder beside libnarratoria. Never in the current folder. With NARRATORIA_SAFE_MODE=1 only what
 * the host lists by path and what lies in the installed folder is loaded.
 * A plugin that is not found or refused is logged and left out; the session goes on without it.
 */
#include "narratoria/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Looks at every place and file for a session with this story (its folder, or empty) and these
 * plugins, without loading one, and says why each would be taken or not, as JSON for you to release:
 *   {"safeMode", "places": [{"folder", "from", "exists", "files": [{"path", "id", "name",
 *    "version", "abi", "extensions", "wanted", "verdict": "loads" | "available" | "refused",
 *    "reason"}]}]}                                            [thread-safe] */
NAR_API nar_status nar_plugins_search(nar_str story, const nar_str *plugins, uint64_t plugin_count,
                                      nar_text **json, nar_error *error);

/* What a session has, as JSON for you to release:
 *   [{"id", "path", "version", "extensions", "state": "active" | "refused" | "disabled", "reason"}]
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_plugins(nar_session *session, nar_text **json,
                                            nar_error *error);

/*
 * What the host itself brings to a session: the same extensions as a plugin's, without a library.
 *   id         names it in messages and log lines: a-z 0-9 . _ -, at most 128, "my-game"
 *   extension  NAR_EXTENSION_UI_HANDLER, …: one of those that plugins have
 *   functions  its struct, copied; what that points to (names, tools) stays as it is until released
 *   instance   given to each of its functions
 *   released   [engine-thread] called once, when nothing more of it will be; may be NULL. An
 *              extension that was refused is not released
 * Exceptions and rules are as for plugins (plugin.h), but its time on the engine thread is not
 * watched: it is the host's own.
 */
typedef struct nar_session_extension {
    uint32_t size;
    uint32_t reserved;
    nar_str id;
    nar_str extension;
    const void *functions;
    void *instance;
    void (*released)(void *instance);
} nar_session_extension;

/* Adds it until the session ends. Of equal priority the host's come before the plugins', the latest
 * first; a tool takes the place of one with the same name, a narrator that of the session's, from
 * the next question on. *host is for its calls, alive as long as the session; `host` may be NULL.
 * NAR_UNSUPPORTED: no such extension; NAR_BUSY: a narrator is being asked; NAR_INVALID_ARGUMENT: the
 * struct breaks a rule, which the message names. [engine-thread] */
NAR_API nar_status nar_session_extend(nar_session *session, const nar_session_extension *extension,
                                      const nar_host **host, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
