/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_STORE_H
#define NARRATORIA_STORE_H
/*
 * A store is a file that stores sessions turn by turn (nar_session_options.store). The turns of a
 * session are a tree; each turn has the state at its end. The functions below need no engine. Those
 * that read also work while sessions are being played, in this process or a different one.
 *
 * The file is an SQLite database in WAL mode: PATH-wal and PATH-shm belong to it, and PATH-lock
 * records the sessions that are being played. SQLite is loaded when the first store is opened.
 *
 * Errors of stores have these codes (nar_error.code):
 *   STORE_UNAVAILABLE  libsqlite3 is not installed                                 NAR_UNSUPPORTED
 *   STORE_IO           the file cannot be opened, read or written                  NAR_IO
 *   STORE_REMOVED      the file was removed or replaced during a session           NAR_IO
 *   STORE_FULL         the disk, or the user's quota or limit, is full             NAR_IO
 *   STORE_LOCKED       the session is already being played, or the file is busy    NAR_BUSY
 *   STORE_DAMAGED      it is not a store, or its content is broken                 NAR_INVALID_DOCUMENT
 *   STORE_NEWER        a newer version of the library wrote it                     NAR_UNSUPPORTED
 */
#include "narratoria/base.h"
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the sessions of a store, in the order of their creation, as JSON; release it with
 * nar_text_release:
 *   [{id, created, about: {story, project}, turns, current}]
 * `id` is nar_session_options.id, `created` an ISO 8601 time, `turns` the number of turns; `story`
 * and `project` are the folders with which it was last played, or "". [thread-safe] */
NAR_API nar_status nar_store_read_sessions(nar_str store, nar_text **json, nar_error *error);

/* Returns the turns of a session, parents before their children, as JSON; release it with
 * nar_text_release:
 *   {"turns": [{id, parent, kind, prompt, status, durable, stateHash, began, ended, narrative,
 *               choices, ending, names}], "current"}
 *   id         from 1; a number
 *   parent     the preceding turn; null: the beginning of the session precedes it
 *   kind       "prompt", "plan", "script"; "host": patches of the host and of plugins between turns
 *   prompt     the player's text; "" for other kinds
 *   status     "completed", "fallback", "cancelled", "timeout"; "running": it runs now;
 *              "interrupted": its host died while it ran
 *   durable    true: its end is in the store
 *   stateHash  hash of the state at its end, 16 hexadecimal digits; does not depend on the order of
 *              keys; null before its end
 *   began, ended: the latter is null before its end
 *   narrative  what the player read, as paragraphs: the narratives and what the tools said (the
 *              summary, or the message of the last error of a tool that failed without one); null
 *              before its end
 *   choices    as in nar_turn; null before its end
 *   ending     the name of the story's ending that it reached, or null
 *   names      the names given by nar_store_set_name, sorted
 *   current    the turn from which the session continues; null: its beginning
 * NAR_NOT_FOUND: the store has no such session. [thread-safe] */
NAR_API nar_status nar_store_read_turns(nar_str store, nar_str session, nar_text **json,
                                        nar_error *error);

/* Values of `turn` other than the numbers of turns */
#define NAR_TURN_CURRENT 0u           /* the turn from which the session continues, or its start */
#define NAR_TURN_BEGINNING UINT64_MAX /* the beginning of the session                            */
/* The turn before the last prompt up to the current turn: going there undoes the prompt. Only for
 * nar_session_go_to and nar_host_turns. */
#define NAR_TURN_PREVIOUS (UINT64_MAX - 1)
/* The newest turn of the session, if it is an interrupted prompt that directly follows the current
 * turn; turns of the host do not count. Only for `read` and `resume` of nar_host_turns. */
#define NAR_TURN_INTERRUPTED (UINT64_MAX - 2)

/* A flag of nar_session_resume and nar_host_turns: also run tools that are not repeatable. */
#define NAR_RESUME_REPEATS 1u

/* Returns the state at the end of a turn as JSON; release it with nar_text_release. NAR_NOT_FOUND: the
 * session or the turn does not exist. NAR_INVALID_ARGUMENT: the turn has not ended; the error names
 * the preceding turn. [thread-safe] */
NAR_API nar_status nar_store_read_state(nar_str store, nar_str session, uint64_t turn,
                                        nar_text **json, nar_error *error);

/* Sets the turn from which a session that is not being played continues. Nothing is removed: the
 * next turn starts a new branch. Errors: those of nar_store_read_state, and STORE_LOCKED while the
 * session is being played (call nar_session_go_to then). NAR_TURN_CURRENT is refused.
 * [thread-safe] */
NAR_API nar_status nar_store_go_to(nar_str store, nar_str session, uint64_t turn, nar_error *error);

/* Names a turn, even while the session is being played. A name belongs to one turn of a session: if
 * a different turn has it, it moves to this one. Errors: those of nar_store_read_state;
 * NAR_INVALID_ARGUMENT also if the name is empty, not UTF-8, or a number; if it begins or ends with a
 * blank, or contains two blanks in a row, a tab or a line break; or if the turn is the beginning.
 * [thread-safe] */
NAR_API nar_status nar_store_set_name(nar_str store, nar_str session, nar_str name, uint64_t turn,
                                      nar_error *error);

/* Removes a turn and its descendants, with all their data, from a session that is not being played.
 * NAR_TURN_CURRENT removes all turns that are not on the path to the current turn,
 * NAR_TURN_BEGINNING the session with all its turns. `removed` gets the number of removed turns and
 * may be NULL. The file shrinks, unless a different session in it is in use. If the newest turns
 * are removed, new turns reuse their numbers. Errors: those of nar_store_go_to;
 * NAR_INVALID_ARGUMENT if a turn is named and the current one would be removed, or with
 * NAR_TURN_CURRENT if the session is at its beginning, as all its turns would be. [thread-safe] */
NAR_API nar_status nar_store_prune(nar_str store, nar_str session, uint64_t turn, uint64_t *removed,
                                   nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
