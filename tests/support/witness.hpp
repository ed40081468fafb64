// SPDX-License-Identifier: Apache-2.0
#pragma once
// The test's end of the hostile tools' sockets (tools/bad.h). An echo proves that a process is
// alive, an end of file that it is dead. No test sleeps in order to wait.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "support/host.hpp"

namespace narratoria::hostile {

class Witness {
public:
    Witness() = default;
    explicit Witness(int socket) : socket_(socket) {}
    Witness(Witness&& other) noexcept
        : role(std::move(other.role)), pid(other.pid), socket_(std::exchange(other.socket_, -1)) {}
    Witness& operator=(Witness&& other) noexcept {
        std::swap(role, other.role);
        std::swap(pid, other.pid);
        std::swap(socket_, other.socket_);
        return *this;
    }
    ~Witness() {
        if (socket_ >= 0) ::close(socket_);
    }

    explicit operator bool() const { return socket_ >= 0; }
    int descriptor() const { return socket_; }

    // Sends a command; false if the other end is closed.
    bool tell(char command) const { return ::send(socket_, &command, 1, MSG_NOSIGNAL) == 1; }
    // Returns the next byte, 0 at the end of file, or -1 at the deadline. Drives the host, if there
    // is one, while it waits.
    int hear(Host* host, milliseconds patience = kPatience) const {
        char byte = 0;
        ssize_t got = -1;
        auto read_it = [&] {
            got = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
            return got >= 0 || (errno != EAGAIN && errno != EINTR);
        };
        if (host != nullptr) {
            if (!host->until(read_it, socket_, patience)) return -1;
        } else {
            const Clock::time_point deadline = Clock::now() + patience;
            while (!read_it()) {
                if (Clock::now() >= deadline) return -1;
                pollfd descriptor{socket_, POLLIN, 0};
                ::poll(&descriptor, 1, 100);
            }
        }
        return got == 1 ? byte : 0;
    }

    // True if the process is alive and has carried out the command.
    bool does(char command, Host* host = nullptr) const {
        return tell(command) && hear(host) == command;
    }
    bool lives(Host* host = nullptr) const { return does('?', host); }
    // True if the process is dead; skips bytes that it sent before.
    bool is_gone(Host* host = nullptr, milliseconds patience = kPatience) const {
        const Clock::time_point deadline = Clock::now() + patience;
        for (;;) {
            const int heard = hear(host, patience);
            if (heard == 0) return true;
            if (heard < 0 || Clock::now() >= deadline) return false;
        }
    }
    // The same, without waiting.
    bool is_gone_already() const {
        char bytes[64];
        for (;;) {
            const ssize_t got = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (got > 0 || (got < 0 && errno == EINTR)) continue;
            return got == 0 || errno != EAGAIN;
        }
    }

    std::string role;
    int pid = 0;

private:
    int socket_ = -1;
};

// An abstract socket to which the tools of one test connect.
class Witnesses {
public:
    Witnesses() {
        static int count = 0;
        name_ = "@narratoria-witness-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name_.data(), name_.size());
        address.sun_path[0] = '\0';
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        if (listener_ < 0 ||
            ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
            ::listen(listener_, 512) != 0) {
            ADD_FAILURE() << "cannot make the socket for witnesses: " << std::strerror(errno);
        }
    }
    ~Witnesses() { ::close(listener_); }
    Witnesses(const Witnesses&) = delete;
    Witnesses& operator=(const Witnesses&) = delete;

    const std::string& name() const { return name_; }
    // {"socket":…} with `more`, which begins with a comma.
    std::string input(const std::string& more = "") const {
        return R"({"socket":)" + json_text(name_) + more + "}";
    }
    // For tools that do not read their input.
    std::string environment() const {
        return R"(,"environment":{"BAD_SOCKET":)" + json_text(name_) + "}";
    }

    // Accepts the next witness. If none connects, fails the test and returns an empty one.
    Witness accept(Host* host) const {
        int socket = -1;
        auto accept_it = [&] {
            socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            return socket >= 0;
        };
        if (host != nullptr) {
            host->until(accept_it, listener_);
        } else {
            const Clock::time_point deadline = Clock::now() + kPatience;
            while (!accept_it() && Clock::now() < deadline) {
                pollfd descriptor{listener_, POLLIN, 0};
                ::poll(&descriptor, 1, 100);
            }
        }
        Witness witness(socket);
        std::string line;
        for (int byte = 0; socket >= 0 && (byte = witness.hear(host)) > 0 && byte != '\n';) {
            line += static_cast<char>(byte);
        }
        const size_t space = line.find(' ');
        if (space == std::string::npos) {
            ADD_FAILURE() << "no witness connected";
            return Witness();
        }
        witness.role = line.substr(0, space);
        witness.pid = std::atoi(line.c_str() + space + 1);
        return witness;
    }

private:
    std::string name_;
    int listener_ = -1;
};

}  // namespace narratoria::hostile
