/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_H
#define NARRATORIA_HOST_H
/*
 * What a plugin sees of its host. Everything is asked for by id and may be missing: NULL then.
 * Here are those that always work; host_session.h: state, assets, prompt; host_loop.h: post, timer,
 * poll; narrator.h: answers; invocation.h: what tools say.
 *
 * Every function takes the nar_host that init got: it says which plugin calls, for which session.
 * An [engine-thread] function that is called elsewhere answers NAR_WRONG_THREAD, one outside of its
 * state of life NAR_GONE; both are logged with the plugin's id.
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nar_host nar_host;
struct nar_host {
    uint32_t size;
    uint32_t abi_version; /* NAR_ABI_VERSION of the host                                         */
    void *context;        /* the host's; do not touch                                            */
    /* A struct of functions that lives as long as this host, or NULL. [thread-safe, any state] */
    const void *(*get_extension)(const nar_host *host, nar_str id);
};

/* ---- narratoria.log/1 */
#define NAR_HOST_LOG "narratoria.log/1"
typedef struct nar_host_log {
    uint32_t size;
    uint32_t reserved;
    /* One line for people; the host puts the plugin's id in front. `level`: 1 debug, 2 info, 3
     * warning, 4 error (NAR_LOG_… of engine.h). [thread-safe, any state] */
    void (*write)(const nar_host *host, uint32_t level, nar_str message);
} nar_host_log;

/* ---- narratoria.config/1 */
#define NAR_HOST_CONFIG "narratoria.config/1"
typedef struct nar_host_config {
    uint32_t size;
    uint32_t reserved;
    /* This plugin's settings, the table [plugins."ID"] of story.toml: a JSON object, {} when there
     * is none. Alive until deinit has returned. [thread-safe, init, active] */
    nar_str (*settings)(const nar_host *host);
    /* The story's folder, absolute; empty when there is no story. Alive as long. [as above] */
    nar_str (*story)(const nar_host *host);
} nar_host_config;

/* ---- narratoria.thread_check/1 */
#define NAR_HOST_THREAD_CHECK "narratoria.thread_check/1"
typedef struct nar_host_thread_check {
    uint32_t size;
    uint32_t reserved;
    /* 1 on the engine thread, else 0. [thread-safe, any state] */
    uint32_t (*is_engine_thread)(const nar_host *host);
} nar_host_thread_check;

#ifdef __cplusplus
}
#endif
#endif
