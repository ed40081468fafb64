/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATOR_H
#define NARRATORIA_NARRATOR_H
/*
 * A narrator turns a prompt into Plan JSON (spec 003 §13.6). It is asked at most five times per
 * prompt; each request after the first contains what went wrong before. It may reply at any time.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 *   id        its name in messages
 *   generate  [engine-thread] receives a request (abi/schemas/narrator-request-1.schema.json), valid
 *             until it returns. Reply with nar_narrator_reply or nar_narrator_fail, now or later.
 *   cancel    [engine-thread] the reply is no longer needed: cancelled or timed out; may be NULL
 *   released  [engine-thread] last call: no request follows; may be NULL
 */
typedef struct nar_narrator {
    uint32_t size;
    uint32_t reserved;
    nar_str id;
    void *user;
    void (*generate)(void *user, uint64_t token, nar_str request);
    void (*cancel)(void *user, uint64_t token);
    void (*released)(void *user);
} nar_narrator;

/* Replies to a request with Plan JSON. The text is copied. The first reply wins: a second one
 * returns NAR_STALE. NAR_GONE if the request was cancelled, timed out or never existed. A plan with
 * faults is accepted here, uses up a generation, and its faults are in the next request.
 * [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_reply(nar_engine *engine, uint64_t token, nar_str plan,
                                      nar_error *error);

/* Replies that there will be no plan, with the reason. Uses up a generation.
 * [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_fail(nar_engine *engine, uint64_t token, nar_str message,
                                     nar_error *error);

/* ---- Extension narratoria.narrator/1: a narrator in a plugin. */
#define NAR_EXTENSION_NARRATOR "narratoria.narrator/1"

typedef struct nar_narrator_extension {
    uint32_t size;
    uint32_t reserved;
    /* Receives a request, valid until this function returns. Reply once through nar_host_narrator,
     * now or later. [engine-thread, active] */
    void (*generate)(void *instance, uint64_t token, nar_str request);
    /* The reply is no longer needed; a reply from inside this call is already too late. May be
     * NULL. [engine-thread, active] */
    void (*cancel)(void *instance, uint64_t token);
} nar_narrator_extension;

/* The service for replies, requested by the same id. */
typedef struct nar_host_narrator {
    uint32_t size;
    uint32_t reserved;
    /* Like nar_narrator_reply. A second reply returns NAR_STALE, a late one NAR_GONE; both are
     * logged with the plugin's id. [thread-safe, active] */
    nar_status (*reply)(const nar_host *host, uint64_t token, nar_str plan);
    /* Like nar_narrator_fail. [thread-safe, active] */
    nar_status (*fail)(const nar_host *host, uint64_t token, nar_str message);
} nar_host_narrator;

#ifdef __cplusplus
}
#endif
#endif
