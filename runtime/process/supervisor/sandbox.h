/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SANDBOX_H
#define NARRATORIA_SUPERVISOR_SANDBOX_H
/* The sandbox of one invocation: Landlock, a seccomp filter, an empty network namespace and a
 * scratch folder. docs/guarantees.md lists the mechanism of each guarantee. Parts that do not
 * change between invocations are kept. */
#include <stdint.h>
#include <sys/types.h>

#include "protocol.h"

/* Before the clone. Creates everything that the child needs. Returns 0, or errno with *stage
 * set. */
int prepare_sandbox(uint32_t bits, int has_scratch, char *const *readable, uint32_t readable_count,
                    uint32_t *stage);

/* True if the child creates a listener: await_sandbox() must follow the clone. Until then the child
 * must share its descriptors with the supervisor. */
int listens_to_sandbox(void);

/* In the child, between clone and exec. Returns 0, or -errno with *stage set. */
long enter_sandbox(volatile uint32_t *stage);
/* In the child: the only exec that SANDBOX_SUBPROCESS permits. Returns -errno. */
long execute_in_sandbox(const char *path, char **arguments, char **environment);
/* In the child on failure: ends await_sandbox(). */
void give_up_sandbox(void);

/* Blocks until the child has its own descriptors, or has failed. Returns the listener for
 * take_refusal(); -1: none. */
int await_sandbox(pid_t child);
/* Refuses and counts a call that waits for the supervisor. Returns false if the listener is no
 * longer usable. */
int take_refusal(int listener, struct supervisor_ended *ended);

/* After the last process of the invocation has ended: empties the scratch folder. */
void clean_sandbox(struct supervisor_ended *ended);

#endif
