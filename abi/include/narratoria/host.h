/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_H
#define NARRATORIA_HOST_H
/*
 * The host as a plugin sees it. A plugin requests each service by id, and must accept NULL if the
 * host does not have it. The services here always work. The others: host_session.h (state, assets,
 * prompt), host_loop.h (post, timer, poll), host_process.h (child processes), host_http.h (HTTP),
 * narrator.h (replies,
 * invoked tools), invocation.h (tool output).
 *
 * Every function takes the nar_host that init received; it identifies the calling plugin and its
 * session. An [engine-thread] function returns NAR_WRONG_THREAD on any other thread. A function
 * called outside the lifecycle states in its mark returns NAR_GONE. Both are logged with the
 * plugin's id.
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nar_host nar_host;
struct nar_host {
    uint32_t size;
    uint32_t abi_version; /* NAR_ABI_VERSION of the host                                         */
    void *context;        /* private to the host                                                 */
    /* Returns a service: a struct of functions that is valid as long as this host, or NULL.
     * [thread-safe, any state] */
    const void *(*get_extension)(const nar_host *host, nar_str id);
    nar_str session_id; /* of the plugin's session; valid as long as the host                    */
};

/* ---- narratoria.log/1 */
#define NAR_HOST_LOG "narratoria.log/1"
typedef struct nar_host_log {
    uint32_t size;
    uint32_t reserved;
    /* Writes one log line. The host prefixes the plugin's id. `level` is a NAR_LOG_… of engine.h:
     * 1 debug, 2 info, 3 warning, 4 error. [thread-safe, any state] */
    void (*write)(const nar_host *host, uint32_t level, nar_str message);
} nar_host_log;

/* ---- narratoria.config/1 */
#define NAR_HOST_CONFIG "narratoria.config/1"
typedef struct nar_host_config {
    uint32_t size;
    uint32_t reserved;
    /* Returns this plugin's settings, the table [plugins."ID"] of story.toml, as a JSON object; {}
     * without such a table. Valid until deinit has returned. [thread-safe, init, active] */
    nar_str (*settings)(const nar_host *host);
    /* Returns the absolute path of the story's folder, or an empty view if there is no story. Valid
     * until deinit has returned. [thread-safe, init, active] */
    nar_str (*story)(const nar_host *host);
    /* Returns the story's title, or an empty view if there is no story. It changes when the story is
     * reloaded (NAR_KIND_STORY_RELOADED); the view stays valid as long as the instance.
     * [thread-safe, init, active] */
    nar_str (*title)(const nar_host *host);
    /* Returns the story's opening, the table [opening] of story.toml, as a JSON object:
     *   {"text": "…", "choices": ["…"]}
     * Both members are always present. An empty view if the story has no opening. It changes when
     * the story is reloaded; the view stays valid as long as the instance. [thread-safe, init, active] */
    nar_str (*opening)(const nar_host *host);
    /* Returns the language of the story's texts, `language` of story.toml, as a BCP 47 language
     * tag: "de", "pt-BR". An empty view if the story does not say. Valid as long as the instance.
     * [thread-safe, init, active] */
    nar_str (*language)(const nar_host *host);
    /* Publishes a small value of this plugin under a name, for example the address of its server.
     * The program reads it with nar_session_read_published. Both texts are copied. A later value
     * replaces the previous one, and an empty value removes it. The values of an instance are
     * removed when it ends or is disabled. They are neither in the event stream nor stored with the
     * session.
     *   name   a-z 0-9 . _ -, 1 to 64 bytes
     *   value  UTF-8, at most 4096 bytes
     * An instance has at most 32 names. NAR_INVALID_ARGUMENT: a text or the number of names breaks
     * these rules; this is logged with the plugin's id, and nothing has changed. NAR_GONE: the
     * plugin was disabled. [engine-thread, active] */
    nar_status (*publish)(const nar_host *host, nar_str name, nar_str value);
    /* Withholds a variable of the host's environment from all tools that this process starts from
     * now on: its value is a secret of this plugin, such as the key of a model's server. Programs get
     * few variables of the host anyway; tools of a project in Python get all others. A variable of
     * this name from [tools.environment] goes, too, in this session. The name is copied.
     * NAR_INVALID_ARGUMENT: it is empty, or has a '=' or NUL. NAR_GONE: the instance has ended.
     * NAR_WRONG_THREAD: another thread called. [engine-thread, init, active] */
    nar_status (*withhold)(const nar_host *host, nar_str name);
} nar_host_config;

/* ---- narratoria.thread_check/1 */
#define NAR_HOST_THREAD_CHECK "narratoria.thread_check/1"
typedef struct nar_host_thread_check {
    uint32_t size;
    uint32_t reserved;
    /* Returns 1 on the engine thread, else 0. [thread-safe, any state] */
    uint32_t (*is_engine_thread)(const nar_host *host);
} nar_host_thread_check;

#ifdef __cplusplus
}
#endif
#endif
