/* SPDX-License-Identifier: Apache-2.0 */

/* Row: a process keeps stdout open and outlives the tool; here it is not a descendant of the tool.
 * Expected: the runtime waits for the exit and a short drain, never for the pipe.
 *
 * socket   witness "tool"; after its name it sends standard output and standard error as
 *          descriptors (with one byte, "f"), then serves */

#include "bad.h"

int main(void) {
    bad_begin();
    const int witness = bad_connect("tool");
    if (witness < 0) {
        bad_die(BAD_PARAMETER, "the parameter socket is needed");
    }
    bad_log("standard output is given away");
    const int given[2] = {STDOUT_FILENO, STDERR_FILENO};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof given)];
    } control;
    memset(&control, 0, sizeof control);
    char byte = 'f';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof given);
    memcpy(CMSG_DATA(header), given, sizeof given);
    if (sendmsg(witness, &message, MSG_NOSIGNAL) != 1) {
        bad_die(BAD_TROUBLE, "the descriptors cannot be sent: %s", strerror(errno));
    }
    bad_serve(witness, "tool");
}
