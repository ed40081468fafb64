/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SCRATCH_H
#define NARRATORIA_SUPERVISOR_SCRATCH_H
/* The scratch folder of a supervisor: where a sandboxed tool may read and write. To make a folder and
 * to remove it costs more than anything else of a sandbox, so an empty one is kept for the next
 * invocation. Whoever lives holds a lock on his own; what has no lock was left by a killed engine. */
#include <stdint.h>

/* In the reaper, before it forks. The names of folders are `prefix` (an absolute path) and the
 * number of their supervisor. */
void name_scratches(const char *prefix);
/* In a supervisor, before anything else of this file. */
void begin_scratch(uint32_t supervisor);

/* Before an invocation: an empty folder that is ours alone. Returns 0 or errno. */
int take_scratch(void);
/* 0: "TMPDIR=" with the path; 1: "HOME=". The text is final behind take_scratch(). */
char *scratch_variable(int number);
const char *scratch_path(void);
/* Changes when another folder has taken the place of the last one. */
unsigned scratch_generation(void);
/* Behind the invocation: empties the folder. `may_stay`: the tool could not change its attributes, so
 * that nothing of one invocation gets to the next. */
void empty_scratch(int may_stay);
/* When the supervisor ends. */
void remove_scratch(void);

/* In the reaper: removes what a killed supervisor has left. */
void remove_scratch_of(uint32_t supervisor);
/* Removes what killed engines of this user have left; once per engine. */
void sweep_scratches(void);

#endif
