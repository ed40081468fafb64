/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_BASE_H
#define NARRATORIA_BASE_H
/*
 * The conventions of every header in this folder, said once.
 *
 * 1. Marks in brackets stand behind each function: who may call it.
 *      [engine-thread]  the thread that made the engine, or adopted it (nar_engine_adopt_thread)
 *      [thread-safe]    any thread, at any time between create and destroy
 *      [signal-safe]    also from a signal handler
 *      [callback-ok]    also while one of your own callbacks runs; an [engine-thread] function
 *                       without this mark answers NAR_REENTRANT there
 *    In the headers of plugins (plugin.h) the state of the plugin's life stands beside them:
 *      [entry]          while nar_plugin_entry runs
 *      [init] [deinit]  while the instance's init or deinit runs
 *      [active]         between the two
 * 2. A nar_str is a view: UTF-8, not terminated, alive as long as the call that brings it.
 *    What a call returns for you to keep is a pointer with a release function of its own.
 * 3. A struct that may grow begins with `size`: set it to sizeof the struct. A reader looks at no
 *    field beyond it, and new fields come at the end, so zero always means "as before". The fields
 *    of 1.0 are always there: `size` is looked at for those that came later.
 * 4. Functions answer a nar_status: NAR_OK, or what went wrong. The details are in the nar_error
 *    you passed; NULL is allowed everywhere a nar_error is taken.
 * 5. Nothing here throws, aborts, touches errno, or starts a thread. After fork() calls in the
 *    child on what was made before it answer NAR_FORKED (0 or -1 where there is no status).
 */
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

/* The version of this contract. A larger minor only adds; another major is another contract. */
#define NAR_ABI_MAJOR 1u
#define NAR_ABI_MINOR 0u
#define NAR_ABI_VERSION ((NAR_ABI_MAJOR << 16) | NAR_ABI_MINOR)

/* Text that somebody else owns: UTF-8, `size` bytes, no terminator. {NULL, 0} is the empty text. */
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

/* The same as an initializer, for what lives as long as the program:
 *   static const nar_str names[] = {NAR_STR_INIT("rain"), NAR_STR_INIT("snow")}; */
#define NAR_STR_INIT(literal) {"" literal, sizeof(literal) - 1}

typedef struct nar_engine nar_engine;   /* one loop, one thread: engine.h   */
typedef struct nar_session nar_session; /* state, assets, turns: session.h  */
typedef struct nar_result nar_result;   /* what a plan came to: result.h    */

/* Text that you own. */
typedef struct nar_text nar_text;

/* The text's content, alive until nar_text_release. A NUL follows it, which `size` does not count.
 * `text` may be NULL: the empty text, without one. [thread-safe] */
NAR_API nar_str nar_text_view(const nar_text *text);

/* Gives the text back. NULL is allowed. [thread-safe] */
NAR_API void nar_text_release(nar_text *text);

/* The NAR_ABI_VERSION that the loaded library was built with. [thread-safe] */
NAR_API uint32_t nar_abi_version(void);

/* The release of the loaded library, for example "0.1.0"; lives for ever. [thread-safe] */
NAR_API const char *nar_library_version(void);

#ifdef __cplusplus
}
#endif
#endif
