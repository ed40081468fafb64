/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_PROTOCOL_H
#define NARRATORIA_SUPERVISOR_PROTOCOL_H
/*
 * The messages between the library, the reaper and the supervisors: one message per packet on a
 * SOCK_SEQPACKET pair. All sides come from the same build, so the layout needs no version.
 *
 *   library → reaper       start a supervisor (with its socket, and its cgroup2 folder)
 *   reaper → library       started, with its process id; and gone, once per supervisor, when it has
 *                          ended and no process that it left behind is alive
 *
 *   library → supervisor   start (with descriptors 0, 1, 2, and 3 when the input is a file),
 *                          terminate, kill
 *   supervisor → library   ended, once per start, when no process of the invocation is left
 *
 * If its socket closes or the library's process ends, a supervisor kills everything and exits; the
 * reaper waits for that and exits. Supervisors also exit if the reaper ends.
 */
#include <stdint.h>

#include "narratoria/limits.h"
#include "sandbox_bits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor of the socket in the reaper and in a supervisor. */
#define SUPERVISOR_SOCKET 3

/* The descriptor of the cgroup2 folder in which a supervisor creates one group per invocation. */
#define SUPERVISOR_GROUPS 4

/* The pidfd of the library's process in the reaper and in a supervisor. The library needs the pidfd
 * features of Linux 5.4. */
#define SUPERVISOR_HOST 5

/* The reaper's descriptor for SIGCHLD. The reaper's arguments are the process id of its host and
 * the path prefix of its supervisors' scratch folders. */
#define REAPER_SIGNALS 4

/* The size of the prefix of group names, including the terminating zero. */
#define REAPER_PREFIX_BYTES 88

/* Starts a supervisor. The first descriptor is its socket. If `prefix` is not empty, the second one
 * is its cgroup2 folder. */
struct reaper_request {
    uint32_t id;
    char prefix[REAPER_PREFIX_BYTES];
};

/* How a supervisor ended; 0: it has been started. */
enum reaper_fate {
    REAPER_EXITED = 1,
    REAPER_KILLED = 2,
    REAPER_STOPPED = 3 /* it was stopped, so the reaper killed it */
};

/* The processes that an ended supervisor has left behind. */
enum reaper_left {
    REAPER_LEFT_NOTHING = 0,
    REAPER_LEFT_SURVIVORS = 1, /* a process survived SIGKILL */
    REAPER_LEFT_UNKNOWN = 2    /* /proc could not be read */
};

struct reaper_report {
    uint32_t id;
    uint32_t fate;
    int32_t start_error; /* errno; 0 if the supervisor was started */
    uint32_t left_behind;
    int32_t process; /* the process id of a started supervisor; else 0 */
};

/* A request and its texts must fit in one packet. */
#define SUPERVISOR_REQUEST_BYTES (192u * 1024u)

enum supervisor_request_kind {
    SUPERVISOR_START = 1,
    SUPERVISOR_TERMINATE = 2, /* SIGTERM to all; SIGKILL after grace_ms */
    SUPERVISOR_KILL = 3
};

#define SUPERVISOR_NO_LIMIT UINT64_MAX

#define SUPERVISOR_LIMIT(name, type, least, text) uint64_t name;
struct supervisor_limits {
    NAR_PROCESS_LIMIT_LIST(SUPERVISOR_LIMIT)
    NAR_GROUP_LIMIT_LIST(SUPERVISOR_LIMIT) /* these need a group */
};
#undef SUPERVISOR_LIMIT

struct supervisor_request {
    uint32_t kind;
    uint32_t grace_ms;
    uint32_t argument_count;    /* zero-terminated strings follow the struct: path, folder,     */
    uint32_t environment_count; /* arguments, environment, and paths that stay readable with    */
    uint32_t readable_count;    /* SANDBOX_READ                                                 */
    uint32_t sandbox;           /* bits of sandbox_bit; 0: no sandbox */
    uint32_t scratch_variables; /* 1: TMPDIR names a scratch folder; 2: TMPDIR and HOME */
    uint32_t input_is_file;     /* 1: copy descriptor 3 into a pipe that becomes standard input */
    uint32_t one_notice;        /* 1: the pipes stay open until `ended` is sent: one wake-up */
    uint32_t reserved;
    struct supervisor_limits limits;
};

/* The step at which a start failed. */
enum supervisor_stage {
    SUPERVISOR_STAGE_NONE = 0,
    SUPERVISOR_STAGE_REQUEST = 1,
    SUPERVISOR_STAGE_CLONE = 2,
    SUPERVISOR_STAGE_LIMITS = 3,
    SUPERVISOR_STAGE_FOLDER = 4,
    SUPERVISOR_STAGE_EXECUTE = 5,
    SUPERVISOR_STAGE_GROUP = 6,           /* creating the group */
    SUPERVISOR_STAGE_GROUP_PROCESSES = 7, /* writing pids.max */
    SUPERVISOR_STAGE_GROUP_MEMORY = 8,    /* writing memory.* */
    SUPERVISOR_STAGE_GROUP_ENTER = 9,
    SUPERVISOR_STAGE_SCRATCH = 10,
    SUPERVISOR_STAGE_LANDLOCK = 11,
    SUPERVISOR_STAGE_LANDLOCK_TRUNCATE = 12, /* this Landlock is too old */
    SUPERVISOR_STAGE_SECCOMP = 13,
    SUPERVISOR_STAGE_SANDBOX = 14 /* any other part of the sandbox */
};

/* The network isolation of the tool's sandbox. */
enum supervisor_network {
    SUPERVISOR_NO_NETWORK = 0,
    SUPERVISOR_NETWORK = 1,        /* a network namespace */
    SUPERVISOR_NETWORK_OF_USER = 2 /* the same, in a user namespace */
};

struct supervisor_ended {
    int32_t start_error; /* errno; 0 if the program was started */
    uint32_t start_stage;
    int32_t wait_status;  /* as returned by wait(2) */
    uint32_t left_behind; /* 1: a process survived SIGKILL; discard the supervisor */
    uint32_t told_to_end; /* 1: a request to end it arrived while it ran */
    uint64_t user_us;
    uint64_t system_us;
    uint64_t resident_kb; /* peak resident size of the tool */
    /* Counters of the group; 0 without one: */
    uint64_t refused_processes; /* process creations refused by a limit on their number */
    uint64_t memory_limit_hits; /* times the group's own memory limit required a kill */
    uint64_t memory_kills;      /* processes killed for lack of memory, by any limit */
    /* The following need a sandbox. */
    uint32_t landlock; /* the version ("ABI") of the kernel's Landlock */
    uint32_t network;  /* a supervisor_network */
    /* Calls that the filter refused. Always 0 inside another sandbox that has a listener. */
    uint64_t refused_programs; /* starts of a process or a program */
    uint64_t refused_sockets;
};

#ifdef __cplusplus
}
#endif
#endif
