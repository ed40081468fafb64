/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SCRATCH_H
#define NARRATORIA_SUPERVISOR_SCRATCH_H
/* The scratch folder of a supervisor, in which a sandboxed tool may read and write. Creating and
 * removing a folder is the most expensive part of a sandbox, so an empty one is kept for the next
 * invocation. A running supervisor holds a lock on its folder; a folder without a lock belongs
 * to a killed supervisor. */
#include <stdint.h>

/* In the reaper, before it forks. The name of a folder is `prefix` (an absolute path) followed by
 * the number of its supervisor. */
void name_scratches(const char *prefix);
/* In a supervisor, before all other functions of this file. */
void begin_scratch(uint32_t supervisor);

/* Before an invocation: prepares an empty folder that no other process uses. Returns 0 or errno. */
int take_scratch(void);
/* Returns "TMPDIR=" (0) or "HOME=" (1) with the path. The text is final after take_scratch(). */
char *scratch_variable(int number);
const char *scratch_path(void);
/* Changes when a new folder replaces the last one. */
unsigned scratch_generation(void);
/* After the invocation: empties the folder. `may_stay`: keep the folder for the next invocation;
 * set only if the tool could not change its attributes, which the next tool would see. */
void empty_scratch(int may_stay);
/* When the supervisor ends. */
void remove_scratch(void);

/* In the reaper: removes the folder of a killed supervisor. */
void remove_scratch_of(uint32_t supervisor);
/* Removes the folders of this user's killed engines. Does so once per engine. */
void sweep_scratches(void);

#endif
