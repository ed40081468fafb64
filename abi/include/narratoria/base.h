/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_BASE_H
#define NARRATORIA_BASE_H
/*
 * Conventions of all headers in this folder.
 *
 * 1. Thread marks. The brackets at the end of each function's comment say who may call it:
 *      [engine-thread]  the thread that created the engine, or adopted it with
 *                       nar_engine_adopt_thread
 *      [thread-safe]    any thread, at any time between create and destroy
 *      [signal-safe]    also from a signal handler
 *      [callback-ok]    also inside a callback. An [engine-thread] function without this mark
 *                       returns NAR_REENTRANT there.
 *    Headers for plugins (plugin.h) add the lifecycle state in which a call is allowed:
 *      [entry]          while nar_plugin_entry runs
 *      [init] [deinit]  while the instance's init or deinit runs
 *      [active]         after init has returned and before deinit is called
 * 2. Ownership. A nar_str is a view: UTF-8, not terminated, valid during the call that passes it.
 *    If the caller owns a returned object, it is a pointer with its own release function.
 * 3. Growth. A struct that can grow begins with `size`; set it to sizeof the struct. Everything in
 *    these headers exists since 1.0, except where a comment says "since 1.N": check `size` before
 *    you access such a field. New fields are appended, and zero in a new field means the behaviour
 *    from before the field existed. A struct that is smaller than in 1.0 is refused. Set `reserved`
 *    fields to 0, and do not use bits of `flags` that are not defined: what is set there is refused
 *    too, because a later version may give it a meaning.
 * 4. Errors. Functions return a nar_status. The details are in the nar_error that the caller
 *    passed; every nar_error parameter may be NULL.
 * 5. Guarantees. No function throws, changes errno or starts a thread, with one exception: the
 *    first session with a store starts a thread (session.h). No function ends the process: wrong
 *    arguments, wrong documents, misbehaving tools and a lack of descriptors return a status. The
 *    library cannot protect itself if the process corrupts the library's memory, has no memory left
 *    for the event loop, or closes the engine's descriptors: the next driving call or
 *    nar_engine_destroy then aborts. A daemon that closes all descriptors must do so before it
 *    creates an engine. After fork(), calls in the child on objects that were created before return
 *    NAR_FORKED (0 or -1 if the function does not return a status).
 */
#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "Narratoria runs on Linux x86-64 and Linux aarch64. It does not support this platform."
#endif

#include <stdint.h>

#if defined(__GNUC__)
#define NAR_API __attribute__((visibility("default")))
#define NAR_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define NAR_API
#define NAR_PLUGIN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this ABI. A new minor version only adds; a new major version is incompatible. */
#define NAR_ABI_MAJOR 1u
#define NAR_ABI_MINOR 0u
#define NAR_ABI_VERSION ((NAR_ABI_MAJOR << 16) | NAR_ABI_MINOR)

/* A view that does not own its text: UTF-8, `size` bytes, no terminator. {NULL, 0} is empty. */
typedef struct nar_str {
    const char *data;
    uint64_t size;
} nar_str;

/* A nar_str of a string literal: NAR_STR("tools") */
#ifdef __cplusplus
#define NAR_STR(literal) (nar_str{"" literal, sizeof(literal) - 1})
#else
#define NAR_STR(literal) ((nar_str){"" literal, sizeof(literal) - 1})
#endif

/* The same as a constant initializer, for static storage:
 *   static const nar_str names[] = {NAR_STR_INIT("rain"), NAR_STR_INIT("snow")}; */
#define NAR_STR_INIT(literal) {"" literal, sizeof(literal) - 1}

typedef struct nar_engine nar_engine;   /* one loop, one thread: engine.h   */
typedef struct nar_session nar_session; /* state, assets, turns: session.h  */
typedef struct nar_result nar_result;   /* outcome of a plan: result.h       */

/* Text that the caller owns. Release it with nar_text_release. */
typedef struct nar_text nar_text;

/* Returns the content, valid until nar_text_release. A NUL byte follows it; `size` does not count
 * it. If `text` is NULL, the view is {NULL, 0}. [thread-safe] */
NAR_API nar_str nar_text_view(const nar_text *text);

/* Frees the text. NULL is allowed. [thread-safe] */
NAR_API void nar_text_release(nar_text *text);

/* Returns the NAR_ABI_VERSION that the loaded library was built with. [thread-safe] */
NAR_API uint32_t nar_abi_version(void);

/* Returns the version of the loaded library, for example "0.1.0": static storage. [thread-safe] */
NAR_API const char *nar_library_version(void);

#ifdef __cplusplus
}
#endif
#endif
