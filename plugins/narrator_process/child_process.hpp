// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program at the other end of three pipes, that never makes whoever owns it wait, but at the end.

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::plugins {

class Descriptor {
public:
    explicit Descriptor(int number = -1) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }
    void reset() noexcept;

private:
    int number_;
};

struct Program {
    std::string path;                      // absolute
    std::vector<std::string> arguments;    // the first one is its own name
    std::vector<std::string> environment;  // NAME=value
    std::string folder;                    // where it works
};

// It is the leader of a process group of its own, and is killed when the thread that started it
// ends. No other child is waited for, no signal is raised here, no handler is touched.
class ChildProcess {
public:
    // Throws std::runtime_error with the reason.
    explicit ChildProcess(const Program& program);
    // Kills it and its group at once, unless it has ended.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    // Readable when work() has something to do.
    int descriptor() const noexcept { return readiness_.get(); }

    // For its standard input; sent now or by work().
    void send(std::string_view bytes);
    // What waits until it reads again.
    std::size_t unsent() const noexcept { return unsent_.size() - sent_; }

    // Sends and reads what can be sent and read without waiting, a limited amount. False when it has
    // ended; then there is nothing more to read.
    bool work(std::string& output, std::string& diagnostics);

    // It closed its standard input or output: no more answers will come. It may be about to exit.
    bool has_hung_up() const noexcept { return !input_ || !output_; }

    // What its death leaves is for work().
    void kill() noexcept { signal_group(SIGKILL); }

    // Asks it to end, by the end of its input and SIGTERM, kills it when it has not after a moment,
    // and waits for it.
    void end(std::string& diagnostics);

    // "exit status 3", "signal 9 (Killed)"; when it has ended.
    std::string how_it_ended() const;
    bool ended_well() const noexcept {
        return end_.si_pid != 0 && end_.si_code == CLD_EXITED && end_.si_status == 0;
    }

private:
    void start(const Program& program, int input, int output, int diagnostics);
    void watch(const Descriptor& descriptor, std::uint32_t events) const;
    void forget(Descriptor& descriptor) const noexcept;
    void read(Descriptor& descriptor, std::string& out, std::size_t most) const;
    void flush();
    bool is_dead() const noexcept;
    bool wait(int milliseconds, std::string& diagnostics);
    void signal_group(int signal) const noexcept;
    void bury() noexcept;
    void reap() noexcept;

    pid_t owner_ = 0;
    pid_t number_ = 0;
    Descriptor process_;    // a pidfd
    Descriptor readiness_;  // an epoll descriptor: one to watch instead of four
    Descriptor input_;      // a socket, so that sending can do without SIGPIPE
    Descriptor output_;
    Descriptor diagnostics_;
    std::string unsent_;
    std::size_t sent_ = 0;  // of unsent_
    bool waits_to_send_ = false;
    bool has_ended_ = false;
    siginfo_t end_{};  // all zeros when nobody told
};

// The program of a command as execvp looks for it, in the PATH of `environment`, absolute folders
// only; a path with a slash begins in `folder`. Throws std::runtime_error when there is none.
std::string find_program(const std::string& name, const std::vector<std::string>& environment,
                         const std::string& folder);

}  // namespace narratoria::plugins
