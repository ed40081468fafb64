/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_STATUS_H
#define NARRATORIA_STATUS_H
/* What a call answers, and the details behind it. */
#include "narratoria/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t nar_status;

/* name, value, what it says. Values never change once shipped. */
#define NAR_STATUS_LIST(X)                                                                        \
    X(NAR_OK, 0, "done")                                                                          \
    X(NAR_INVALID_ARGUMENT, -1, "an argument is missing or out of range")                         \
    X(NAR_INVALID_DOCUMENT, -2, "a document breaks its rules; details lists every fault")         \
    X(NAR_NOT_FOUND, -3, "what was asked for is not there")                                       \
    X(NAR_BUSY, -4, "one prompt may wait while a turn runs, and one is waiting already")          \
    X(NAR_WRONG_THREAD, -5, "the call belongs on the engine thread")                              \
    X(NAR_REENTRANT, -6, "the call is not allowed inside a callback")                             \
    X(NAR_FORKED, -7, "the engine was made before a fork; the child cannot use it")               \
    X(NAR_GONE, -8, "the token belongs to something that has ended")                              \
    X(NAR_STALE, -9, "the reply was given already")                                 \
    X(NAR_IO, -10, "the operating system refused; the message says what and why")                 \
    X(NAR_OUT_OF_MEMORY, -11, "memory ran out; nothing was changed")                              \
    X(NAR_INTERNAL, -12, "a fault of the library itself; please report it")                       \
    X(NAR_DECLINED, -13, "not taken; somebody else may")                                          \
    X(NAR_UNSUPPORTED, -14, "the other side does not know this version, extension or ability")    \
    X(NAR_FAILED, -15, "the plugin could not do it; its message says why")

#define NAR_STATUS_CONSTANT(name, value, text) name = value,
enum { NAR_STATUS_LIST(NAR_STATUS_CONSTANT) NAR_STATUS_LAST_ = -15 };
#undef NAR_STATUS_CONSTANT

/* The name of a status, for example "NAR_BUSY"; "NAR_UNKNOWN" for any other number. [thread-safe] */
NAR_API const char *nar_status_name(nar_status status);

/* The sentence that belongs to it; lives for ever. [thread-safe] */
NAR_API const char *nar_status_text(nar_status status);

/*
 * The details of a failure. The struct is yours: start it with NAR_ERROR_INIT, pass it to any
 * number of calls (each that fails replaces the content, one that succeeds leaves it empty), and
 * give the texts back with nar_error_clear. The views live until the next of these.
 */
typedef struct nar_error {
    uint32_t size;
    nar_status status;
    nar_str code;    /* for programs, for example "PLAN_CYCLE"; never translated            */
    nar_str message; /* for people: what happened, where, what to do                        */
    nar_str details; /* JSON, or empty; NAR_INVALID_DOCUMENT: an array of faults, validate.h */
    void *storage;   /* the library's; do not touch                                         */
} nar_error;

#define NAR_ERROR_INIT {(uint32_t)sizeof(nar_error), NAR_OK, {0, 0}, {0, 0}, {0, 0}, 0}

/* Takes a piece of a text; anything but NAR_OK stops the writing and is what the writer answers. */
typedef nar_status (*nar_write_fn)(void *user, nar_str piece);

/* Frees the texts and leaves an empty error. NULL is allowed. [thread-safe] */
NAR_API void nar_error_clear(nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
