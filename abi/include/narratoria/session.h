/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SESSION_H
#define NARRATORIA_SESSION_H
/*
 * A session is one player's game: its state, its assets, its event stream (event.h), and its turns
 * (spec 003 §13): prompt → narrator → plan → tools → result → replan.
 * An engine can have any number of sessions. Destroy them before the engine, or with it.
 */
#include "narratoria/context.h"
#include "narratoria/event.h"
#include "narratoria/engine.h"
#include "narratoria/narrator.h"
#include "narratoria/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The session copies everything. Zeros are defaults. */
typedef struct nar_session_options {
    uint32_t size;
    uint32_t reserved;
    nar_str id;                    /* empty: a new UUID                                          */
    nar_str story;                 /* the story's folder; empty: no story                        */
    nar_str state;                 /* initial state, a JSON object; empty: {}                    */
    const nar_narrator *narrator;  /* NULL: `narrator_id` selects one                            */
    const nar_times *times;        /* override the story's, which override the engine's          */
    const nar_str *plugins;        /* ids or paths of plugins to load (plugins.h)                */
    uint64_t plugin_count;
    nar_str narrator_id;           /* a plugin's id, or "template"; empty: the story's. Must be
                                      empty if `narrator` is set.                                */
    uint32_t without_plugins;      /* 1: load no plugins, whatever the story names               */
    uint32_t must_be_new;          /* 1: the store must not have a session of this id yet
                                      (SESSION_EXISTS, NAR_INVALID_ARGUMENT)                     */
    nar_str plugin_settings;       /* JSON object {"plugin id": {settings}}, merged over the
                                      story's [plugins."ID"] (RFC 7396); or empty                */
    nar_str project;               /* the folder of a Namel3ss project, whose tools plans, scripts
                                      and narrators call by name (spec 001); empty: the story's
                                      folder, if it has a .namel3ss/                             */
    nar_str store;                 /* the file in which the session is kept (store.h); it is created
                                      if it does not exist. Empty: the engine's. See below.      */
    uint32_t durability;           /* a NAR_DURABILITY_…                                         */
    uint32_t replays;              /* 1: the session only replays the turns of the store, without
                                      plugins (nar_session_replay). The store is only read, and must
                                      have the session (SESSION, NAR_NOT_FOUND). Prompts, plans and
                                      scripts are refused (NAR_UNSUPPORTED).                      */
} nar_session_options;

/* Values of nar_session_options.durability */
enum {
    NAR_DURABILITY_TURN = 0, /* a turn ends when the disk has it: some milliseconds later        */
    NAR_DURABILITY_LAZY = 1, /* a turn ends at once, and is written soon after it                */
    NAR_DURABILITY_NONE = 2  /* the session is not kept, whatever the engine says                */
};

/*
 * Sessions in a store
 *
 * `id` names the session in its store, so it should be given. If the store has it, it goes on from its
 * current turn, with the state, history, assets, choices and descriptions of keys of that moment; `state`
 * does not matter then. Whatever ends the host, no turn that was reported durable is lost, and the turn
 * that ran is in the store as interrupted. What the host and plugins patch between
 * two turns is kept in the next driving call.
 *
 * These wait for the disk: nar_session_create and nar_session_destroy, nar_session_go_to, nar_session_again,
 * nar_session_resume, nar_session_replay and nar_session_read_turns. Nothing else does, except before a tool
 * starts that is not repeatable. The engine starts a thread with its first such session, which writes and
 * calls nothing of the host, has all signals blocked, and ends with the engine. Other calls wait for it
 * only if more than 256 MiB are to be written.
 *
 * If the store cannot be written any more, the session goes on without it: the log and a WARNING record
 * say why, and turns are no longer durable.
 */

/* Reads the story and creates a session, or goes on with one that a store has. The error codes of stores
 * are in store.h. NAR_INVALID_DOCUMENT if the story or the state has faults; the error's details list
 * them. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_create(nar_engine *engine, const nar_session_options *options,
                                      nar_session **session, nar_error *error);

/* Destroys the session. Running tools are killed without a grace period. Inside a callback the
 * destruction is deferred until the callback has returned. NULL is allowed.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_destroy(nar_session *session, nar_error *error);

/* Values of nar_turn.outcome */
enum {
    NAR_TURN_COMPLETED = 1, /* the last plan succeeded                                           */
    NAR_TURN_FALLBACK = 2,  /* no plan succeeded; the narrative is the story's fallback text
                               (spec 003 §13.6)                                                  */
    NAR_TURN_CANCELLED = 3,
    NAR_TURN_TIMEOUT = 4    /* the prompt's timeout expired                                      */
};

typedef struct nar_turn {
    uint32_t size;
    uint32_t outcome;
    uint32_t generations; /* plans requested, up to 5; 0: cancelled before it began              */
    uint32_t reserved;
    nar_str narrative;    /* text for the player                                                 */
    nar_str choices;      /* JSON array of strings: those of all narrative_choice events of the  */
                          /* plan, joined, without empty and repeated texts; or []              */
    nar_result *result;   /* of the last plan that ran, or NULL; retain it to keep it            */
    uint64_t id;          /* in the session's store, from 1; 0: the session is not kept          */
    uint64_t durable_seq; /* the disk has all records of the stream up to this one               */
    uint32_t durable;     /* 1: the disk has this turn                                           */
    uint32_t reserved_2;
} nar_turn;

/* `ended` is called exactly once for each accepted prompt or plan. [engine-thread] */
typedef struct nar_turn_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, const nar_turn *turn); /* may be NULL; `turn` dies on return */
} nar_turn_handler;

typedef struct nar_execution_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, nar_result *result); /* may be NULL; retain the result to keep it */
} nar_execution_handler;

/* Goes to the end of a turn of the session's store (store.h has values for `turn`): undo, redo, and the
 * way to another branch. State, history, assets, descriptions of keys and the story's fallback counter
 * are what they were there; sinks receive NAR_KIND_SESSION_MOVED. Nothing is removed: the next prompt
 * makes another branch. Waits for the disk, and reads at most as much as the state is large.
 * NAR_BUSY: a turn runs or waits. NAR_NOT_FOUND: there is no such turn. NAR_INVALID_ARGUMENT: it has not
 * ended. NAR_UNSUPPORTED: the session has no store. Otherwise the errors of stores. Nothing has changed
 * then. [engine-thread] */
NAR_API nar_status nar_session_go_to(nar_session *session, uint64_t turn, nar_error *error);

/* Goes to the end of the turn before a prompt and plays the prompt again: the new turn is its sibling.
 * `turn`: its number, or NAR_TURN_CURRENT for the last prompt. `tools`: empty, and the narrator is asked
 * again; or a JSON array of toolIds of the last plan of that turn. Then only these tools run, and those
 * that depend on them. The narrator is not asked, and nothing is started for the other tools: their events
 * and results are those that the store has. Only if the plan does not succeed now is the narrator asked for
 * another. What the host patched while a tool ran that runs again is left to that tool.
 * Errors: those of nar_session_go_to; TOOL_MISSING (NAR_NOT_FOUND) if the plan has no such tool;
 * NAR_INVALID_ARGUMENT if the turn is not a prompt (NOT_A_PROMPT) or the session has no narrator
 * (NO_NARRATOR). `handler` may be NULL. [engine-thread] */
NAR_API nar_status nar_session_again(nar_session *session, uint64_t turn, nar_str tools,
                                     const nar_turn_handler *handler, nar_error *error);

/* A flag of nar_session_resume: also run tools that are not repeatable. */
#define NAR_RESUME_REPEATS 1u

/* Resumes a prompt that was interrupted because its host died. Goes to the end of the turn before it and
 * plays the prompt as its sibling. The narrator's answers and the tools that had ended are taken from the
 * store; the other tools run. `turn`: its number, or NAR_TURN_CURRENT for the last one that was interrupted
 * where the session stands. `flags`: 0 or NAR_RESUME_REPEATS. Errors as of nar_session_again;
 * NAR_INVALID_ARGUMENT if the turn was not interrupted, or with the code NOT_REPEATABLE if a tool had begun
 * that is not repeatable (NAR_TOOL_NOT_REPEATABLE, "repeatable": false of a manifest). [engine-thread] */
NAR_API nar_status nar_session_resume(nar_session *session, uint64_t turn, uint32_t flags,
                                      const nar_turn_handler *handler, nar_error *error);

/* A turn that was played as it was kept */
typedef struct nar_replayed {
    uint32_t size;
    uint32_t is_equal;  /* 1: the state at its end is the one that was kept                       */
    uint64_t turn;
    uint64_t kept_hash; /* of the state at its end: "stateHash" of nar_store_read_turns           */
    uint64_t hash;      /* of the state now                                                       */
} nar_replayed;

/* `ended` is called exactly once for each accepted turn. [engine-thread] */
typedef struct nar_replay_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, const nar_replayed *replayed); /* `replayed` dies on return          */
} nar_replay_handler;

/* Plays a turn of the store as it was: goes to the end of the turn before it, and sends the same records
 * with the same numbers, apart from times and from what plugins did. The narrator is not asked and no tool
 * is started; everything else runs as in the original turn. Use it to check that this version of the library
 * computes the same state. A turn that is cancelled is not equal. Replaying a child of the turn that was
 * just replayed does not read the state from the store. For a session with `replays` only
 * (NAR_UNSUPPORTED). Otherwise the errors of nar_session_go_to. [engine-thread] */
NAR_API nar_status nar_session_replay(nar_session *session, uint64_t turn,
                                      const nar_replay_handler *handler, nar_error *error);

/* Returns the turns of the session's store as JSON, in the form of nar_store_read_turns; release it with
 * nar_text_release. Waits until the store has all that happened. NAR_UNSUPPORTED: the session has no
 * store. Otherwise the errors of stores. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_turns(nar_session *session, nar_text **json, nar_error *error);

/* Submits a prompt of the player (spec 004 PlayerPrompt: not empty). While a turn runs, one more
 * prompt may wait; another returns NAR_BUSY. `handler` may be NULL. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_prompt(nar_session *session, nar_str text,
                                      const nar_turn_handler *handler, nar_error *error);

/* Runs a plan (spec 003 §13.3) without a narrator. Tool paths are relative to `folder`; if it is
 * empty, to the story's folder, else to the engine's root. Plans run one after the other, in the
 * order of submission. NAR_INVALID_DOCUMENT: nothing was started, and the details list all faults.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_execute(nar_session *session, nar_str plan, nar_str folder,
                                       const nar_execution_handler *handler, nar_error *error);

/* Cancels the running turn or plan and drops those that wait. Their handlers are called in the next
 * driving call. Tools receive SIGTERM and the grace period.
 * [thread-safe, signal-safe, callback-ok] */
NAR_API nar_status nar_session_cancel(nar_session *session);

/* Returns the state at a JSON Pointer ("" is the whole state) as JSON; release it with
 * nar_text_release. NAR_NOT_FOUND if the pointer leads nowhere; NAR_INVALID_ARGUMENT if it is not a
 * JSON Pointer. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_state(nar_session *session, nar_str pointer, nar_text **json,
                                          nar_error *error);

/* Counts what the state has at a JSON Pointer ("" is the whole state), without copying it: the members
 * of an object, the elements of an array, 0 for any other value. `count` may be NULL, to learn only
 * whether there is a value. NAR_NOT_FOUND if the pointer leads nowhere; NAR_INVALID_ARGUMENT if it is
 * not a JSON Pointer. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_state_size(nar_session *session, nar_str pointer, uint64_t *count,
                                          nar_error *error);

/* Merges a patch of the host into the state (RFC 7396). The history records it with an empty
 * toolId, and sinks receive NAR_KIND_STATE_PATCHED. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_patch_state(nar_session *session, nar_str patch, nar_error *error);

/* Sets a key of the state to a JSON value, which replaces the former one (spec 002 setState;
 * context.h has the rules). `metadata` may be NULL. It is a patch of the host, as above.
 * NAR_INVALID_DOCUMENT: the value is not valid. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_set_state(nar_session *session, nar_str key, nar_str value,
                                         const nar_state_metadata *metadata, nar_error *error);

/* Removes all keys of the state and all metadata. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_clear_state(nar_session *session, nar_error *error);

/* Describes a key of the state, which need not have a value; NULL removes the description.
 * NAR_INVALID_ARGUMENT: key or description is too long, or there are 10,000 keys.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_register_state_metadata(nar_session *session, nar_str key,
                                                       const nar_state_metadata *metadata,
                                                       nar_error *error);

/* Returns what is known about a key, {"description": "…", "formatter": true or false}; release it
 * with nar_text_release. NAR_NOT_FOUND if nothing is. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_get_state_metadata(nar_session *session, nar_str key,
                                                  nar_text **json, nar_error *error);

/* Returns what is known about all keys, a JSON object by key; release it with nar_text_release.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_get_all_state_metadata(nar_session *session, nar_text **json,
                                                      nar_error *error);

/*
 * Returns the state as text for the prompt of a model; release it with nar_text_release. A line for
 * each key, in the order of the state:
 *   key: value (description)
 * or "No state information available." Control characters of keys and descriptions are written as in
 * JSON. The formatter of the key's metadata writes the value.
 * Without one it is JSON, indented by two, with these exceptions: an object or a list whose compact
 * JSON is longer than 200 characters is that JSON cut to 197, and "..."; a number between 1e9 and
 * 99999999999999 whose key contains "time" or "date" in any case is followed by that time, as
 * milliseconds since 1970: startTime: 1732354323045 (2024-11-23T09:32:03.045Z)
 * [engine-thread, callback-ok]
 */
NAR_API nar_status nar_session_format_state_for_prompt(nar_session *session, nar_text **text,
                                                       nar_error *error);

/* Returns the history as JSON, oldest patch first; release it with nar_text_release:
 *   {"limit", "dropped", "patches": [{seq, time, planId, toolId, attempt, patch}]}
 * `dropped` counts patches removed because of the limit. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_history(nar_session *session, nar_text **json,
                                            nar_error *error);

/* Returns the asset registry as JSON; release it with nar_text_release. `path` is absolute.
 *   [{planId, toolId, attempt, seq, assetId, kind, mediaType, path, metadata}]
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_assets(nar_session *session, nar_text **json,
                                           nar_error *error);

/* Like nar_session_read_assets, for the assets whose `seq` is greater than *seq (0: all). Then sets *seq
 * to the greatest of the registry. `json` may be NULL, to learn only that.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_assets_after(nar_session *session, uint64_t *seq,
                                                 nar_text **json, nar_error *error);

/* Returns the session's id, valid as long as the session. [engine-thread, callback-ok] */
NAR_API nar_str nar_session_id(const nar_session *session);

/* Returns the title of the session's story, empty if there is no story; valid as long as the
 * session. [engine-thread, callback-ok] */
NAR_API nar_str nar_session_title(const nar_session *session);

/* Returns what the session's story begins with, the table [opening] of story.toml, as a JSON object:
 *   {"text": "…", "choices": ["…"]}
 * `text` is told before the first prompt; each of `choices` may be the first prompt. Both members
 * are always there. Empty if the story has none; valid as long as the session.
 * [engine-thread, callback-ok] */
NAR_API nar_str nar_session_opening(const nar_session *session);

/* Returns a new random UUID (RFC 9562, version 4) in lower case, for example for the requestId of a
 * plan; release it with nar_text_release. [thread-safe] */
NAR_API nar_status nar_make_uuid(nar_text **uuid, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
