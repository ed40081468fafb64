/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_PLUGIN_H
#define NARRATORIA_PLUGIN_H
/*
 * A plugin is a shared library that exports one symbol, nar_plugin_entry, and links nothing of ours.
 * What it can do are its extensions, each in a header of its own: event_sink.h, ui_handler.h,
 * asset_renderer.h, narrator.h, tool_runner.h, tool.h. What it may ask of the host: host.h and the
 * headers named there. The rules, numbered: docs/plugin-rules.md.
 *
 * Its life:  entry (once a process) → for each session: init → active → deinit.
 * The library is never unloaded while the process lives. Instances are independent of each other:
 * what one session needs lives in its instance, never in a global.
 */
#include "narratoria/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why something was not done, for people. The struct is the caller's: write a text that ends in a
 * NUL (longer ones are cut), or leave it as it is. Look at `size` before you write: at least 256
 * bytes of `message` are always there. */
typedef struct nar_failure {
    uint32_t size;
    char message[508];
} nar_failure;

/* Who loads the plugin. */
typedef struct nar_host_description {
    uint32_t size;
    uint32_t abi_version; /* NAR_ABI_VERSION of the host                                         */
    nar_str name;         /* "narratoria", or the program's own                                  */
    nar_str version;      /* of the library, for example "0.1.0"                                 */
} nar_host_description;

/* What a library is and can do. Static: it and all that it points to live as long as the process. */
typedef struct nar_plugin {
    uint32_t size;
    uint32_t abi_version; /* NAR_ABI_VERSION the plugin was built with                           */
    nar_str id;           /* unique for ever: a-z 0-9 . _ -, at most 128, "org.example.rain"     */
    nar_str name;         /* for people                                                          */
    nar_str version;      /* its own                                                             */
    const nar_str *extensions; /* the ids that get_extension knows                               */
    uint64_t extension_count;

    /* Makes an instance for one session. NAR_OK and *instance (it may stay NULL), or a status and
     * the reason in *failure; deinit is then not called. Of the host only log, config, thread_check,
     * post and get_extension work. `host` lives until deinit has returned. [engine-thread, init] */
    nar_status (*init)(const nar_host *host, void **instance, nar_failure *failure);

    /* Ends the instance. Threads of it are joined here; nothing of it is called afterwards. Of the
     * host only log, thread_check and get_extension work; what a thread of the plugin calls while it
     * is joined answers NAR_GONE, and is no fault. [engine-thread, deinit] */
    void (*deinit)(void *instance);

    /* The extension's struct (static, the same for each instance), or NULL for an id that is not
     * known; ids from later versions will be asked for. [any thread, entry, init, active] */
    const void *(*get_extension)(nar_str id);
} nar_plugin;

/*
 * The one exported symbol, and the first call: both sides look at the other's abi_version, and each
 * may refuse. A host accepts the same NAR_ABI_MAJOR with any minor. To refuse, answer
 * NAR_UNSUPPORTED and say why in *failure; else set *plugin and answer NAR_OK. Called once a
 * process, whatever the number of sessions. [entry]
 *
 *   NAR_PLUGIN_EXPORT nar_status nar_plugin_entry(const nar_host_description *host,
 *                                                 const nar_plugin **plugin, nar_failure *failure);
 */
typedef nar_status (*nar_plugin_entry_fn)(const nar_host_description *host,
                                          const nar_plugin **plugin, nar_failure *failure);
NAR_PLUGIN_EXPORT nar_status nar_plugin_entry(const nar_host_description *host,
                                              const nar_plugin **plugin, nar_failure *failure);
#define NAR_PLUGIN_ENTRY "nar_plugin_entry"

/*
 * What can be known without loading: a JSON object (abi/schemas/plugin-1.schema.json) as a literal,
 * kept in the section .note.narratoria. It says the same as nar_plugin does; a library that says
 * otherwise when it is loaded is refused. Once a library, at file scope, with a semicolon behind:
 *   NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"org.example.rain\",\"name\":\"Rain\","
 *                   "\"version\":\"1.0.0\",\"abi\":\"1.0\","
 *                   "\"extensions\":[\"narratoria.ui_handler/1\"]}");
 * A language that cannot write sections puts the object into FILE.json beside the library FILE.
 */
#define NAR_PLUGIN_NOTE_SECTION ".note.narratoria"
#define NAR_PLUGIN_NOTE_OWNER "Narratoria"
#define NAR_PLUGIN_NOTE(json)                                                           \
    __attribute__((used, section(NAR_PLUGIN_NOTE_SECTION), aligned(4))) static const struct { \
        uint32_t owner_size, text_size, type;                                           \
        char owner[12];                                                                 \
        char text[sizeof(json)];                                                        \
    } nar_plugin_note = {sizeof(NAR_PLUGIN_NOTE_OWNER), sizeof(json), 1, NAR_PLUGIN_NOTE_OWNER, json}

#ifdef __cplusplus
}
#endif
#endif
