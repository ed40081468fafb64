// SPDX-License-Identifier: Apache-2.0
#pragma once
// The SOCK_SEQPACKET pairs between the library, the reaper and the supervisors.

#include <cstddef>
#include <string_view>

#include "base/descriptor.hpp"

namespace narratoria::process {

// Creates a socket pair with close-on-exec, on descriptors above the standard streams. Returns 0 or
// errno.
int make_socket_pair(Descriptor& ours, Descriptor& theirs);

// Sends one packet with at most four descriptors. Does not block. Returns 0 or errno; EAGAIN: the
// peer does not read.
int send_packet(const Descriptor& socket, std::string_view packet, const int* descriptors,
                size_t count);

// True if an errno means that descriptors or memory ran out.
bool is_shortage(int error);

}  // namespace narratoria::process
