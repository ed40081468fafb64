/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_PROBE_H
#define NARRATORIA_SUPERVISOR_PROBE_H
/* A program that runs in a sandbox, attempts the forbidden acts, and writes the names of those that
 * were not refused to standard output, one per line. It is part of the supervisor program, so it is
 * always available. */

#define PROBE_NAME "narratoria-probe"

/* Arguments: PROBE_NAME, the bits of the sandbox. The scratch folder is in TMPDIR. */
int probe(char **arguments);

#endif
