/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_PLUGIN_H
#define NARRATORIA_PLUGIN_H
/*
 * A plugin is a shared library that exports one symbol, nar_plugin_entry. It does not link against
 * libnarratoria. It offers extensions, each with its own header: event_sink.h, ui_handler.h,
 * asset_renderer.h, narrator.h, tool_runner.h, tool.h. The services that it can request from the
 * host are listed in host.h. docs/plugin-rules.md numbers the rules.
 *
 * Lifecycle:  entry (once per process) → for each session: init → active → deinit.
 * The library stays loaded for the life of the process. Instances are independent: keep the data of
 * a session in its instance, never in a global.
 */
#include "narratoria/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reason for a failure. The struct belongs to the caller, who sets `size` and empties the texts.
 * Write NUL-terminated texts, truncated to fit, or leave them unchanged. It has room for the texts
 * itself, because a plugin links to nothing that could free them (nar_error of status.h can be of
 * any length). */
typedef struct nar_failure {
    uint32_t size;
    char message[508]; /* for people: what happened, and what to do                              */
    char code[64];     /* for programs, for example "MODEL_MISSING"; may stay empty              */
} nar_failure;

/* The host that loads the plugin. */
typedef struct nar_host_description {
    uint32_t size;
    uint32_t abi_version; /* NAR_ABI_VERSION of the host                                         */
    nar_str name;         /* "narratoria", or the name of the host program                        */
    nar_str version;      /* of libnarratoria, for example "0.1.0"                                */
} nar_host_description;

/* Describes a plugin. The struct and everything it points to must live as long as the process. */
typedef struct nar_plugin {
    uint32_t size;
    uint32_t abi_version; /* NAR_ABI_VERSION that the plugin was built with                       */
    nar_str id;           /* globally unique: a-z 0-9 . _ -, at most 128, "org.example.rain"      */
    nar_str name;         /* display name                                                         */
    nar_str version;      /* of the plugin                                                        */
    const nar_str *extensions; /* the ids for which get_extension returns a struct                */
    uint64_t extension_count;

    /* Creates an instance for one session. Returns NAR_OK and sets *instance, which may stay NULL;
     * or returns a different status with the reason in *failure, and deinit is not called. Only the
     * host services log, config, thread_check, post and get_extension work. `host` is valid until
     * deinit has returned. [engine-thread, init] */
    nar_status (*init)(const nar_host *host, void **instance, nar_failure *failure);

    /* Ends the instance; no function of it is called afterwards. Join the instance's threads here.
     * Only the host services log, thread_check and get_extension work. Other calls that a thread
     * makes while it is being joined return NAR_GONE, which is not a violation.
     * [engine-thread, deinit] */
    void (*deinit)(void *instance);

    /* Returns the struct of an extension (static, the same for all instances), or NULL for an
     * unknown id. Later hosts will request ids that do not exist yet.
     * [thread-safe, entry, init, active] */
    const void *(*get_extension)(nar_str id);
} nar_plugin;

/*
 * The only exported symbol and the first call. Both sides check the other's abi_version, and either
 * may refuse. A host accepts any minor version of the same NAR_ABI_MAJOR. To refuse, return
 * NAR_UNSUPPORTED with the reason in *failure; otherwise set *plugin and return NAR_OK. It is
 * called once per process, for any number of sessions. [entry]
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
 * Metadata that can be read without loading the library: a JSON object
 * (abi/schemas/plugin-1.schema.json) in the section .note.narratoria. It must agree with
 * nar_plugin; a library that contradicts it is refused. Use it once per library, at file scope,
 * followed by a semicolon. An optional member "settings" is a JSON Schema of the plugin's settings:
 *   NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"org.example.rain\",\"name\":\"Rain\","
 *                   "\"version\":\"1.0.0\",\"abi\":\"1.0\","
 *                   "\"extensions\":[\"narratoria.ui_handler/1\"]}");
 * In a language without control over sections, put the object into FILE.json next to the library
 * FILE.
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
