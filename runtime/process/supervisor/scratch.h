/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SCRATCH_H
#define NARRATORIA_SUPERVISOR_SCRATCH_H
/* The scratch folder of a supervisor: where a sandboxed tool may read and write. Creating and
 * removing a folder is the most expensive part of a sandbox, so an empty one is kept for the next
 * invocation. A running supervisor holds a lock on its folder; a folder without a lock belongs
 * to a supervisor that was killed. */
#include <stdint.h>

/* In the reaper, before it forks. A folder's name is `prefix` (an absolute path) followed by the
 * number of its supervisor. */
void name_scratches(const char *prefix);
/* In a supervisor, before anything else of this file. */
void begin_scratch(uint32_t supervisor);

/* Before an invocation: prepares an empty folder that no other process uses. Returns 0 or errno. */
int take_scratch(void);
/* 0: "TMPDIR=" with the path; 1: "HOME=". The text is final after take_scratch(). */
char *scratch_variable(int number);
const char *scratch_path(void);
/* Changes when another folder has taken the place of the last one. */
unsigned scratch_generation(void);
/* After the invocation: empties the folder. `may_stay`: the folder is kept for the next invocation;
 * set only if the tool could not change its attributes, which would reach the next tool. */
void empty_scratch(int may_stay);
/* When the supervisor ends. */
void remove_scratch(void);

/* In the reaper: removes the folder that a killed supervisor left. */
void remove_scratch_of(uint32_t supervisor);
/* Removes the folders that killed engines of this user left; once per engine. */
void sweep_scratches(void);

#endif
