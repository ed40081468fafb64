/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATOR_H
#define NARRATORIA_NARRATOR_H
/*
 * A narrator turns a prompt into Plan JSON (spec 003 §13.6). It is asked at most five times for
 * one prompt, each time with what went wrong before, and answers whenever it is ready.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 *   id        its name, for messages
 *   generate  [engine-thread] a request (abi/schemas/narrator-request-1.schema.json), alive until it
 *             returns. Answer with nar_narrator_reply or nar_narrator_fail, now or later.
 *   cancel    [engine-thread] the answer is no longer wanted (cancelled, or the time is up); may be NULL
 *   released  [engine-thread] nothing more will be asked; may be NULL
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

/* Answers a request with Plan JSON; the text is copied. The first answer wins: NAR_STALE for a
 * second one, NAR_GONE when the request was cancelled, timed out or never was. A plan with faults is
 * taken, uses up a generation, and comes back in the next request. [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_reply(nar_engine *engine, uint64_t token, nar_str plan,
                                      nar_error *error);

/* Says that there will be no plan, and why; uses up a generation. [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_fail(nar_engine *engine, uint64_t token, nar_str message,
                                     nar_error *error);

/* ---- the same in a plugin */
#define NAR_EXTENSION_NARRATOR "narratoria.narrator/1"

typedef struct nar_narrator_extension {
    uint32_t size;
    uint32_t reserved;
    /* A request, alive until it returns. Answer once by nar_host_narrator, now or later.
     * [engine-thread, active] */
    void (*generate)(void *instance, uint64_t token, nar_str request);
    /* The answer is no longer wanted, and an answer given from here is late already; may be NULL.
     * [engine-thread, active] */
    void (*cancel)(void *instance, uint64_t token);
} nar_narrator_extension;

/* The host's side, asked for by the same id. */
typedef struct nar_host_narrator {
    uint32_t size;
    uint32_t reserved;
    /* As nar_narrator_reply. A second answer is STALE, a late one GONE; both are logged with the
     * plugin's id. [thread-safe, active] */
    nar_status (*reply)(const nar_host *host, uint64_t token, nar_str plan);
    /* As nar_narrator_fail. [thread-safe, active] */
    nar_status (*fail)(const nar_host *host, uint64_t token, nar_str message);
} nar_host_narrator;

#ifdef __cplusplus
}
#endif
#endif
