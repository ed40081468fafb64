/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATOR_H
#define NARRATORIA_NARRATOR_H
/*
 * A narrator turns a prompt into Plan JSON (spec 003 §13.6). It receives at most five requests per
 * prompt; each one after the first contains the previous failures. It may reply at any time. A plan
 * with "continue" that succeeds is followed by another request in the same turn, with its result; at
 * most four plans of a turn are continued.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request to a narrator. It is valid until the call that passes it returns. */
typedef struct nar_narrator_request {
    uint32_t size;
    uint32_t timeout_ms; /* the time for the reply, in milliseconds; NAR_NONE: unlimited. It does not
                            run while a tool of narratoria.invoke/1 runs.                        */
    uint64_t token;      /* identifies the request in the reply                                  */
    nar_str json;        /* abi/schemas/narrator-request-1.schema.json                           */
} nar_narrator_request;

/* Bits of `flags` of a narrator. */
enum {
    NAR_NARRATOR_DETAILED = 1 /* its requests also have `turns`, `turnMetadata`, `stateForPrompt`, and
                                 in `tools` what is known of each tool: what a language model needs.
                                 They take more time to write and to read.                       */
};

/*
 *   flags     NAR_NARRATOR_… or 0; refused if another bit is set
 *   id        its name in messages
 *   generate  [engine-thread] receives a request. Reply with nar_narrator_reply or
 *             nar_narrator_fail, now or later.
 *   cancel    [engine-thread] the reply is no longer needed: cancelled or timed out; may be NULL
 *   released  [engine-thread] last call: no request follows; may be NULL
 */
typedef struct nar_narrator {
    uint32_t size;
    uint32_t flags;
    nar_str id;
    void *user;
    void (*generate)(void *user, const nar_narrator_request *request);
    void (*cancel)(void *user, uint64_t token);
    void (*released)(void *user);
} nar_narrator;

/* Replies to a request with Plan JSON. The text is copied. The first reply is used: a second one
 * returns NAR_STALE. NAR_GONE if the request was cancelled, timed out or never existed. A plan with
 * faults is accepted here; it uses up a generation, and its faults are in the next request.
 * [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_reply(nar_engine *engine, uint64_t token, nar_str plan,
                                      nar_error *error);

/* Replies without a plan and gives the reason. Uses up a generation.
 * [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_fail(nar_engine *engine, uint64_t token, nar_str message,
                                     nar_error *error);

/* Tells the next piece of the narrative before the reply: sinks receive NAR_KIND_NARRATIVE_DELTA.
 * The text is copied. A piece may end within a UTF-8 character, which the next one completes. If
 * the plan of the reply has no "narrative", the pieces are its narrative; otherwise the plan's text
 * replaces them. The reply is a failure if the pieces exceed 1 MiB. Each piece that is not empty
 * restarts narrator_between_ms of nar_times, which does not run while an invoked tool runs. NAR_BUSY: 16 MiB of pieces are waiting for the engine's loop.
 * NAR_STALE and NAR_GONE as in nar_narrator_reply. [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_delta(nar_engine *engine, uint64_t token, nar_str text,
                                      nar_error *error);

/* Reports what the reply to a request takes, before the reply: a JSON object
 * (abi/schemas/narrator-usage-1.schema.json), which is copied:
 *   {"model": "small", "inputTokens": 900, "outputTokens": 120, "cost": 0.002, "currency": "EUR"}
 * Sinks receive it as NAR_KIND_NARRATOR_USAGE; nar_turn.usage is the sum of a turn, of which at most
 * 100 reports count.
 * NAR_INVALID_DOCUMENT: it is not valid. NAR_BUSY, NAR_STALE and NAR_GONE as in nar_narrator_delta.
 * [thread-safe, callback-ok] */
NAR_API nar_status nar_narrator_usage(nar_engine *engine, uint64_t token, nar_str usage,
                                      nar_error *error);

/* ---- Extension narratoria.narrator/1: a narrator in a plugin. */
#define NAR_EXTENSION_NARRATOR "narratoria.narrator/1"

typedef struct nar_narrator_extension {
    uint32_t size;
    uint32_t flags; /* NAR_NARRATOR_… or 0; the plugin is refused if another bit is set           */
    /* Receives a request. Reply once through nar_host_narrator, now or later.
     * [engine-thread, active] */
    void (*generate)(void *instance, const nar_narrator_request *request);
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
    /* Like nar_narrator_delta. [thread-safe, active] */
    nar_status (*delta)(const nar_host *host, uint64_t token, nar_str text);
    /* Like nar_narrator_usage. What is not valid is logged with the reason. [thread-safe, active] */
    nar_status (*usage)(const nar_host *host, uint64_t token, nar_str usage);
} nar_host_narrator;

/* ---- narratoria.invoke/1: a narrator runs tools before it replies.
 *
 * The tools of one request run in a separate execution: sinks receive its records, with a separate
 * planId (NAR_KIND_PLAN_STARTED has "open": true, and each tool follows with
 * NAR_KIND_TOOL_PENDING). Limits, state patches, assets and ui events work as for a plan's tools.
 * An invocation is one attempt, unless its "retryPolicy" requests retries: a tool that patched the
 * state and then failed would patch it again. Several may run at the same time, within the job
 * slots. A tool that fails does not fail the request: the narrator decides. Its skill is disabled
 * for the rest of the prompt, unless a later invocation of it in the same request completes.
 *
 * Times: narrator_ms does not run while an invoked tool runs; plan_ms limits the time during which
 * any of them runs. Tools that still run when the request ends are cancelled. It ends by the reply
 * (with the warning INVOCATIONS_CANCELLED), a timeout or a cancellation, or when the plugin is
 * disabled. The next request for the same prompt contains the results of its invocations.
 *
 * A host's own narrator gets this service if it is added with nar_session_extend, which returns its
 * nar_host. The narrator of nar_session_options does not have it.
 */
#define NAR_HOST_INVOKE "narratoria.invoke/1"

/* The outcome of an invoked tool. It is valid during the call that passes it. */
typedef struct nar_invoke_outcome {
    uint32_t size;
    uint32_t reserved;
    uint64_t token;  /* of the request                                                           */
    uint64_t number; /* of the invocation in the request                                         */
    nar_str json;    /* abi/schemas/narrator-outcome-1.schema.json:
                        {"state": "completed", "ok": true, "result": …, "output": {…}, …}        */
} nar_invoke_outcome;

typedef struct nar_host_invoke {
    uint32_t size;
    uint32_t reserved;
    /* Starts a tool for the request `token`, and returns without waiting for it. `invocation` is a
     * JSON object (abi/schemas/narrator-invocation-1.schema.json):
     *   {"tool": "door-examiner", "input": {…}}
     * It is copied. *number, which may be NULL, identifies the invocation in this request and is
     * never 0. `on_outcome` receives the outcome. The loop calls it exactly once, never from within this function, even if the tool is
     * cancelled because the request ends. It is not called if the plugin is disabled. It may invoke
     * further tools, cancel invocations and reply. NAR_INVALID_DOCUMENT: the invocation is not
     * valid. NAR_BUSY: the request already has 1,000 tools that have not ended. NAR_GONE: the
     * request has ended or has a reply, or its plan_ms is used up. *failure, which may be NULL,
     * gets the reason. A tool that is unknown, disabled (SKILL_DISABLED) or not allowed
     * (TOOL_REFUSED) results in an outcome with "ok": false. [engine-thread, active] */
    nar_status (*invoke)(const nar_host *host, uint64_t token, nar_str invocation,
                         void (*on_outcome)(void *user, const nar_invoke_outcome *outcome),
                         void *user, uint64_t *number, nar_failure *failure);
    /* Ends one invocation; its outcome, CANCELLED, follows in the loop. NAR_NOT_FOUND if it has
     * ended or never existed; NAR_GONE if the request has ended. [engine-thread, active] */
    nar_status (*cancel)(const nar_host *host, uint64_t token, uint64_t number);
} nar_host_invoke;

#ifdef __cplusplus
}
#endif
#endif
