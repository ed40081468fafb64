/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_PROTOCOL_H
#define NARRATORIA_SUPERVISOR_PROTOCOL_H
/*
 * The messages between the library and a supervisor: one message per packet on a SOCK_SEQPACKET
 * pair. Both sides come from the same build, so the layout needs no version.
 *
 *   library → supervisor   start (with descriptors 0, 1, 2, and 3 when the input is a file),
 *                          terminate, kill
 *   supervisor → library   ended, once per start, when no process of the invocation is left
 *
 * If the socket closes or the library's process ends, the supervisor kills everything and exits.
 */
#include <stdint.h>

#include "narratoria/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor on which a supervisor expects its socket. */
#define SUPERVISOR_SOCKET 3

/* The descriptor of the cgroup2 folder in which the supervisor creates one group per invocation.
 * Present if the second argument is; that argument is the prefix of the group names. */
#define SUPERVISOR_GROUPS 4

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
    uint32_t argument_count;    /* texts behind the struct, each ended by a zero: */
    uint32_t environment_count; /* path, folder, the arguments, the environment   */
    uint32_t input_is_file;     /* 1: copy descriptor 3 into a pipe that becomes standard input */
    uint32_t one_notice;        /* 1: the pipes must not report the end before `ended` does */
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
    SUPERVISOR_STAGE_GROUP_ENTER = 9
};

struct supervisor_ended {
    int32_t start_error; /* errno, 0 when the program was started */
    uint32_t start_stage;
    int32_t wait_status;  /* as wait(2) returns it */
    uint32_t left_behind; /* 1: a process survived SIGKILL; discard the supervisor */
    uint64_t user_us;
    uint64_t system_us;
    uint64_t resident_kb; /* peak resident size of the tool */
    /* Counters of the group; 0 without one: */
    uint64_t refused_processes; /* process creations refused by a limit on their number */
    uint64_t memory_limit_hits; /* times the group's own memory limit required a kill */
    uint64_t memory_kills;      /* processes killed for lack of memory, by any limit */
};

#ifdef __cplusplus
}
#endif
#endif
