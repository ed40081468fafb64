// SPDX-License-Identifier: Apache-2.0
#pragma once
// A child process of the test that can be killed, or that runs under conditions which the process
// of the test must not have.

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "support/host.hpp"

namespace narratoria::hostile {

class Forked {
public:
    // `body` runs in the child; report() returns its result. It must not use expectations, because
    // their failures would be lost.
    explicit Forked(const std::function<std::string()>& body) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(ends[0]);
            // A high number, because the body may close or reuse low descriptors.
            const int out = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 900);
            ::close(ends[1]);
            std::string text;
            try {
                text = body();
            } catch (const std::exception& failure) {
                text = std::string("thrown: ") + failure.what();
            }
            for (std::string_view left = text; !left.empty();) {
                const ssize_t written = ::write(out, left.data(), left.size());
                if (written <= 0) break;
                left.remove_prefix(static_cast<size_t>(written));
            }
            ::_exit(0);
        }
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~Forked() {
        kill(SIGKILL);
        wait();
        ::close(output_);
    }
    Forked(const Forked&) = delete;
    Forked& operator=(const Forked&) = delete;

    int pid() const { return pid_; }
    void kill(int signal) const {
        // A failed fork leaves -1, which kill() takes for every process.
        if (!waited_ && pid_ > 1) ::kill(pid_, signal);
    }
    // Reads the result of the body until the child ends.
    std::string report() {
        std::string text;
        const Clock::time_point deadline = Clock::now() + kPatience;
        for (;;) {
            pollfd readable{output_, POLLIN, 0};
            if (Clock::now() >= deadline) return text + " (no end)";
            if (::poll(&readable, 1, 100) <= 0) continue;
            char bytes[4096];
            const ssize_t got = ::read(output_, bytes, sizeof bytes);
            if (got <= 0) break;
            text.append(bytes, static_cast<size_t>(got));
        }
        wait();
        EXPECT_TRUE(WIFEXITED(status_) && WEXITSTATUS(status_) == 0)
            << "the forked process ended with wait status " << status_;
        return text;
    }
    void wait() {
        if (!waited_ && pid_ > 1) ::waitpid(pid_, &status_, 0);
        waited_ = true;
    }

private:
    pid_t pid_ = -1;
    int output_ = -1;
    int status_ = -1;
    bool waited_ = false;
};

// Reaps children and adopted orphans until none is left; false if some are left at the deadline.
inline bool reap_all(milliseconds patience = kPatience) {
    const Clock::time_point deadline = Clock::now() + patience;
    for (;;) {
        const pid_t pid = ::waitpid(-1, nullptr, WNOHANG | __WALL);
        if (pid < 0 && errno == ECHILD) return true;
        if (pid != 0) continue;
        if (Clock::now() >= deadline) return false;
        ::poll(nullptr, 0, 2);
    }
}

}  // namespace narratoria::hostile
