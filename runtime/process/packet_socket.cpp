// SPDX-License-Identifier: Apache-2.0
#include "process/packet_socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "process/supervisor/protocol.h"

namespace narratoria::process {

int make_socket_pair(Descriptor& ours, Descriptor& theirs) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    ours = Descriptor(ends[0]);
    theirs = Descriptor(ends[1]);
    for (Descriptor* end : {&ours, &theirs}) {
        if (const int error = keep_clear_of_standard_streams(*end)) return error;
    }
    const int send_buffer = 2 * static_cast<int>(SUPERVISOR_REQUEST_BYTES);
    ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    return 0;
}

int send_packet(const Descriptor& socket, std::string_view packet, const int* descriptors,
                size_t count) {
    union {
        cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control{};
    iovec part{const_cast<char*>(packet.data()), packet.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    }
    for (;;) {
        if (::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

}  // namespace narratoria::process
