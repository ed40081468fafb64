/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_STATUS_H
#define NARRATORIA_STATUS_H
/* Status codes and error details. */
#include "narratoria/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t nar_status;

/* Name, value, sentence. Released values never change. A call that returns NAR_OUT_OF_MEMORY has
 * changed nothing, except a driving call (such as nar_engine_run_once): there the operation that
 * lacked memory has failed, and the engine continues when it is driven again. */
#define NAR_STATUS_LIST(X)                                                                        \
    X(NAR_OK, 0, "success")                                                                       \
    X(NAR_INVALID_ARGUMENT, -1, "an argument is missing or out of range")                         \
    X(NAR_INVALID_DOCUMENT, -2, "the document is invalid; details lists all faults")              \
    X(NAR_NOT_FOUND, -3, "there is no such object or value")                                      \
    X(NAR_BUSY, -4, "busy: too much is running or waiting; try again when some of it has ended")   \
    X(NAR_WRONG_THREAD, -5, "the call is allowed on the engine thread only")                      \
    X(NAR_REENTRANT, -6, "the call is not allowed inside a callback")                             \
    X(NAR_FORKED, -7, "the engine was created before a fork; the child cannot use it")            \
    X(NAR_GONE, -8, "the token has expired")                                                      \
    X(NAR_STALE, -9, "a reply was already given")                                                 \
    X(NAR_IO, -10, "the operating system reported an error; the message says which")              \
    X(NAR_OUT_OF_MEMORY, -11, "out of memory")                                                    \
    X(NAR_INTERNAL, -12, "an internal error of the library; please report it")                    \
    X(NAR_DECLINED, -13, "not handled; the next handler may take it")                             \
    X(NAR_UNSUPPORTED, -14, "the other side does not support this version, extension or feature") \
    X(NAR_FAILED, -15, "the plugin failed; its message says why")                                 \
    X(NAR_PENDING, -16, "accepted; the outcome follows")

#define NAR_STATUS_CONSTANT(name, value, text) name = value,
enum { NAR_STATUS_LIST(NAR_STATUS_CONSTANT) NAR_STATUS_LAST_ = -16 };
#undef NAR_STATUS_CONSTANT

/* Returns the name of a status, for example "NAR_BUSY", or "NAR_UNKNOWN". [thread-safe] */
NAR_API const char *nar_status_name(nar_status status);

/* Returns the sentence of a status: static storage. [thread-safe] */
NAR_API const char *nar_status_text(nar_status status);

/*
 * Details of a failure. The caller owns the struct: initialize it with NAR_ERROR_INIT and pass it
 * to any number of calls. An error whose `size` is not set stays untouched. A call that fails replaces the content, one that succeeds empties it. The
 * views are valid until the next call with it. Free the texts with nar_error_clear.
 */
typedef struct nar_error {
    uint32_t size;
    nar_status status;
    nar_str code;    /* for programs, for example "PLAN_CYCLE"; never translated                */
    nar_str message; /* for people: what happened, where, and what to do                        */
    nar_str details; /* JSON or empty; for NAR_INVALID_DOCUMENT an array of faults (validate.h) */
    void *storage;   /* private to the library                                                  */
} nar_error;

#define NAR_ERROR_INIT {(uint32_t)sizeof(nar_error), NAR_OK, {0, 0}, {0, 0}, {0, 0}, 0}

/* Receives one piece of a text. Any status other than NAR_OK stops the writer, which returns it. */
typedef nar_status (*nar_write_fn)(void *user, nar_str piece);

/* Frees the texts and empties the error. NULL is allowed. [thread-safe] */
NAR_API void nar_error_clear(nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
