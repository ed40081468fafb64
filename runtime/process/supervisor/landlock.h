/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_LANDLOCK_H
#define NARRATORIA_SUPERVISOR_LANDLOCK_H
/* Definitions of Landlock: the kernel headers of the build machine may be older than the running
 * kernel. */
#include <stdint.h>

enum {
    LANDLOCK_CREATE_RULESET = 444, /* system calls, with the same number on all architectures */
    LANDLOCK_ADD_RULE = 445,
    LANDLOCK_RESTRICT_SELF = 446,
    LANDLOCK_VERSION = 1, /* a flag of LANDLOCK_CREATE_RULESET */
    LANDLOCK_PATH_BENEATH = 1
};

/* The first Landlock version ("ABI") with each feature, and its Linux version. */
enum {
    LANDLOCK_ABI_TRUNCATE = 3, /* 6.2 */
    LANDLOCK_ABI_NETWORK = 4,  /* 6.7 */
    LANDLOCK_ABI_DEVICES = 5,  /* 6.10 */
    LANDLOCK_ABI_SCOPES = 6    /* 6.12 */
};

struct landlock_ruleset {
    uint64_t files, network, scopes;
};

struct landlock_rule {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

enum landlock_file_right {
    LANDLOCK_EXECUTE = 1 << 0,
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_READ_FILE = 1 << 2,
    LANDLOCK_READ_FOLDER = 1 << 3,
    LANDLOCK_CHANGE_FOLDER = 0x1ff0, /* bits 4 to 12: remove and create entries of each kind */
    LANDLOCK_REFER = 1 << 13,        /* link or rename into another folder */
    LANDLOCK_TRUNCATE = 1 << 14,
    LANDLOCK_DEVICE = 1 << 15 /* ioctl on a device */
};

enum { LANDLOCK_NETWORK = 3 };                                /* TCP: bind and connect */
enum { LANDLOCK_ABSTRACT_SOCKETS = 1, LANDLOCK_SIGNALS = 2 }; /* scopes */

#endif
