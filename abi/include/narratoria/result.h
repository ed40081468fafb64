/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_RESULT_H
#define NARRATORIA_RESULT_H
/*
 * The execution result of a plan (spec 003 §13.5, abi/schemas/result-1.schema.json). A result is
 * immutable and reference-counted. The events of a large result are in an unlinked file; the
 * functions that write the result stream them from it.
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a reference, so that the result outlives the callback that passed it. Each call needs one
 * nar_result_release. [thread-safe] */
NAR_API nar_result *nar_result_retain(nar_result *result);

/* Drops a reference; the last one frees the result. NULL is allowed. [thread-safe] */
NAR_API void nar_result_release(nar_result *result);

/* Returns 1 if no required tool failed, else 0. [thread-safe] */
NAR_API uint32_t nar_result_success(const nar_result *result);

/* Returns 1 if the plan was cancelled, else 0. [thread-safe] */
NAR_API uint32_t nar_result_cancelled(const nar_result *result);

enum { NAR_RESULT_WITHOUT_EVENTS = 1 /* every "events" is [] */ };

/* Writes the result as JSON, piece by piece. `flags` is 0 or NAR_RESULT_…. Several
 * threads may write one result, but not at the same time. [thread-safe] */
NAR_API nar_status nar_result_write(const nar_result *result, uint32_t flags, nar_write_fn write,
                                    void *user, nar_error *error);

/* Writes the result to an open descriptor; the kernel copies spooled events if possible. NAR_IO
 * with the reason if not everything could be written. [thread-safe] */
NAR_API nar_status nar_result_write_to(const nar_result *result, uint32_t flags,
                                       int32_t descriptor, nar_error *error);

/* Returns the whole result as JSON; release it with nar_text_release. [thread-safe] */
NAR_API nar_status nar_result_json(const nar_result *result, uint32_t flags, nar_text **json,
                                   nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
