/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_PLUGINS_H
#define NARRATORIA_PLUGINS_H
/*
 * Plugins from the host's side. A session loads
 *   - the plugins that the host lists (nar_session_options.plugins),
 *   - the plugins that the story names in [plugins."ID"] or as its narrator,
 *   - every library in the story's plugins/ folder.
 * An entry with a slash is a path. Any other entry is an id, which is searched in this order: the
 * folders of NARRATORIA_PLUGIN_PATH, the story's plugins/, ~/.local/lib/narratoria/plugins, the
 * installed folder next to libnarratoria. The working directory is never searched. With
 * NARRATORIA_SAFE_MODE=1 only plugins that the host lists by path and those in the installed folder
 * are loaded. A plugin that is missing or refused is logged and left out; the session continues.
 */
#include "narratoria/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Searches for the plugins of a session with this story (its folder, or empty) and this list,
 * without loading them. Returns every place and file with the verdict and its reason, as JSON; a
 * file that is found in several places is listed once. Release it with nar_text_release:
 *   {"safeMode", "places": [{"folder", "from", "exists", "files": [{"path", "id", "name",
 *    "version", "abi", "extensions", "wanted", "verdict": "loads" | "available" | "refused",
 *    "reason", "settings"?}]}]}; "settings": their JSON Schema.                [thread-safe] */
NAR_API nar_status nar_plugins_search(nar_str story, const nar_str *plugins, uint64_t plugin_count,
                                      nar_text **json, nar_error *error);

/* Returns the metadata of the plugin in the library at `path`, without loading it, as JSON; release
 * it with nar_text_release:
 *   {"text", "file", "notes"}
 * `text` is the unchanged document (check it with nar_validate, NAR_DOCUMENT_PLUGIN). `file` is the
 * file next to the library, empty if the text is a note in the library. `notes` is the number of
 * notes in it; the first one is used. NAR_NOT_FOUND if there is no metadata; the message says why.
 * [thread-safe] */
NAR_API nar_status nar_plugins_read_metadata(nar_str path, nar_text **json, nar_error *error);

/* Returns the session's plugins as JSON; release it with nar_text_release:
 *   [{"id", "path", "version", "extensions", "state": "active" | "refused" | "disabled", "reason",
 *    "code"?}]
 * `code` is what the init of a refused plugin gave (nar_failure).
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_plugins(nar_session *session, nar_text **json,
                                            nar_error *error);

/* Returns the value that a plugin, or an extension of the host, published under `name`
 * (nar_host_config.publish); release it with nar_text_release. `plugin` is its id. NAR_NOT_FOUND if
 * the plugin is not active in this session, or has not published a value under that name yet. A
 * plugin publishes while the loop is driven, so read it again after a driving call.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_published(nar_session *session, nar_str plugin, nar_str name,
                                              nar_text **value, nar_error *error);

/*
 * An extension that the host itself provides to a session, without a library.
 *   id         its name in messages and log lines: a-z 0-9 . _ -, at most 128, "my-game"
 *   extension  NAR_EXTENSION_UI_HANDLER or the id of any other plugin extension
 *   functions  the extension's struct, which is copied. The data that it points to (names, tools)
 *              must stay unchanged until `released`.
 *   instance   passed to each of its functions
 *   released   [engine-thread] called once, after the last other call; may be NULL. Not called for an
 *              extension that was refused.
 * The rules for plugins apply (plugin.h), except that its time on the engine thread is not limited.
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

/* Adds an extension until the session ends. At equal priority the host's extensions come before the
 * plugins', the latest first. A tool replaces one of the same name; a narrator replaces the
 * session's narrator, starting with the next request. *host provides its services and is valid as
 * long as the session; `host` may be NULL. NAR_UNSUPPORTED: unknown extension. NAR_BUSY: a narrator
 * request is pending. NAR_INVALID_ARGUMENT: the struct violates the rule in the message.
 * [engine-thread] */
NAR_API nar_status nar_session_extend(nar_session *session, const nar_session_extension *extension,
                                      const nar_host **host, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
