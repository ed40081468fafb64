/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SESSION_H
#define NARRATORIA_SESSION_H
/*
 * A session is one player's game: its state, its assets, its event stream (event.h), and the way
 * from a prompt to a result (spec 003 §13): prompt → narrator → plan → tools → result → replan.
 * One engine may have any number of them.
 */
#include "narratoria/event.h"
#include "narratoria/engine.h"
#include "narratoria/narrator.h"
#include "narratoria/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is copied. Zeros are defaults. */
typedef struct nar_session_options {
    uint32_t size;
    uint32_t reserved;
    nar_str id;                    /* empty: a fresh UUID                                        */
    nar_str story;                 /* the story's folder; empty: none                            */
    nar_str state;                 /* the state to start from, a JSON object; empty: {}          */
    const nar_narrator *narrator;  /* NULL: narrator_id says which                               */
    const nar_times *times;        /* over the story's, which stand over the engine's            */
    const nar_str *plugins;        /* ids or paths of plugins to load: plugins.h                 */
    uint64_t plugin_count;
    nar_str narrator_id;           /* a plugin's id, or "template"; empty: the story's. Not beside
                                      `narrator`                                                 */
    uint32_t without_plugins;      /* 1: load none at all, whatever the story says               */
    uint32_t reserved_2;
    nar_str plugin_settings;       /* {"a plugin's id": {its settings}}, merged over the story's
                                      [plugins."ID"] (RFC 7396); a JSON object, or empty         */
} nar_session_options;

/* Reads the story and makes a session. NAR_INVALID_DOCUMENT: the story or the state has faults.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_create(nar_engine *engine, const nar_session_options *options,
                                      nar_session **session, nar_error *error);

/* Ends the session; its tools are ended at once, without grace. Inside a callback it is carried
 * out when the callback has returned. NULL is allowed. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_destroy(nar_session *session, nar_error *error);

/* nar_turn.outcome */
enum {
    NAR_TURN_COMPLETED = 1, /* the last plan succeeded                                           */
    NAR_TURN_FALLBACK = 2,  /* no plan did; narrative is a template of the story (spec 003 §13.6) */
    NAR_TURN_CANCELLED = 3,
    NAR_TURN_TIMEOUT = 4    /* the prompt's time was up                                          */
};

typedef struct nar_turn {
    uint32_t size;
    uint32_t outcome;
    uint32_t generations; /* plans asked for, up to 5; 0: cancelled before it began                */
    uint32_t reserved;
    nar_str narrative;    /* what to tell the player                                              */
    nar_str choices;      /* JSON array of texts: the narrative_choice that was shown last, or [] */
    nar_result *result;   /* of the last plan that ran, or NULL; retain it to keep it             */
} nar_turn;

/* `ended` is called exactly once for each prompt or plan that was taken. [engine-thread] */
typedef struct nar_turn_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, const nar_turn *turn); /* may be NULL; everything dies on return */
} nar_turn_handler;

typedef struct nar_execution_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, nar_result *result); /* may be NULL; retain the result to keep it */
} nar_execution_handler;

/* Submits the player's words (spec 004 PlayerPrompt: not empty). While a turn runs one more may
 * wait; a further one answers NAR_BUSY. `handler` may be NULL. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_prompt(nar_session *session, nar_str text,
                                      const nar_turn_handler *handler, nar_error *error);

/* Runs one plan (spec 003 §13.3), without a narrator. Tool paths resolve against `folder`; empty:
 * the story's, else the engine's root. NAR_INVALID_DOCUMENT: nothing was started, details lists
 * every fault. Plans run one after the other, in the order of submission.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_execute(nar_session *session, nar_str plan, nar_str folder,
                                       const nar_execution_handler *handler, nar_error *error);

/* Ends what runs and drops what waits; their handlers are told in the next driving call. Tools
 * get SIGTERM and the grace time behind it. [thread-safe, signal-safe, callback-ok] */
NAR_API nar_status nar_session_cancel(nar_session *session);

/* The state at a JSON Pointer ("" is all of it) as JSON, for you to release. NAR_NOT_FOUND when
 * there is nothing; NAR_INVALID_ARGUMENT when it is no pointer. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_state(nar_session *session, nar_str pointer, nar_text **json,
                                          nar_error *error);

/* Merges a patch of the host's own (RFC 7396); it stands in the history with an empty tool, and
 * sinks get NAR_KIND_STATE_PATCHED.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_patch_state(nar_session *session, nar_str patch, nar_error *error);

/* {"limit", "dropped", "patches": [{seq, time, planId, toolId, attempt, patch}]}, oldest first;
 * `dropped` counts what the limit cost. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_history(nar_session *session, nar_text **json,
                                            nar_error *error);

/* [{planId, toolId, attempt, seq, assetId, kind, mediaType, path, metadata}]; path is absolute.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_assets(nar_session *session, nar_text **json,
                                           nar_error *error);

/* The session's id, alive as long as the session. [engine-thread, callback-ok] */
NAR_API nar_str nar_session_id(const nar_session *session);

#ifdef __cplusplus
}
#endif
#endif
