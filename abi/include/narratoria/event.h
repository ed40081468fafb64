/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_EVENT_H
#define NARRATORIA_EVENT_H
/*
 * The event stream: everything that happens in a session, in one order. A user interface, a log
 * and a reconnect need nothing else. As JSON a record is
 *   {seq, time, sessionId, planId, toolId, attempt, kind, event}
 * (abi/schemas/event-record-1.schema.json).
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nar_event.kind. A reader skips kinds that it does not know: more may come. */
enum {
    NAR_KIND_TOOL_EVENT = 1,      /* body: the tool's own object, byte for byte (spec 000 §3)    */
    NAR_KIND_PROMPT = 2,          /* {text, timestamp}                                           */
    NAR_KIND_NARRATIVE = 3,       /* {text, source: "plan" | "fallback"}                         */
    NAR_KIND_PLAN_STARTED = 4,    /* {plan, generationAttempt, parentPlanId}                     */
    NAR_KIND_PLAN_ENDED = 5,      /* {success, executionTime, failedTools, canReplan}            */
    NAR_KIND_TOOL_PENDING = 6,    /* {toolPath, dependencies}                                    */
    NAR_KIND_TOOL_STARTED = 7,    /* {toolPath}                                                  */
    NAR_KIND_TOOL_ENDED = 8,      /* {state, ok, executionTime, retryCount[, error, errorCode, stderr]} */
    NAR_KIND_ATTEMPT_STARTED = 9, /* {attempt}                                                   */
    NAR_KIND_ATTEMPT_ENDED = 10,  /* {attempt, state[, code, error, exitStatus, signal]}         */
    NAR_KIND_ASSET_REFUSED = 11,  /* {assetId, code, message}                                    */
    NAR_KIND_STATE_CONFLICT = 12, /* {path, tools: [earlier, later]}                             */
    NAR_KIND_WARNING = 13,        /* {code, message}                                             */
    NAR_KIND_UI_PLACEHOLDER = 14, /* {event, payload}: no plugin took this ui_event              */
    NAR_KIND_ASSET_PLACEHOLDER = 15, /* {assetId, kind, mediaType, path, metadata}: no plugin shows
                                     it. Both only in sessions that have plugins for it.         */
    NAR_KIND_TURN_ENDED = 16,     /* {outcome: "completed" | "fallback" | "cancelled" | "timeout",
                                     generations, choices}: of the prompt before it              */
    NAR_KIND_STATE_PATCHED = 17   /* {patch, by}: not by a tool; `by` is a plugin's id, or empty for
                                     the host. A sink that answers it with a patch makes another;
                                     after 10,000 of these in a row a warning RECORDS_DROPPED ends it */
};

/* nar_event.type, when kind is NAR_KIND_TOOL_EVENT: spec 000 §4.1 to §4.6. Otherwise 0. */
enum {
    NAR_TYPE_LOG = 1,
    NAR_TYPE_STATE_PATCH = 2,
    NAR_TYPE_ASSET = 3,
    NAR_TYPE_UI_EVENT = 4,
    NAR_TYPE_ERROR = 5,
    NAR_TYPE_DONE = 6
};

typedef struct nar_event {
    uint32_t size;
    uint32_t kind;
    uint32_t type;
    uint32_t attempt;   /* 1, 2 …; 0 when it is not about an attempt                             */
    uint64_t seq;       /* 1, 2 … the order of decoding, merging; gaps: only at RECORDS_DROPPED  */
    int64_t time_us;    /* when it was read, microseconds since the Unix epoch                   */
    nar_str session_id; /* never empty                                                           */
    nar_str plan_id;    /* empty when it is not about a plan                                     */
    nar_str tool_id;    /* empty when it is not about a tool                                     */
    nar_str body;       /* a JSON object on one line                                             */
} nar_event;

/*
 * Receives the stream. Set `size`, `event`, and what you need of the rest.
 *   kinds     a bit 1 << kind for each kind wanted; 0 wants all
 *   event     [engine-thread] the event and its views live until it returns. It may attach, detach
 *             (itself too), submit, cancel and read; it may not drive the loop.
 *   detached  [engine-thread] called once when nothing more will come; may be NULL
 */
typedef struct nar_event_sink {
    uint32_t size;
    uint32_t kinds;
    void *user;
    void (*event)(void *user, const nar_event *event);
    void (*detached)(void *user);
} nar_event_sink;

/* Attaches a copy of *sink; *sink_id names it for nar_session_detach_sink. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_attach_sink(nar_session *session, const nar_event_sink *sink,
                                           uint64_t *sink_id, nar_error *error);

/* Takes a sink off; NAR_NOT_FOUND when no such sink is attached. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_detach_sink(nar_session *session, uint64_t sink_id,
                                           nar_error *error);

/* The event as one line of JSON, without a newline, for you to release. [thread-safe] */
NAR_API nar_status nar_event_to_json(const nar_event *event, nar_text **json, nar_error *error);

/* The name a kind has in JSON, for example "tool_event"; NULL when unknown. [thread-safe] */
NAR_API const char *nar_kind_name(uint32_t kind);

#ifdef __cplusplus
}
#endif
#endif
