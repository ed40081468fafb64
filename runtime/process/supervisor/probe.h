/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_PROBE_H
#define NARRATORIA_SUPERVISOR_PROBE_H
/* A program that runs in a sandbox, tries what the sandbox forbids, and writes the names of the
 * acts that were not refused to standard output, one a line. It is the supervisor's own program, so
 * that it is always there. */

#define PROBE_NAME "narratoria-probe"

/* Arguments: PROBE_NAME, the bits of the sandbox. The scratch folder is in TMPDIR. */
int probe(char **arguments);

#endif
