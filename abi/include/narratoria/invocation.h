/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_INVOCATION_H
#define NARRATORIA_INVOCATION_H
/*
 * One attempt of a tool that a plugin runs (tool_runner.h, tool.h), and the functions that report
 * its events to the runtime. The plugin passes to `output` the text that a process would print:
 * events of spec 000, one per line. The same rules apply as for a process: the first invalid line
 * is a protocol error and ends the attempt, `done` decides the outcome, and the attempt has a
 * timeout.
 */
#include "narratoria/engine.h"
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Valid until the call that passes it returns. */
typedef struct nar_invocation {
    uint32_t size;
    uint32_t attempt;           /* from 1                                                        */
    nar_str plan_id;
    nar_str tool_id;
    nar_str tool_path;          /* as in the plan, for example "launcher:tools/door"             */
    nar_str plan_folder;        /* base of the plan's relative paths; absolute                   */
    nar_str root;               /* working directory of tools; absolute                          */
    nar_str request;            /* the stdin of a process (spec 000 §6), on one line             */
    const nar_str *environment; /* "NAME=value" strings: the environment a process would get     */
    uint64_t environment_count;
    uint32_t try_ms;            /* timeout of the attempt in milliseconds; NAR_NONE (engine.h): none */
    uint32_t reserved;
    nar_str resources;          /* "resources" of the tool's manifest, for a runner of other
                                   machines: a JSON object on one line that matches
                                   tool-1.schema.json. Empty: none                              */
    const nar_limits *limits;   /* those of a tool's process: the session's, overridden by the
                                   manifest's. The largest value: no limit. Other fields are 0.
                                   NULL: unknown                                                */
} nar_invocation;

/* If the attempt failed, no later one can succeed: the tool is not retried. */
#define NAR_END_PERMANENT 1u

/* How an attempt ended. Zeros: like a process with exit status 0. */
typedef struct nar_invocation_end {
    uint32_t size;
    int32_t exit_status;  /* not 0: failed with EXIT_STATUS                               */
    nar_str error_code;   /* not empty: failed with this code: capital letters, digits and _ after
                             a capital letter, for example "QUEUE_FULL". Any other text is reported
                             and read as TOOL_FAILED.                                             */
    nar_str error;        /* the message for `error_code`; bytes that are not UTF-8 are replaced  */
    uint64_t user_us;     /* processor time in user mode, microseconds; 0: unknown        */
    uint64_t system_us;
    uint64_t resident_bytes; /* largest resident memory; 0: unknown                       */
    nar_str last_output;  /* appended to the output before the end; never refused as NAR_BUSY */
    nar_str details;      /* a JSON object about the attempt, for example where it ran; it becomes
                             "details" of the attempt in the result. Empty: none. Ignored with a log
                             line if it is not an object or exceeds 64 KiB.                      */
    uint32_t flags;       /* NAR_END_…, or 0; refused if another bit is set                     */
    uint32_t reserved;
} nar_invocation_end;

/* A process that the runtime runs in place of the plugin. */
typedef struct nar_command {
    uint32_t size;
    uint32_t reserved;
    const nar_str *arguments; /* the program and its arguments. A program without a slash is looked
                                 up in the PATH of the attempt's environment.                    */
    uint64_t argument_count;
} nar_command;

/* ---- narratoria.invocation/1. A token identifies a running attempt. After the attempt has ended
 * or was abandoned, every call with its token returns NAR_GONE. */
#define NAR_HOST_INVOCATION "narratoria.invocation/1"
typedef struct nar_host_invocation {
    uint32_t size;
    uint32_t reserved;
    /* Appends bytes to the tool's output; any split is allowed, and the bytes are copied. NAR_BUSY
     * if 16 MiB are unread: nothing was written. Retry later, or pass the last lines to `ended` as
     * `last_output`, which is always accepted. [thread-safe, active] */
    nar_status (*output)(const nar_host *host, uint64_t token, nar_str bytes);
    /* Appends bytes to the tool's diagnostics, the equivalent of stderr. They are copied.
     * [thread-safe, active] */
    nar_status (*diagnostics)(const nar_host *host, uint64_t token, nar_str bytes);
    /* Reports the end. `end` may be NULL. Call it exactly once, even after cancel; a second call
     * returns NAR_STALE. [thread-safe, active] */
    nar_status (*ended)(const nar_host *host, uint64_t token, const nar_invocation_end *end);
    /* Hands the attempt over to a process. The runtime starts it with the request on its stdin,
     * and limits, times, ends and measures it like any tool. Call it instead of output and ended,
     * before any output; cancel is not called afterwards. [engine-thread, active] */
    nar_status (*run)(const nar_host *host, uint64_t token, const nar_command *command);
    /* 1: the tool waits for a place to run, for example in the queue of a cluster; 0: it runs. An
     * attempt begins as running, and runs from `run` on. While it waits, its timeout is paused; the
     * timeouts of the plan and the prompt are not. Repeating the same value has no effect.
     * [engine-thread, active] */
    nar_status (*set_waiting)(const nar_host *host, uint64_t token, uint32_t waits);
} nar_host_invocation;

#ifdef __cplusplus
}
#endif
#endif
