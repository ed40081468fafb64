/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_INVOCATION_H
#define NARRATORIA_INVOCATION_H
/*
 * One try of a tool that a plugin runs (tool_runner.h, tool.h), and the way its events come back.
 * What is written to `output` is what a process would print: events of spec 000, one a line. All
 * that holds for a process holds here: the first broken line is a protocol error and ends the
 * attempt, `done` decides, the time of a try is limited.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lives until the call that brings it returns. */
typedef struct nar_invocation {
    uint32_t size;
    uint32_t attempt;           /* 1, 2 …                                                        */
    nar_str plan_id;
    nar_str tool_id;
    nar_str tool_path;          /* as the plan says it, for example "launcher:tools/door"        */
    nar_str plan_folder;        /* where the plan's relative paths begin; absolute               */
    nar_str root;               /* the tools' working folder; absolute                           */
    nar_str request;            /* what a process finds on its stdin (spec 000 §6), one line     */
    const nar_str *environment; /* NAME=value, what a process would get                          */
    uint64_t environment_count;
    uint32_t try_ms;            /* the time of a try; 0: none                                    */
    uint32_t reserved;
} nar_invocation;

/* How it ended; zeros: as a process that exits with 0. */
typedef struct nar_invocation_end {
    uint32_t size;
    int32_t exit_status;  /* other than 0: failed, EXIT_STATUS                                   */
    nar_str error_code;   /* not empty: failed with this code, for example "QUEUE_FULL" …        */
    nar_str error;        /* … and this sentence for people                                      */
    uint64_t user_us;     /* processor time used, microseconds; 0: not known                     */
    uint64_t system_us;
    uint64_t resident_kb; /* most memory used, KiB; 0: not known                                 */
} nar_invocation_end;

/* A process to be run instead. */
typedef struct nar_command {
    uint32_t size;
    uint32_t reserved;
    const nar_str *arguments; /* the program and what it gets; a program without a slash is searched
                                 in the PATH of the invocation's environment                     */
    uint64_t argument_count;
} nar_command;

/* ---- narratoria.invocation/1. A token names a running invocation; when it has ended or was given
 * up, each call answers NAR_GONE. */
#define NAR_HOST_INVOCATION "narratoria.invocation/1"
typedef struct nar_host_invocation {
    uint32_t size;
    uint32_t reserved;
    /* Bytes of the tool's output, cut anywhere; copied. NAR_BUSY, and nothing was taken: 16 MiB wait
     * to be read; try again a little later. [thread-safe, active] */
    nar_status (*output)(const nar_host *host, uint64_t token, nar_str bytes);
    /* Bytes for its diagnostics, what a process writes to stderr; copied. [thread-safe, active] */
    nar_status (*diagnostics)(const nar_host *host, uint64_t token, nar_str bytes);
    /* It has ended; `end` may be NULL. Exactly once, also after cancel: NAR_STALE for a second call.
     * [thread-safe, active] */
    nar_status (*ended)(const nar_host *host, uint64_t token, const nar_invocation_end *end);
    /* Hands it over: the runtime runs this process as the invocation, with the request on its stdin,
     * limits, time, ending and resource use its own business. Instead of output and ended, only
     * before the first output; cancel will not be called. [engine-thread, active] */
    nar_status (*run)(const nar_host *host, uint64_t token, const nar_command *command);
} nar_host_invocation;

#ifdef __cplusplus
}
#endif
#endif
