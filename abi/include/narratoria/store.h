/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_STORE_H
#define NARRATORIA_STORE_H
/*
 * A store is a file in which sessions are kept, turn by turn: nar_session_options.store. Its turns are
 * a tree; each has the state of its end, whatever happens after it. The functions below need no engine.
 * Those that read work also while sessions are being played, in this process or in others.
 *
 * The file is an SQLite database (in WAL mode: PATH-wal and PATH-shm belong to it, and PATH-lock says
 * which sessions are being played). SQLite is loaded when the first store is opened.
 *
 * Errors of stores have these codes (nar_error.code):
 *   STORE_UNAVAILABLE  libsqlite3 is not installed                                 NAR_UNSUPPORTED
 *   STORE_IO           the file cannot be opened, read or written                  NAR_IO
 *   STORE_FULL         the disk is full                                            NAR_IO
 *   STORE_LOCKED       the session is being played elsewhere, or the file is busy  NAR_BUSY
 *   STORE_DAMAGED      it is not a store, or its content is broken                 NAR_INVALID_DOCUMENT
 *   STORE_NEWER        a newer version of the library has written it               NAR_UNSUPPORTED
 */
#include "narratoria/base.h"
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the sessions of a store, in the order of their creation, as JSON; release it with
 * nar_text_release:
 *   [{id, created, about: {story, project}, turns, current}]
 * `id` is nar_session_options.id, `created` a time as in ISO 8601, `turns` their number; `story` and
 * `project` are the folders with which it was opened last, or "". [thread-safe] */
NAR_API nar_status nar_store_read_sessions(nar_str store, nar_text **json, nar_error *error);

/* Returns the turns of a session, parents before their children, as JSON; release it with
 * nar_text_release:
 *   {"turns": [{id, parent, kind, prompt, status, durable, stateHash, began, ended, narrative,
 *               choices, names}], "current"}
 *   id         from 1; a number
 *   parent     the turn before it; null: it is the first of its branch
 *   kind       "prompt", "plan", "script"; "host": what the host and plugins patched in between
 *   prompt     the player's; "" for other kinds
 *   status     "completed", "fallback", "cancelled", "timeout"; "running": it runs now;
 *              "interrupted": its host died while it ran
 *   durable    true: its end is in the store
 *   stateHash  of the state at its end, 16 hexadecimal digits: equal for equal states, whatever the
 *              order of their keys; null before its end
 *   began, ended, narrative, choices: as in nar_turn; the last three are null before its end
 *   names      those of nar_store_set_name, sorted
 *   current    the turn that the session goes on from; null: its beginning
 * NAR_NOT_FOUND: the store has no such session. [thread-safe] */
NAR_API nar_status nar_store_read_turns(nar_str store, nar_str session, nar_text **json,
                                        nar_error *error);

/* Values of `turn` other than the numbers of turns */
#define NAR_TURN_CURRENT 0u            /* the turn that the session goes on from, or its beginning */
#define NAR_TURN_BEGINNING UINT64_MAX /* the beginning of the session                               */

/* Returns the state at the end of a turn as JSON; release it with nar_text_release. NAR_NOT_FOUND: the
 * store has no such session, or the session no such turn. NAR_INVALID_ARGUMENT: the turn has not ended;
 * the error says which turn is before it. [thread-safe] */
NAR_API nar_status nar_store_read_state(nar_str store, nar_str session, uint64_t turn,
                                        nar_text **json, nar_error *error);

/* Makes a session that is not being played go on from the end of a turn. Nothing is removed: the next turn makes
 * another branch. Errors: as those of nar_store_read_state, and STORE_LOCKED while it is being played
 * (nar_session_go_to does it there). [thread-safe] */
NAR_API nar_status nar_store_go_to(nar_str store, nar_str session, uint64_t turn, nar_error *error);

/* Gives a turn a name, also while the session is being played. A name belongs to one turn of a session: if
 * another has it, it moves. Errors: as those of nar_store_read_state; NAR_INVALID_ARGUMENT also if the
 * name is empty or not UTF-8, or if the turn is the beginning. [thread-safe] */
NAR_API nar_status nar_store_set_name(nar_str store, nar_str session, nar_str name, uint64_t turn,
                                      nar_error *error);

/* Removes turns of a session that is not being played, with all that was kept of them. `turn`: that one and
 * those that follow it; NAR_TURN_CURRENT: all that do not lead to where the session stands. `removed`: their
 * number; may be NULL. The file becomes smaller, unless another session of it is in use. If the last turns
 * are removed, later ones get their numbers. Errors: as those
 * of nar_store_go_to; NAR_INVALID_ARGUMENT if the session stands at one of them. [thread-safe] */
NAR_API nar_status nar_store_prune(nar_str store, nar_str session, uint64_t turn, uint64_t *removed,
                                   nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
