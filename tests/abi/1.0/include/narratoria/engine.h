/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_ENGINE_H
#define NARRATORIA_ENGINE_H
/*
 * An engine is one event loop and the tools that run on it. It starts no thread: nothing happens
 * unless you drive it, and every callback is made inside a driving call.
 *
 *   until idle      nar_engine_run_until_idle       a script, a command
 *   once            nar_engine_run_once             a loop of your own that may wait
 *   without waiting nar_engine_run_for(…, 0)        after your own poll() said so
 *   for a budget    nar_engine_run_for(…, 500)      a frame loop
 */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In a limit or a time: none at all. (0 stands for the default.) */
#define NAR_NONE UINT32_MAX

/* Times in milliseconds. 0: the default that stands behind it. NAR_NONE: no limit. */
typedef struct nar_times {
    uint32_t size;
    uint32_t try_ms;      /* one try of a tool          30,000 */
    uint32_t plan_ms;     /* one plan                   60,000 */
    uint32_t narrator_ms; /* one answer of a narrator    5,000 */
    uint32_t prompt_ms;   /* a prompt with its replans 300,000 */
    uint32_t grace_ms;    /* from SIGTERM to SIGKILL     2,000; NAR_NONE: SIGKILL at once */
} nar_times;

/* Limits of each tool and of what is kept. 0: the default. NAR_NONE or UINT64_MAX: no limit. */
typedef struct nar_limits {
    uint32_t size;
    uint32_t open_files;       /* RLIMIT_NOFILE of a tool; default: the host's                   */
    uint64_t memory_bytes;     /* RLIMIT_AS; default: none                                       */
    uint64_t file_bytes;       /* RLIMIT_FSIZE; default: none                                    */
    uint32_t cpu_seconds;      /* RLIMIT_CPU; default: none                                      */
    uint32_t history_patches;  /* patches kept in a session's history; default 10,000; at most
                                  64 MiB of them                                               */
    uint64_t line_bytes;       /* the longest event line; default 8 MiB                          */
    /* These two are of a tool with all that it starts, together. They need a cgroup folder
     * (nar_engine_options.cgroup); without one the call that gets them fails. */
    uint64_t resident_bytes;   /* memory.max, without swap; at least 1 MiB; default: none. Over it,
                                  all of the tool is killed: MEMORY_LIMIT                      */
    uint32_t processes;        /* pids.max, threads count as well; default: none. Over it, none
                                  can be made, and a failure that follows is PROCESS_LIMIT     */
    uint32_t reserved;
} nar_limits;

enum { NAR_LOG_DEBUG = 1, NAR_LOG_INFO = 2, NAR_LOG_WARN = 3, NAR_LOG_ERROR = 4 };

/* Everything is copied; a struct of zeros with `size` set is a good start. */
typedef struct nar_engine_options {
    uint32_t size;
    uint32_t jobs;               /* tools at once; 0: the cores in the affinity mask             */
    nar_str root;                /* the tools' working folder; empty: the process's, taken now   */
    const nar_str *environment;  /* "NAME=value" texts, added to what tools get                  */
    uint64_t environment_count;
    const nar_str *allow_paths;  /* tools must lie under one of these; none: anywhere            */
    uint64_t allow_path_count;
    const nar_times *times;      /* NULL: all defaults                                           */
    const nar_limits *limits;    /* NULL: all defaults                                           */
    /* What the engine has to say that belongs to no session; NULL drops it. [engine-thread] */
    void (*log)(void *user, uint32_t level, nar_str message);
    void *user;
    nar_str supervisor;          /* path of narratoria-supervisor; empty: the embedded one       */
    /* Path of a cgroup2 folder that belongs to this process's user; empty: none. Each try of a tool
     * gets a group of its own there, is ended with all that is in it, and may be limited in
     * `processes` and `resident_bytes`. A folder that cannot be used fails the engine's creation
     * with the code CGROUP and a message that says what to do. */
    nar_str cgroup;
} nar_engine_options;

/* Makes an engine that belongs to the calling thread. `options` may be NULL. [thread-safe] */
NAR_API nar_status nar_engine_create(const nar_engine_options *options, nar_engine **engine,
                                     nar_error *error);

/* Ends it with its sessions; tools are ended at once, without grace. Every pointer into it is
 * dead afterwards. NULL is allowed. [engine-thread] */
NAR_API nar_status nar_engine_destroy(nar_engine *engine, nar_error *error);

/* Drives until no turn, plan or ending tool is left. [engine-thread] */
NAR_API nar_status nar_engine_run_until_idle(nar_engine *engine, nar_error *error);

/* Waits for something to happen and handles it; returns at once when the engine is idle.
 * [engine-thread] */
NAR_API nar_status nar_engine_run_once(nar_engine *engine, nar_error *error);

/* Handles what is there, without waiting, for about `budget_us` microseconds at most; 0: one
 * round. What is left waits for the next call. [engine-thread] */
NAR_API nar_status nar_engine_run_for(nar_engine *engine, uint64_t budget_us, nar_error *error);

/* 1 when a turn or plan runs or a tool is still being ended, else 0. [engine-thread, callback-ok] */
NAR_API uint32_t nar_engine_is_busy(const nar_engine *engine);

/* A descriptor that is readable when there is something to do; poll it, never read it. It lives
 * as long as the engine. -1 on misuse. [engine-thread, callback-ok] */
NAR_API int32_t nar_engine_descriptor(const nar_engine *engine);

/* Milliseconds until a timer is due: 0 now, -1 never. Ask again before each poll().
 * [engine-thread, callback-ok] */
NAR_API int32_t nar_engine_timeout(nar_engine *engine);

/* Moves the engine to the calling thread. The caller makes sure that no other thread is inside it
 * and that the old thread's work is visible to this one. [thread-safe] */
NAR_API nar_status nar_engine_adopt_thread(nar_engine *engine, nar_error *error);

/* Runs `function` on the engine thread, in the next driving call, in the order of posting. When it
 * never will (the engine is destroyed), `drop` is called instead; it may be NULL. [thread-safe] */
NAR_API nar_status nar_engine_post(nar_engine *engine, void (*function)(void *user),
                                   void (*drop)(void *user), void *user, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
