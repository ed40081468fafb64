/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SESSION_H
#define NARRATORIA_SESSION_H
/*
 * A session is one player's game: its state, assets, event stream (event.h) and turns (spec 003
 * §13): prompt → narrator → plan → tools → result → replan.
 * An engine can have any number of sessions. Destroy them before the engine, or with it.
 */
#include "narratoria/context.h"
#include "narratoria/event.h"
#include "narratoria/engine.h"
#include "narratoria/narrator.h"
#include "narratoria/result.h"
#include "narratoria/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The session copies everything. Zeros are defaults. */
typedef struct nar_session_options {
    uint32_t size;
    uint32_t reserved;
    nar_str id;                    /* empty: a new UUID                                          */
    nar_str story;                 /* the story's folder; empty: no story                        */
    nar_str state;                 /* initial state, a JSON object; empty: the [state] of the
                                      story, or {}                                               */
    const nar_narrator *narrator;  /* NULL: `narrator_id` selects one                            */
    const nar_times *times;        /* override the story's, which override the engine's          */
    const nar_str *plugins;        /* ids or paths of plugins to load (plugins.h)                */
    uint64_t plugin_count;
    nar_str narrator_id;           /* a plugin's id, or "template"; empty: the story's. Must be
                                      empty if `narrator` is set.                                */
    uint32_t without_plugins;      /* 1: load no plugins, not even those of the story            */
    uint32_t must_be_new;          /* 1: the store must not have a session with this id yet
                                      (SESSION_EXISTS, NAR_INVALID_ARGUMENT)                     */
    nar_str plugin_settings;       /* JSON object {"plugin id": {settings}}, merged over the
                                      story's [plugins."ID"] (RFC 7396); or empty                */
    nar_str project;               /* the folder of a Namel3ss project, whose tools plans, scripts
                                      and narrators call by name (spec 001); empty: the story's
                                      folder, if it has a .namel3ss/                             */
    nar_str store;                 /* the file that stores the session (store.h); it is created if
                                      it does not exist. Empty: the engine's. See below.         */
    uint32_t durability;           /* a NAR_DURABILITY_…                                         */
    uint32_t replays;              /* 1: the session only replays the turns of the store, without
                                      plugins (nar_session_replay). The store is only read, and must
                                      have the session (SESSION, NAR_NOT_FOUND). Prompts, plans and
                                      scripts are refused (NAR_UNSUPPORTED).                      */
    uint64_t seed;                 /* determines the random numbers that narrators and tools get from
                                      now on; 0: chosen by the session                            */
    uint32_t watches_story;        /* 1: changes of the story's files take effect between two turns.
                                      See below.                                                 */
    uint32_t reserved_2;
} nar_session_options;

/* Values of nar_session_options.durability */
enum {
    NAR_DURABILITY_TURN = 0, /* a turn ends when it is on the disk, some milliseconds later      */
    NAR_DURABILITY_LAZY = 1, /* a turn ends immediately and is written soon afterwards           */
    NAR_DURABILITY_NONE = 2  /* the session is not stored, even if the engine has a store        */
};

/*
 * Sessions in a store
 *
 * `id` identifies the session in its store, so set it. If the store already has the session, it
 * continues from its current turn, with the state, history, assets, choices and key descriptions
 * from that point, and `state` is ignored. However the host ends, no turn that was reported durable
 * is lost, and the turn that was running is in the store as interrupted. Patches that the host and
 * plugins make between two turns are stored in the next driving call.
 *
 * These functions wait for the disk: nar_session_create, nar_session_destroy, nar_session_go_to,
 * nar_session_again, nar_session_resume, nar_session_replay and nar_session_read_turns. The engine
 * also waits before it starts a tool that is not repeatable, and when a plugin goes to a turn
 * (nar_host_turns). Nothing else waits for the disk. The first session with a store starts a thread
 * of the engine. It only writes, never calls the host, has all signals blocked, and ends with the
 * engine. Other calls wait for this thread only if more than 256 MiB are waiting to be written.
 *
 * If the store becomes unwritable, the session continues: the log and a WARNING record say why, and
 * turns are no longer durable. While the disk is full or the store is locked (STORE_FULL,
 * STORE_LOCKED), up to 64 MiB that could not be written are kept in memory; the end of each turn and
 * the functions above try again to write them. After success, all turns are in the store, and the
 * log and a WARNING record say so (STORE_RECOVERED). If that fails until the session is destroyed,
 * the turns are lost, and their ids are used again. After other failures, nothing more is stored
 * until the session is created again.
 */

/*
 * Watching a story (watches_story)
 *
 * When story.toml, prompts.json, state.schema.json, a script or a tool's manifest has changed, the
 * session reads the story again, 50 ms after the last change and between two turns; for a prompt
 * that is submitted earlier, at once, if the story has no fault then. Sinks receive
 * NAR_KIND_STORY_RELOADED. If the story has no fault, its title, opening, fallback texts, and the
 * prompts.json or the script of its narrator are replaced. The state, the saved game, and all other
 * settings of story.toml stay; they change in a new session. If the story has faults, it stays as it
 * is until a change without one.
 * The session watches with inotify and needs no thread. If the system refuses to watch, a warning is
 * logged (STORY_NOT_WATCHED), and the session goes on without watching.
 */

/* Reads the story and creates a session, or continues one from a store. store.h lists the error
 * codes of stores. NAR_INVALID_DOCUMENT if the story or the state has faults; the error's details
 * list them. [engine-thread, callback-ok] */
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
    uint32_t generations; /* requested plans, up to 5; 0: cancelled before it began              */
    uint32_t reserved;
    nar_str narrative;    /* all that was told, also by plans that failed; paragraphs            */
    nar_str choices;      /* JSON array of strings: the choices of the plan and of all its       */
                          /* narrative_choice events, without empty and repeated texts; or [].  */
                          /* A turn that is not completed offers those of the turn before, at   */
                          /* first those of the opening                                         */
    nar_result *result;   /* of the last plan that ran, or NULL; retain it to keep it            */
    uint64_t id;          /* in the session's store, from 1; 0: the session has no store         */
    uint64_t durable_seq; /* all records of the stream up to this one are on the disk            */
    uint32_t durable;     /* 1: this turn is on the disk                                         */
    uint32_t reserved_2;
    nar_str usage;        /* what the narrator's replies took (nar_narrator_usage), a JSON object
                             {"reports": 2, "inputTokens": 1800, "outputTokens": 240,
                              "cachedTokens": 850[, "cost": 0.004, "currency": "EUR"]}; empty: it
                             reported nothing                                                    */
} nar_turn;

/* `ended` is called exactly once for each accepted prompt. [engine-thread] */
typedef struct nar_turn_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, const nar_turn *turn); /* may be NULL; `turn` is valid in the call */
} nar_turn_handler;

/* `ended` is called exactly once for each accepted plan. [engine-thread] */
typedef struct nar_execution_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, nar_result *result); /* may be NULL; retain the result to keep it */
} nar_execution_handler;

/* Goes to the end of a turn of the session's store (store.h has values for `turn`): undo
 * (NAR_TURN_PREVIOUS), redo, or a change of branch. Restores the state, history, assets, key
 * descriptions and the story's fallback counter from that point; sinks receive
 * NAR_KIND_SESSION_MOVED. Nothing is removed: the next prompt starts a new branch. Waits for the
 * disk; reads the state, and the last patches for its history (nar_limits.history_patches).
 * NAR_BUSY: a turn runs or waits. NAR_NOT_FOUND: the turn does not exist, or there is no prompt to
 * undo. NAR_INVALID_ARGUMENT: it has not ended, or is NAR_TURN_CURRENT. NAR_UNSUPPORTED: the session
 * has no store. Otherwise the store errors of store.h. After an error, nothing has changed.
 * [engine-thread] */
NAR_API nar_status nar_session_go_to(nar_session *session, uint64_t turn, nar_error *error);

/* Goes to the end of the turn before a prompt and plays the prompt again: the new turn is a sibling
 * of the old one. `turn` is the number of the old one, or NAR_TURN_CURRENT for the last prompt. If
 * `tools` is empty, the narrator is asked again. Otherwise it is a JSON array of toolIds of the
 * last plan of that turn that has tools: only these tools and their dependents run. The narrator is not asked, and
 * the other tools are not started: their events and results come from the store. The narrator is
 * asked only if the plan now fails, or if it is to be continued ("continue"). Patches that the host made while such a tool ran
 * are not applied again, because the tool may cause them again when it runs. Errors: those of
 * nar_session_go_to; TOOL_MISSING (NAR_NOT_FOUND) if the plan has no such tool;
 * NAR_INVALID_ARGUMENT if the turn is not a prompt (NOT_A_PROMPT) or the session has no narrator
 * (NO_NARRATOR). `handler` may be NULL. [engine-thread] */
NAR_API nar_status nar_session_again(nar_session *session, uint64_t turn, nar_str tools,
                                     const nar_turn_handler *handler, uint64_t *submission,
                                     nar_error *error);

/* Resumes a prompt that was interrupted because its host died. Goes to the end of the preceding
 * turn and plays the prompt as its sibling. The narrator's replies and the tools that had ended are
 * taken from the store; the other tools run. `turn` is its number, or NAR_TURN_CURRENT for the last
 * interrupted one that directly follows the session's current turn. `flags` is 0 or
 * NAR_RESUME_REPEATS. Errors as for nar_session_again; NAR_INVALID_ARGUMENT if the turn was not
 * interrupted, or with the code NOT_REPEATABLE if a tool had begun that is not repeatable
 * (NAR_TOOL_NOT_REPEATABLE, "repeatable": false of a manifest). [engine-thread] */
NAR_API nar_status nar_session_resume(nar_session *session, uint64_t turn, uint32_t flags,
                                      const nar_turn_handler *handler, uint64_t *submission,
                                      nar_error *error);

/* The outcome of a replayed turn */
typedef struct nar_replayed {
    uint32_t size;
    uint32_t is_equal;    /* 1: the state at its end equals the stored one                        */
    uint64_t turn;
    uint64_t stored_hash; /* of the stored state at its end: "stateHash" of nar_store_read_turns  */
    uint64_t hash;        /* of the state now                                                     */
} nar_replayed;

/* `ended` is called exactly once for each accepted turn. [engine-thread] */
typedef struct nar_replay_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*ended)(void *user, const nar_replayed *replayed); /* `replayed` is valid in the call */
} nar_replay_handler;

/* Replays a turn of the store: goes to the end of the preceding turn, and sends the same records
 * with the same numbers, except for times and for effects of plugins. The narrator is not asked and
 * no tool is started; everything else runs as in the original turn. Use it to check that this
 * version of the library computes the same state. A cancelled turn is not equal. Replaying a child
 * of the turn that was just replayed does not read the state from the store. NAR_UNSUPPORTED if
 * the session was created without `replays`. Otherwise the errors of nar_session_go_to.
 * [engine-thread] */
NAR_API nar_status nar_session_replay(nar_session *session, uint64_t turn,
                                      const nar_replay_handler *handler, uint64_t *submission,
                                      nar_error *error);

/* Returns the turns of the session's store as JSON, in the form of nar_store_read_turns; release it with
 * nar_text_release. Waits until the store is up to date. NAR_UNSUPPORTED: the session has no
 * store. Otherwise the store errors of store.h. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_turns(nar_session *session, nar_text **json, nar_error *error);

/* Returns what the player reads now, as JSON; release it with nar_text_release:
 *   {"turn": 3, "narrative": "…", "choices": ["…"][, "ending": "…"]}
 * the narrative, the choices and the ending (as in nar_store_read_turns) of the last turn that was
 * not the host's, and the number of the turn from which the session continues: 0 at the session's
 * beginning or without a store. Show it when you have opened a session that the store already had.
 * At the beginning the narrative is empty, and the choices are those of the opening. While a turn
 * runs, it is the turn before. Does not wait for the disk. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_current(nar_session *session, nar_text **json,
                                            nar_error *error);

/*
 * Submissions
 *
 * A prompt, plan, script or replay runs as a submission, one after another in the order in which they
 * were submitted. Functions that submit set *submission, which may be NULL, to its id: from 1, unique
 * in the session object, never reused. While its records reach the sinks, nar_session_submission
 * returns it.
 */

/* Returns the id of the submission that runs now, or 0. In a sink it is the one that the record
 * belongs to, or 0 for one that belongs to none: a patch between turns, a placeholder of an asset
 * whose renderer gave up later. [engine-thread, callback-ok] */
NAR_API uint64_t nar_session_submission(const nar_session *session);

/* Cancels one submission. If it runs, nar_session_cancel describes how. If it waits, it ends when its
 * turn comes, without running. NAR_NOT_FOUND: it has ended, or never existed.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_cancel_submission(nar_session *session, uint64_t submission,
                                                 nar_error *error);

/* Submits the player's prompt (spec 004 PlayerPrompt: not empty). While a turn of the host's prompt
 * runs, one more may wait: NAR_BUSY if two prompts of the host have not ended yet. The prompts of each
 * plugin are counted separately. `handler` may be NULL. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_prompt(nar_session *session, nar_str text,
                                      const nar_turn_handler *handler, uint64_t *submission,
                                      nar_error *error);

/* Runs a plan (spec 003 §13.3) without a narrator. Tool paths are relative to `folder`; if it is
 * empty, to the story's folder, else to the engine's root. Plans run one after another, in the
 * order of submission. NAR_INVALID_DOCUMENT: nothing was started, and the details list all faults.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_execute(nar_session *session, nar_str plan, nar_str folder,
                                       const nar_execution_handler *handler, uint64_t *submission,
                                       nar_error *error);

/* Cancels the running turn of a prompt, plan or script and drops waiting ones. Their handlers are
 * called in the next driving call. Tools receive SIGTERM and the grace period.
 * [thread-safe, signal-safe, callback-ok] */
NAR_API nar_status nar_session_cancel(nar_session *session);

/* Returns the state at a JSON Pointer ("" is the whole state) as JSON; release it with
 * nar_text_release. NAR_NOT_FOUND if the state has no value there; NAR_INVALID_ARGUMENT if it is
 * not a JSON Pointer. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_state(nar_session *session, nar_str pointer, nar_text **json,
                                          nar_error *error);

/* Counts the members of an object or the elements of an array at a JSON Pointer ("" is the whole
 * state), without copying them; 0 for any other value. If `count` is NULL, only checks that there
 * is a value. NAR_NOT_FOUND if the state has no value there; NAR_INVALID_ARGUMENT if it is not a
 * JSON Pointer. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_state_size(nar_session *session, nar_str pointer, uint64_t *count,
                                          nar_error *error);

/* Merges a patch from the host into the state (RFC 7396). The history records it with an empty
 * toolId, and sinks receive NAR_KIND_STATE_PATCHED. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_patch_state(nar_session *session, nar_str patch, nar_error *error);

/* Sets a key of the state to a JSON value, which replaces the previous one (spec 002 setState;
 * context.h has the rules). `metadata` may be NULL. The write counts as a patch from the host;
 * patch_bytes limits key and value together. NAR_INVALID_DOCUMENT: the value is not valid.
 * [engine-thread, callback-ok] */
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

/* Returns the metadata of a key, {"description": "…", "formatter": true or false}; release it with
 * nar_text_release. NAR_NOT_FOUND if the key has no metadata. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_state_metadata(nar_session *session, nar_str key,
                                                  nar_text **json, nar_error *error);

/* Returns the metadata of all keys, a JSON object by key; release it with nar_text_release.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_all_state_metadata(nar_session *session, nar_text **json,
                                                      nar_error *error);

/*
 * Returns the state as text for a model's prompt; release it with nar_text_release. It has a line
 * for each key, in the order of the state:
 *   key: value (description)
 * or, for an empty state, is "No state information available." Control characters in keys and
 * descriptions are escaped as in JSON. The formatter of the key's metadata writes the value.
 * Without a formatter the value is JSON, indented by two, with these exceptions. If the compact
 * JSON of an object or a list is longer than 200 characters, it is cut to 197 characters and "...".
 * A number between 1e9 and 99999999999999 whose key contains "time" or "date" in any case is
 * followed by that time, as milliseconds since 1970: startTime: 1732354323045
 * (2024-11-23T09:32:03.045Z) [engine-thread, callback-ok]
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

/* Like nar_session_read_assets, for the assets with a `seq` greater than *seq (0: all). Then sets *seq
 * to the greatest one of the registry. If `json` is NULL, only sets *seq.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_read_assets_after(nar_session *session, uint64_t *seq,
                                                 nar_text **json, nar_error *error);

/* Returns the session's id, valid as long as the session. [engine-thread, callback-ok] */
NAR_API nar_str nar_session_id(const nar_session *session);

/* Returns the title of the session's story, empty if there is no story; valid until the story is
 * reloaded (NAR_KIND_STORY_RELOADED) or the session ends. [engine-thread, callback-ok] */
NAR_API nar_str nar_session_title(const nar_session *session);

/* Returns the opening of the session's story, the table [opening] of story.toml, as a JSON object:
 *   {"text": "…", "choices": ["…"]}
 * Show `text` before the first prompt; each of `choices` may be the first prompt. Both members are
 * always present. Empty if the story has no opening; valid until the story is reloaded or the
 * session ends.
 * [engine-thread, callback-ok] */
NAR_API nar_str nar_session_opening(const nar_session *session);

/* Returns a new random UUID (RFC 9562, version 4) in lower case, for example for the requestId of a
 * plan; release it with nar_text_release. [thread-safe] */
NAR_API nar_status nar_make_uuid(nar_text **uuid, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
