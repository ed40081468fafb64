// SPDX-License-Identifier: Apache-2.0
#pragma once
// A writer outside of an invocation that holds the tool's descriptors and writes to them without
// end, as a desktop service or the daemon of a container may.

#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "support/witness.hpp"

namespace narratoria::hostile {

// Receives the descriptors that a tool sends after its name (tools/gives_stdout_away.c).
inline std::vector<int> take_descriptors(const Witness& witness, Host* host) {
    std::vector<int> taken;
    char byte = 0;
    union {
        cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    ssize_t got = -1;
    host->until(
        [&] {
            got = ::recvmsg(witness.descriptor(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
            return got >= 0;
        },
        witness.descriptor());
    const cmsghdr* header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
        taken.resize(2);
        std::memcpy(taken.data(), CMSG_DATA(header), 2 * sizeof(int));
    }
    return taken;
}

class ForeignWriter {
public:
    // Takes ownership of the descriptor.
    explicit ForeignWriter(int descriptor)
        : descriptor_(descriptor), thread_([this] { write_until_stopped(); }) {}
    ~ForeignWriter() {
        stop_ = true;
        thread_.join();
        ::close(descriptor_);
    }
    ForeignWriter(const ForeignWriter&) = delete;
    ForeignWriter& operator=(const ForeignWriter&) = delete;

private:
    void write_until_stopped() {
        // Blank lines are not a protocol error. SIGPIPE would end the test.
        const std::string lines(64 * 1024, '\n');
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        pollfd ready{descriptor_, POLLOUT, 0};
        while (!stop_ && (ready.revents & POLLERR) == 0) {
            if (::poll(&ready, 1, 50) > 0 && (ready.revents & POLLOUT) != 0) {
                static_cast<void>(!::write(descriptor_, lines.data(), 4096));
            }
        }
    }

    int descriptor_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace narratoria::hostile
