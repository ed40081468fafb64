/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATOR_H
#define NARRATORIA_NARRATOR_H
/*
 * A narrator turns a prompt into Plan JSON (spec 003 §13.6). It is asked at most five times for
 * one prompt, each time with what went wrong before, and answers whenever it is ready.
 */
#include "narratoria/status.h"

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

#ifdef __cplusplus
}
#endif
#endif
