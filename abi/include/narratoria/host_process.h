/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_HOST_PROCESS_H
#define NARRATORIA_HOST_PROCESS_H
/*
 * Child processes for a plugin: a narrator in another language, a converter, a local model. The host
 * runs each one under a supervisor, exactly as it runs tools: with the same limits, in a control
 * group of its own if the host has a cgroup folder, and without any descriptor, signal mask or
 * ignored signal of the host.
 *
 * Descendants never outlive a process. When the program exits, all its descendants receive SIGKILL
 * before on_exit. When the instance ends, before deinit, its processes receive end of file on their
 * input and SIGTERM; 40 ms later they and all their descendants receive SIGKILL. No further
 * callbacks are called. However the host dies, all processes receive SIGKILL immediately. The
 * processes of a disabled instance receive SIGKILL, and so do all processes whose supervisor is
 * killed or stopped (SUPERVISOR_LOST). One exception: if the supervisor and its parent are killed
 * at the same time and the host has no cgroup folder, descendants of the process survive.
 *
 * A process does not keep a turn or nar_engine_run_until_idle running, except while it is
 * being ended.
 */
#include "narratoria/engine.h"
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The program to run. Everything is copied. */
typedef struct nar_program {
    uint32_t size;
    uint32_t reserved;
    /* The program and its arguments; at least one. The first is also the program's argv[0]. Without
     * a slash it is looked up in the PATH of `environment`, in absolute folders only; a relative
     * path is resolved in `folder`. */
    const nar_str *arguments;
    uint64_t argument_count;
    /* The whole environment as "NAME=value" strings. NULL: the environment of the session's tools.
     * Arguments and environment are limited to 192 KiB in total, and each string to less than
     * 128 KiB. */
    const nar_str *environment;
    uint64_t environment_count;
    nar_str folder; /* working directory, absolute; empty: that of the session's tools           */
    /* Limits of this process. NULL, or 0 in a field, selects the limit of the session's tools;
     * NAR_NONE or UINT64_MAX means no limit. history_patches and line_bytes are not used.
     * cpu_seconds counts from the start of the process, not from a request. */
    const nar_limits *limits;
} nar_program;

/* How a process ended. */
typedef struct nar_process_exit {
    uint32_t size;
    int32_t exit_status;    /* 0 to 255; -1: it did not exit by itself                           */
    uint32_t signal_number; /* the signal that ended it; 0: none                                 */
    uint32_t reserved;
    /* Empty, or the cause that explains the status: SPAWN_FAILED (it was not started),
     * SUPERVISOR_LOST, MEMORY_LIMIT, OUT_OF_MEMORY, CPU_LIMIT, FILE_SIZE_LIMIT, PROCESS_LIMIT. */
    nar_str error_code;
    nar_str error;        /* the message for `error_code`                                        */
    uint64_t user_us;     /* processor time in user mode, microseconds                           */
    uint64_t system_us;
    uint64_t resident_bytes; /* largest resident memory                                          */
} nar_process_exit;

/* The standard streams of a process. */
#define NAR_STREAM_INPUT 0u
#define NAR_STREAM_OUTPUT 1u
#define NAR_STREAM_DIAGNOSTICS 2u

/* Callbacks; each may be NULL. `process` is the handle that start returned. The loop calls them,
 * never a function of nar_host_process; they may call any of these functions. Views are valid
 * during the call. [engine-thread, active] */
typedef struct nar_process_events {
    uint32_t size;
    uint32_t reserved;
    /* Bytes of standard output, split at any byte. */
    void (*on_output)(void *user, uint64_t process, nar_str bytes);
    /* Bytes of standard error, split at any byte. */
    void (*on_diagnostics)(void *user, uint64_t process, nar_str bytes);
    /* Called after write has returned NAR_BUSY, when all buffered bytes are written. */
    void (*on_drained)(void *user, uint64_t process);
    /* The process closed a NAR_STREAM_…, possibly by its exit: each stream at most once, in any
     * order, and not always before on_exit. If it is the input, buffered bytes are dropped, and
     * write returns NAR_GONE. */
    void (*on_closed)(void *user, uint64_t process, uint32_t stream);
    /* The last call, exactly once unless the instance ends first: the process and all its
     * descendants have ended, and their output has been delivered. The handle is invalid. */
    void (*on_exit)(void *user, uint64_t process, const nar_process_exit *exit);
} nar_process_events;

/* ---- narratoria.process/1. A handle identifies a running process and is never 0. After on_exit
 * every call with it returns NAR_GONE. */
#define NAR_HOST_PROCESS "narratoria.process/1"
typedef struct nar_host_process {
    uint32_t size;
    uint32_t reserved;
    /* Starts a process and returns without waiting for it. On NAR_OK, *process is its handle. A
     * program that is not executable is reported by on_exit (SPAWN_FAILED).
     * NAR_INVALID_ARGUMENT: the program breaks a rule above. NAR_NOT_FOUND: the program is not in
     * the PATH. NAR_UNSUPPORTED: a limit needs a cgroup folder. NAR_BUSY: the plugin already has
     * 128 processes that have not ended. NAR_IO: no descriptors or processes are left, or arguments
     * and environment are too large. NAR_GONE: the instance is disabled. *failure, which may be
     * NULL, gets the reason. [engine-thread, active] */
    nar_status (*start)(const nar_host *host, const nar_program *program,
                        const nar_process_events *events, void *user, uint64_t *process,
                        nar_failure *failure);
    /* Appends bytes to its standard input. They are copied and written as the process reads.
     * NAR_BUSY: more than 64 MiB would be buffered; nothing was written, and on_drained follows. If
     * the buffer is empty, a write of any size is accepted. NAR_GONE: either side has closed the
     * input. [engine-thread, active] */
    nar_status (*write)(const nar_host *host, uint64_t process, nar_str bytes);
    /* Closes its standard input after all buffered bytes are written. [engine-thread, active] */
    nar_status (*close_input)(const nar_host *host, uint64_t process);
    /* Sends SIGTERM to it and all its descendants, and SIGKILL after `grace_ms`. 0 sends SIGKILL
     * immediately, even during an earlier grace period. on_exit follows. [engine-thread, active] */
    nar_status (*terminate)(const nar_host *host, uint64_t process, uint32_t grace_ms);
    /* Like terminate, but also closes the input of the process and invalidates the handle: no
     * further callbacks are called. [engine-thread, active] */
    nar_status (*release)(const nar_host *host, uint64_t process, uint32_t grace_ms);
} nar_host_process;

#ifdef __cplusplus
}
#endif
#endif
