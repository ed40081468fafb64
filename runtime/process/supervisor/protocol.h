/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_PROTOCOL_H
#define NARRATORIA_SUPERVISOR_PROTOCOL_H
/*
 * What the library and a supervisor say to each other, one message a packet, over a
 * SOCK_SEQPACKET pair. Both come from one build, so the layout needs no version.
 *
 *   library → supervisor   start (with descriptors 0, 1, 2, and 3 when the input is a file),
 *                          terminate, kill
 *   supervisor → library   ended, once for each start, when nothing of the invocation is left
 *
 * The end of the socket or the library's process means: kill everything and go.
 */
#include <stdint.h>

#include "narratoria/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor at which a supervisor finds its socket. */
#define SUPERVISOR_SOCKET 3

/* The descriptor of the cgroup2 folder in which it makes a group for each invocation, when its second
 * argument is there: what the groups' names begin with. */
#define SUPERVISOR_GROUPS 4

/* A request with its texts must fit in one packet. */
#define SUPERVISOR_REQUEST_BYTES (192u * 1024u)

enum supervisor_request_kind {
    SUPERVISOR_START = 1,
    SUPERVISOR_TERMINATE = 2, /* SIGTERM to all, after grace_ms SIGKILL */
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
    uint32_t input_is_file;     /* 1: pump descriptor 3 into the pipe whose end is 0's other side */
    uint32_t one_notice;        /* 1: the pipes are not to tell of the end before `ended` does */
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
    SUPERVISOR_STAGE_GROUP = 6,           /* making the group    */
    SUPERVISOR_STAGE_GROUP_PROCESSES = 7, /* writing pids.max    */
    SUPERVISOR_STAGE_GROUP_MEMORY = 8,    /* writing memory.*    */
    SUPERVISOR_STAGE_GROUP_ENTER = 9
};

struct supervisor_ended {
    int32_t start_error; /* errno, 0 when the program was started */
    uint32_t start_stage;
    int32_t wait_status; /* as wait(2) tells it */
    uint32_t
        left_behind; /* 1: something did not die of SIGKILL; the supervisor is of no more use */
    uint64_t user_us;
    uint64_t system_us;
    uint64_t resident_kb; /* the largest resident size */
    /* Of the group, 0 without one: */
    uint64_t refused_processes; /* how often no process could be made for a limit on their number */
    uint64_t memory_limit_hits; /* how often the group's own limit left nothing but to kill       */
    uint64_t memory_kills;      /* what was killed for want of memory, for whichever limit        */
};

#ifdef __cplusplus
}
#endif
#endif
