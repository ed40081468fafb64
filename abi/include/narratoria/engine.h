/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_ENGINE_H
#define NARRATORIA_ENGINE_H
/*
 * An engine is one event loop and the tools that run on it. It starts no threads. Nothing happens
 * unless the caller drives the loop, and all callbacks run inside a driving call:
 *
 *   until idle       nar_engine_run_until_idle       a script, a command
 *   once, waiting    nar_engine_run_once             inside the host's own loop
 *   without waiting  nar_engine_run_for(…, 0)        after poll() reported nar_engine_descriptor
 *   within a budget  nar_engine_run_for(…, 500)      a frame loop
 *
 * An exception thrown by a C++ host's callback is caught and logged with its text; a sink that
 * threw is detached. The driving call finishes its work and then returns NAR_FAILED with the code
 * CALLBACK_THREW. If a callback throws outside a driving call, the next driving call reports it.
 *
 * Lifecycle: create, use from one thread at a time (the engine thread), destroy. A process may have
 * several engines.
 */
#include "narratoria/limits.h"
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No limit. (0 selects the default.) */
#define NAR_NONE UINT32_MAX

/* Timeouts in milliseconds. 0 selects the default in the comment of each field; NAR_NONE disables
 * it. */
typedef struct nar_times {
    uint32_t size;
    uint32_t try_ms;      /* one attempt of a tool           30,000 */
    uint32_t plan_ms;     /* one plan                        60,000 */
    uint32_t narrator_ms; /* one reply of a narrator          5,000 */
    uint32_t prompt_ms;   /* one prompt with its replans    300,000 */
    uint32_t grace_ms;    /* from SIGTERM to SIGKILL          2,000; NAR_NONE: SIGKILL at once */
    /* For a narrator that tells its narrative in pieces (nar_narrator_delta): the time to the first
     * piece or the reply, and from each piece to the next one or the reply. Default: only
     * narrator_ms. */
    uint32_t narrator_first_ms;
    uint32_t narrator_between_ms;
} nar_times;

/* Resource limits, as limits.h lists them. 0 selects the default; NAR_NONE or UINT64_MAX means no limit. */
typedef struct nar_limits {
    uint32_t size;
    uint32_t open_files;       /* RLIMIT_NOFILE of a tool; default: the host's                   */
    uint64_t memory_bytes;     /* RLIMIT_AS of a tool; default: none                             */
    uint64_t file_bytes;       /* RLIMIT_FSIZE of a tool; default: none                          */
    uint32_t cpu_seconds;      /* RLIMIT_CPU of a tool; default: none                            */
    uint32_t history_patches;  /* patches kept in a session's history; default 10,000, and at
                                  most 64 MiB of them                                            */
    uint64_t line_bytes;       /* longest event line; default 8 MiB                              */
    /* The next two apply to a tool and all its descendants together. They require a cgroup folder
     * (nar_engine_options.cgroup); without one the call that receives them fails. */
    uint64_t resident_bytes;   /* memory.max, without swap; at least 1 MiB; default: none. A tool
                                  that exceeds it is killed with its descendants: MEMORY_LIMIT   */
    uint32_t processes;        /* pids.max, threads included; default: none. At the limit fork
                                  fails in the tool; a failure that follows is PROCESS_LIMIT     */
    uint32_t reserved;
    /* A patch that exceeds one of the next two is not merged. If a tool sent it, its attempt is
     * ended and fails with PATCH_TOO_LARGE or STATE_TOO_LARGE, which is also a warning in the
     * stream. For the host or a plugin, the call returns NAR_INVALID_ARGUMENT. A patch that only
     * removes is always accepted. */
    uint64_t patch_bytes;      /* one patch as JSON; default 8 MiB                               */
    uint64_t state_bytes;      /* approximate size of the state as JSON; default 256 MiB         */
    /* Limits of each Nuwa Script (spec 002). Exceeding one ends the script with its own error:
     * StepLimitError … (docs/nuwa-script.md). */
    uint64_t script_steps;        /* operations; default 100,000,000                             */
    uint64_t script_calls;        /* CALLs; default 1,000,000                                    */
    uint64_t script_source_bytes; /* the source; default 16 MiB, at most 1 GiB                   */
    uint64_t script_value_bytes;  /* one value as JSON (approximate), and the scope of
                                     nar_script_end; default 16 MiB, at most 1 GiB               */
    uint64_t script_memory_bytes; /* all live values, and the records of the CALLs;
                                     default 256 MiB                                             */
    uint64_t script_output_bytes; /* all printed lines; default 16 MiB                           */
    uint32_t script_depth;        /* nesting of the source and of values; default and at most 512 */
    uint32_t script_time_ms;      /* from the first step, waiting for tools included; default 60 s */
} nar_limits;

enum { NAR_LOG_DEBUG = 1, NAR_LOG_INFO = 2, NAR_LOG_WARN = 3, NAR_LOG_ERROR = 4 };

/* One line of the log. The views are valid until the log function returns. */
typedef struct nar_log_line {
    uint32_t size;
    uint32_t level;     /* NAR_LOG_…                                                             */
    nar_str message;    /* UTF-8, without a newline at its end                                   */
    nar_str session_id; /* of the session that the line concerns, or empty                       */
    nar_str code;       /* for programs: set if the event stream reports it too, else empty.
                           "FALLBACK": a prompt ended with the fallback text.
                           Else the code of a warning, or the errorCode of a tool that failed    */
} nar_log_line;

/* Values of nar_engine_options.output_mode: lifetime of the folder for a session's tool files */
enum {
    NAR_OUTPUT_REMOVE = 0, /* the folder is removed with the session                             */
    NAR_OUTPUT_KEEP = 1,   /* the folder stays if it contains an asset of the session. A later
                              session removes it when it is created a day later or after, or when
                              more than 100 folders exist and this is one of the oldest          */
    NAR_OUTPUT_NONE = 2    /* sessions have no such folder                                       */
};

/* The engine copies everything. Start from a struct of zeros with `size` set. */
typedef struct nar_engine_options {
    uint32_t size;
    uint32_t jobs;               /* most tools at a time; 0: the cores in the affinity mask      */
    nar_str root;                /* working directory of tools; empty: the current one, read now */
    const nar_str *environment;  /* "NAME=value" strings, added to the tools' environment        */
    uint64_t environment_count;
    const nar_str *allow_paths;  /* tools must be in one of these folders; none: anywhere        */
    uint64_t allow_path_count;
    const nar_times *times;      /* NULL: defaults                                               */
    const nar_limits *limits;    /* NULL: defaults                                               */
    /* Receives the log of the engine and its sessions. NULL: warnings and errors go to stderr.
     * [engine-thread] */
    void (*log)(void *user, const nar_log_line *line);
    void *user;
    nar_str supervisor;          /* path of narratoria-supervisor; empty: the embedded one       */
    /* Path of a cgroup2 folder that the process's user owns; empty: none. Each attempt of a tool
     * runs in its own group in this folder. The group is killed as a whole and can be limited by
     * `processes` and `resident_bytes`. If the folder is not usable, nar_engine_create fails with
     * the code CGROUP and a message that says what to do. */
    nar_str cgroup;
    /* With allow_paths: schemes of tool runners whose tools may run, regardless of the text after
     * "scheme:". With any other scheme, "scheme:rest" may run only if everything in it that could
     * be a path is in allow_paths. */
    const nar_str *allow_schemes;
    uint64_t allow_scheme_count;
    /* The folder in which each session gets a folder for the files of its tools, which they find in
     * NARRATORIA_OUTPUT_DIR. It must belong to the user and be inaccessible to other users. Empty:
     * narratoria-UID in TMPDIR, or in /tmp. It is created if it does not exist. */
    nar_str output;
    uint32_t output_mode;      /* a NAR_OUTPUT_…                                                 */
    uint32_t reserved;
    /* Guarantees that a sandbox enforces for every tool: "no_network,no_subprocess",
     * "secrets_allowed=NAME:NAME", "all" (docs/guarantees.md lists them); empty: none. A tool is
     * not started if one of them cannot be enforced for it (GUARANTEE_UNAVAILABLE). */
    nar_str sandbox;
    /* The store (store.h) for sessions whose options do not name one, relative to `root`; empty:
     * none. */
    nar_str store;
} nar_engine_options;

/* Creates an engine. The calling thread becomes its engine thread. `options` may be NULL.
 * [thread-safe] */
NAR_API nar_status nar_engine_create(const nar_engine_options *options, nar_engine **engine,
                                     nar_error *error);

/* Destroys the engine and its sessions. Running tools are killed without a grace period. All
 * pointers into the engine become invalid. NULL is allowed. [engine-thread] */
NAR_API nar_status nar_engine_destroy(nar_engine *engine, nar_error *error);

/* Drives the loop until no turn runs, no tool is being ended and no rendering is pending
 * (asset_renderer.h). [engine-thread] */
NAR_API nar_status nar_engine_run_until_idle(nar_engine *engine, nar_error *error);

/* Waits for the next events and handles them. Returns at once if the engine is idle.
 * [engine-thread] */
NAR_API nar_status nar_engine_run_once(nar_engine *engine, nar_error *error);

/* Handles pending events without waiting, for about `budget_us` microseconds; 0 means one round of
 * the loop. The rest is left to the next call. [engine-thread] */
NAR_API nar_status nar_engine_run_for(nar_engine *engine, uint64_t budget_us, nar_error *error);

#define NAR_MAX_PREPARED 256u
/* Starts supervisor processes until `supervisors` are ready, and keeps that many from now on, so that
 * the first tools start as fast as later ones. At most NAR_MAX_PREPARED. Does not wait for them.
 * Calling it is never necessary. NAR_IO if one cannot be started. [engine-thread] */
NAR_API nar_status nar_engine_prepare(nar_engine *engine, uint32_t supervisors, nar_error *error);

/* Returns 1 while a turn (of a prompt, plan or script) runs, a tool is being ended or a rendering is
 * pending, else 0; 0 on misuse. [engine-thread, callback-ok] */
NAR_API uint32_t nar_engine_is_busy(const nar_engine *engine);

/* Returns a descriptor that is readable when the loop has work to do. Poll it, but do not read
 * from it. It is valid as long as the engine. -1 on misuse. [engine-thread, callback-ok] */
NAR_API int32_t nar_engine_descriptor(const nar_engine *engine);

/* Returns the milliseconds until the next timer: 0 if one is due, -1 without a timer or on
 * misuse. Call it again before each poll(). [engine-thread, callback-ok] */
NAR_API int32_t nar_engine_timeout(nar_engine *engine);

/* Makes the calling thread the engine thread. The caller ensures that no other thread uses the
 * engine and that the previous thread's writes are visible to this one. [thread-safe] */
NAR_API nar_status nar_engine_adopt_thread(nar_engine *engine, nar_error *error);

/* Queues `function` for the engine thread. The next driving call runs queued functions in order.
 * If the engine is destroyed first, `drop` is called instead; it may be NULL. [thread-safe] */
NAR_API nar_status nar_engine_post(nar_engine *engine, void (*function)(void *user),
                                   void (*drop)(void *user), void *user, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
