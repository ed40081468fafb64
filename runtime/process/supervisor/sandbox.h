/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SANDBOX_H
#define NARRATORIA_SUPERVISOR_SANDBOX_H
/* The sandbox of one invocation: Landlock, seccomp filters and an empty network namespace.
 * docs/guarantees.md says which guarantee rests on what. */
#include <stdint.h>
#include <sys/types.h>

#include "protocol.h"

/* Before the clone. Makes the scratch folder (an absolute path; empty: none) and everything else
 * that the child needs. Returns 0, or errno with *stage set. */
int prepare_sandbox(uint32_t bits, const char *scratch, char *const *readable,
                    uint32_t readable_count, uint32_t *stage);

/* In the child, between clone and exec. Returns 0, or -errno with *stage set. The child must share
 * its descriptors with the supervisor if listens_to_sandbox(); it has its own ones afterwards. */
long enter_sandbox(volatile uint32_t *stage);

/* True if the supervisor has to let the first exec pass: await_sandbox() must follow the clone. */
int listens_to_sandbox(void);
/* Blocks until the child starts its program or has failed. Returns the listener that
 * answer_sandbox() takes; -1: the child has failed. */
int await_sandbox(pid_t child);
/* In the child when it fails: ends await_sandbox(). */
void give_up_sandbox(void);

/* Refuses a program that the sandboxed tool wants to start. False if the listener is of no use any
 * more. */
int refuse_program(int listener);

/* When nothing is left of the invocation: removes the scratch folder. */
void clean_sandbox(struct supervisor_ended *ended);

#endif
