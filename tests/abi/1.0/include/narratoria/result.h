/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_RESULT_H
#define NARRATORIA_RESULT_H
/*
 * The execution result of a plan (spec 003 §13.5, abi/schemas/result-1.schema.json). A large one
 * has its events in an unlinked file; writing it streams them.
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps the result beyond the callback that brought it; each call needs a release. [thread-safe] */
NAR_API nar_result *nar_result_retain(nar_result *result);

/* NULL is allowed. [thread-safe] */
NAR_API void nar_result_release(nar_result *result);

/* 1 when no required tool failed, else 0. [thread-safe] */
NAR_API uint32_t nar_result_success(const nar_result *result);

/* 1 when the plan was cancelled, else 0. [thread-safe] */
NAR_API uint32_t nar_result_cancelled(const nar_result *result);

enum { NAR_RESULT_WITHOUT_EVENTS = 1 /* each "events" is [] */ };

/* Writes the result as JSON, piece by piece. `flags`: 0 or NAR_RESULT_…. Several threads may write
 * the same result, one at a time. [thread-safe] */
NAR_API nar_status nar_result_write(const nar_result *result, uint32_t flags, nar_write_fn write,
                                    void *user, nar_error *error);

/* The same into an open descriptor, in the kernel where it can. NAR_IO with the reason when it
 * cannot be written whole. [thread-safe] */
NAR_API nar_status nar_result_write_to(const nar_result *result, uint32_t flags,
                                       int32_t descriptor, nar_error *error);

/* The whole result as one text, for you to release. [thread-safe] */
NAR_API nar_status nar_result_json(const nar_result *result, uint32_t flags, nar_text **json,
                                   nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
