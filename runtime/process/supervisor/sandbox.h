/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SANDBOX_H
#define NARRATORIA_SUPERVISOR_SANDBOX_H
/* The sandbox of one invocation: Landlock, a seccomp filter, an empty network namespace and a scratch
 * folder. docs/guarantees.md says which guarantee rests on what. What does not change from one
 * invocation to the next is kept. */
#include <stdint.h>
#include <sys/types.h>

#include "protocol.h"

/* Before the clone. Makes what the child needs. Returns 0, or errno with *stage set. */
int prepare_sandbox(uint32_t bits, int has_scratch, char *const *readable, uint32_t readable_count,
                    uint32_t *stage);

/* True if the child hands over a listener: await_sandbox() must follow the clone. The child must share
 * its descriptors with the supervisor until then. */
int listens_to_sandbox(void);

/* In the child, between clone and exec. Returns 0, or -errno with *stage set. */
long enter_sandbox(volatile uint32_t *stage);
/* The only exec that SANDBOX_SUBPROCESS lets pass. Returns -errno. */
long execute_in_sandbox(const char *path, char **arguments, char **environment);
/* In the child when it fails: ends await_sandbox(). */
void give_up_sandbox(void);

/* Blocks until the child has its own descriptors, or has failed. Returns the listener that
 * take_refusal() takes; -1: there is none. */
int await_sandbox(pid_t child);
/* Refuses a call that the kernel holds, and counts it. False if the listener is of no use any more. */
int take_refusal(int listener, struct supervisor_ended *ended);

/* When nothing is left of the invocation: empties the scratch folder. */
void clean_sandbox(struct supervisor_ended *ended);

#endif
