/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_LOOP_H
#define NARRATORIA_HOST_LOOP_H
/* The engine's loop, for a plugin that waits for something: nothing here needs a thread of its own.
 * What is still there when the instance ends is taken away before deinit. */
#include "narratoria/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- narratoria.post/1 */
#define NAR_HOST_POST "narratoria.post/1"
typedef struct nar_host_post {
    uint32_t size;
    uint32_t reserved;
    /* Calls `function` on the engine thread, in the order of posting. When it never will (the
     * instance ends), `drop` is called instead; it may be NULL. NAR_GONE: neither will be called.
     * What init posts is called when the instance is active: the way to begin something by itself,
     * to listen on a socket for example. [thread-safe, init, active] */
    nar_status (*post)(const nar_host *host, void (*function)(void *user),
                       void (*drop)(void *user), void *user);
} nar_host_post;

/* ---- narratoria.timer/1 */
#define NAR_HOST_TIMER "narratoria.timer/1"
typedef struct nar_host_timer {
    uint32_t size;
    uint32_t reserved;
    /* Calls `on_time` once, after that many milliseconds; *timer names it, never 0.
     * A timer keeps no turn or plan waiting. [engine-thread, active] */
    nar_status (*start)(const nar_host *host, uint32_t milliseconds, void (*on_time)(void *user),
                        void *user, uint64_t *timer);
    /* NAR_NOT_FOUND when it has run already, or never was. [engine-thread, active] */
    nar_status (*stop)(const nar_host *host, uint64_t timer);
} nar_host_timer;

/* ---- narratoria.poll/1 */
#define NAR_HOST_POLL "narratoria.poll/1"
typedef struct nar_host_poll {
    uint32_t size;
    uint32_t reserved;
    /* Calls `on_readable` whenever the descriptor is readable or was closed on the other side,
     * rarely also when it no longer is, so it should not block. It must stay open until stop; a
     * regular file answers NAR_IO. [engine-thread, active] */
    nar_status (*start)(const nar_host *host, int32_t descriptor, void (*on_readable)(void *user),
                        void *user, uint64_t *poll);
    /* Also from on_readable itself. NAR_NOT_FOUND when there is none. [engine-thread, active] */
    nar_status (*stop)(const nar_host *host, uint64_t poll);
} nar_host_poll;

#ifdef __cplusplus
}
#endif
#endif
