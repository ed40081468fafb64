/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_EVENT_H
#define NARRATORIA_EVENT_H
/*
 * The event stream: everything that happens in a session, in one order. A user interface, a log
 * and a client that reconnects need nothing else. A record as JSON is
 *   {seq, time, sessionId, planId, toolId, attempt, kind, event}
 * (abi/schemas/event-record-1.schema.json).
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of nar_event.kind, each with its body. Readers must skip unknown kinds: later versions may
 * add some. */
enum {
    NAR_KIND_TOOL_EVENT = 1,      /* the tool's own object, byte for byte (spec 000 §3)          */
    NAR_KIND_PROMPT = 2,          /* {text, timestamp}                                           */
    NAR_KIND_NARRATIVE = 3,       /* {text, source: "plan" | "fallback"}: replaces the pieces of
                                     NAR_KIND_NARRATIVE_DELTA before it                          */
    NAR_KIND_PLAN_STARTED = 4,    /* {plan, generationAttempt, parentPlanId}                     */
    NAR_KIND_PLAN_ENDED = 5,      /* {success, executionTime, failedTools, canReplan}            */
    NAR_KIND_TOOL_PENDING = 6,    /* {toolPath, dependencies}                                    */
    NAR_KIND_TOOL_STARTED = 7,    /* {toolPath}                                                  */
    NAR_KIND_TOOL_ENDED = 8,      /* {state, ok, executionTime, retryCount[, error, errorCode, stderr]} */
    NAR_KIND_ATTEMPT_STARTED = 9, /* {attempt}                                                   */
    NAR_KIND_ATTEMPT_ENDED = 10,  /* {attempt, state[, code, error, exitStatus, signal, traces]} */
    NAR_KIND_ASSET_REFUSED = 11,  /* {assetId, code, message}                                    */
    NAR_KIND_STATE_CONFLICT = 12, /* {path, tools: [earlier, later]}                             */
    NAR_KIND_WARNING = 13,        /* {code, message}; PLUGIN_LEFT_OUT names a plugin that could
                                     not be loaded                                               */
    NAR_KIND_UI_PLACEHOLDER = 14, /* {event, payload}: no plugin handled this ui_event           */
    NAR_KIND_ASSET_PLACEHOLDER = 15, /* {assetId, kind, mediaType, path, metadata}: no plugin
                                        rendered it. UI_ and ASSET_PLACEHOLDER occur only in
                                        sessions with plugins that handle ui_events or assets. */
    NAR_KIND_TURN_ENDED = 16,     /* {outcome: "completed" | "fallback" | "cancelled" | "timeout",
                                     generations, choices[, usage]}: ends the turn of the last
                                     PROMPT. With a store also {turn, durable, durableSeq}, as in
                                     nar_turn                                                    */
    NAR_KIND_STATE_PATCHED = 17,  /* {patch, by}: a patch from the host (`by` is "") or a plugin
                                     (its id). A sink that patches the state on every such record
                                     would loop forever: after 1,000 of them in a row the stream
                                     drops the rest, with a warning RECORDS_DROPPED each time; a
                                     turn may have several. The log names the plugin.            */
    NAR_KIND_SESSION_MOVED = 18,  /* {turn, narrative, choices[, ending][, playsAgain]}: the session
                                     moved to the end of a turn (nar_session_go_to); 0: to its
                                     beginning. It now has the state, history and assets from that
                                     point. `narrative` and `ending` are as in nar_store_read_turns.
                                     "playsAgain": true: a prompt that is played again follows
                                     (nar_session_again, nar_session_resume, nar_host_turns).    */
    NAR_KIND_STORY_RELOADED = 19, /* {title[, opening], faults}: a file of the story has changed
                                     (watches_story of nar_session_options). If `faults` is empty,
                                     the next turn uses the changed story. Otherwise they are as in
                                     nar_validate, and the story from before stays in use. `title`
                                     and `opening` (nar_session_opening) are those in use.       */
    NAR_KIND_NARRATIVE_DELTA = 20, /* {text}: the next piece of a narrative that the narrator is
                                     still writing (nar_narrator_delta). NARRATIVE with the whole
                                     text follows, or NARRATIVE_RETRACTED.                       */
    NAR_KIND_NARRATIVE_RETRACTED = 21, /* {}: the pieces told so far do not count, because no plan
                                     followed them. Another generation follows, or the turn ends. */
    NAR_KIND_NARRATOR_USAGE = 22 /* {[model, inputTokens, outputTokens, cachedTokens, firstMs,
                                     totalMs, cost, currency]}: what a reply of the narrator took
                                     (nar_narrator_usage)                                        */
};

/* Values of nar_event.type for NAR_KIND_TOOL_EVENT (spec 000 §4.1 to §4.6). 0 for other kinds. */
enum {
    NAR_TYPE_LOG = 1,
    NAR_TYPE_STATE_PATCH = 2,
    NAR_TYPE_ASSET = 3,
    NAR_TYPE_UI_EVENT = 4,
    NAR_TYPE_ERROR = 5,
    NAR_TYPE_DONE = 6
};

/* The bit of a kind in `kinds` of a sink. */
#define NAR_KIND_BIT(kind) ((uint64_t)1 << (kind))

typedef struct nar_event {
    uint32_t size;
    uint32_t kind;
    uint32_t type;
    uint32_t attempt;   /* from 1; 0 if the record does not concern an attempt                   */
    uint64_t seq;       /* from 1, in order of decoding; gaps only after a RECORDS_DROPPED       */
    int64_t time_us;    /* when the runtime read it: microseconds since the Unix epoch           */
    nar_str session_id; /* never empty                                                           */
    nar_str plan_id;    /* empty if the record does not concern a plan                           */
    nar_str tool_id;    /* empty if the record does not concern a tool                           */
    nar_str body;       /* a JSON object on one line                                             */
} nar_event;

/*
 * Receives the stream. Set `size`, `event`, and any other field as needed.
 *   kinds     NAR_KIND_BIT of each kind to receive, joined by |; 0 selects all
 *   event     [engine-thread] one record. It and its views are valid until the callback returns.
 *             The callback may attach and detach sinks (including itself), submit prompts, cancel
 *             and read. It must not drive the loop, and must not write to the record: a sink that
 *             writes to it is detached, with a log line, and the later sinks get the original
 *             record.
 *   detached  [engine-thread] called once, after the last record; may be NULL
 */
typedef struct nar_event_sink {
    uint32_t size;
    uint32_t reserved;
    uint64_t kinds;
    void *user;
    void (*event)(void *user, const nar_event *event);
    void (*detached)(void *user);
} nar_event_sink;

/* Attaches a copy of *sink. *sink_id, which may be NULL, identifies it for nar_session_detach_sink.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_attach_sink(nar_session *session, const nar_event_sink *sink,
                                           uint64_t *sink_id, nar_error *error);

/* Detaches a sink. NAR_NOT_FOUND if no such sink is attached. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_detach_sink(nar_session *session, uint64_t sink_id,
                                           nar_error *error);

/* Returns the record as one line of JSON without a newline; release it with nar_text_release.
 * [thread-safe] */
NAR_API nar_status nar_event_to_json(const nar_event *event, nar_text **json, nar_error *error);

/* Returns the name of a kind in JSON, for example "tool_event", or NULL if it is unknown.
 * [thread-safe] */
NAR_API const char *nar_kind_name(uint32_t kind);

#ifdef __cplusplus
}
#endif
#endif
