/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_LOOP_H
#define NARRATORIA_HOST_LOOP_H
/* Access to the engine's loop, so that a plugin can wait without a thread of its own. Timers, polls
 * and posted functions that remain when the instance ends are removed before deinit. */
#include "narratoria/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- narratoria.post/1 */
#define NAR_HOST_POST "narratoria.post/1"
typedef struct nar_host_post {
    uint32_t size;
    uint32_t reserved;
    /* Queues `function` for the engine thread; queued functions run in order. If the instance ends
     * first, `drop` is called instead; it may be NULL. After NAR_GONE neither is called. A function
     * posted in init runs once the instance is active. Use it to start the plugin's own work, such
     * as listening on a socket. [thread-safe, init, active] */
    nar_status (*post)(const nar_host *host, void (*function)(void *user),
                       void (*drop)(void *user), void *user);
} nar_host_post;

/* ---- narratoria.timer/1 */
#define NAR_HOST_TIMER "narratoria.timer/1"
typedef struct nar_host_timer {
    uint32_t size;
    uint32_t reserved;
    /* Calls `on_time` once, after `milliseconds`. *timer identifies the timer and is never 0. A
     * timer does not keep a turn running. Each driving call of the host runs at most one
     * round of timers: a timer that is started inside `on_time` waits for the next call, even with
     * a delay of 0. [engine-thread, active] */
    nar_status (*start)(const nar_host *host, uint32_t milliseconds, void (*on_time)(void *user),
                        void *user, uint64_t *timer);
    /* Cancels a timer. NAR_NOT_FOUND if it has fired or never existed. [engine-thread, active] */
    nar_status (*stop)(const nar_host *host, uint64_t timer);
} nar_host_timer;

/* ---- narratoria.poll/1 */
#define NAR_HOST_POLL "narratoria.poll/1"
/* The conditions to wait for, as bits. */
#define NAR_POLL_READABLE 1u /* data can be read, or the other side has closed */
#define NAR_POLL_WRITABLE 2u /* data can be written */
/* Only passed to on_ready: the descriptor was closed before stop, and the poll has ended. */
#define NAR_POLL_LOST 4u
typedef struct nar_host_poll {
    uint32_t size;
    uint32_t reserved;
    /* Calls `on_ready` with the conditions of `events` (NAR_POLL_… joined by |) that are ready.
     * Level-triggered: it is called again while the descriptor stays ready. Spurious calls are
     * possible, so read and write without blocking. An error condition, for example a refused
     * connection, is reported as all of `events`. `events` may be 0 and set later by change;
     * undefined bits return NAR_INVALID_ARGUMENT. Keep the descriptor open until stop. If it is
     * closed earlier, or its number is reused for a different file, `on_ready` is called once with
     * only NAR_POLL_LOST, the poll has ended, and the host logs that. NAR_IO for a regular file, and
     * for a descriptor that this plugin already polls. A poll that has ended, or whose descriptor
     * was closed, does not count, so a reused number can be polled immediately.
     * NAR_INVALID_ARGUMENT for a descriptor that is not open. [engine-thread, active] */
    nar_status (*start)(const nar_host *host, int32_t descriptor, uint32_t events,
                        void (*on_ready)(void *user, uint32_t events), void *user, uint64_t *poll);
    /* Replaces `events` of a poll; allowed inside on_ready. NAR_NOT_FOUND if the poll does not
     * exist; NAR_IO if its descriptor has been closed. [engine-thread, active] */
    nar_status (*change)(const nar_host *host, uint64_t poll, uint32_t events);
    /* Stops polling; allowed inside on_ready. NAR_NOT_FOUND if the poll does not exist; NAR_IO
     * if the poll has already ended because its descriptor was closed. [engine-thread, active] */
    nar_status (*stop)(const nar_host *host, uint64_t poll);
} nar_host_poll;

#ifdef __cplusplus
}
#endif
#endif
