// SPDX-License-Identifier: Apache-2.0
#pragma once
// The connection of a pool to one of its supervisors. Only process.cpp and pool.cpp need it.

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/loop.hpp"
#include "process/packet_socket.hpp"
#include "process/pool.hpp"
#include "process/reaper.hpp"
#include "process/script.hpp"
#include "process/start_error.hpp"
#include "process/start_request.hpp"
#include "process/supervisor/probe.h"
#include "process/supervisor/protocol.h"

namespace narratoria::process {

// Exceeds the supervisor's own timeout for unkillable processes.
inline constexpr int kPatienceMs = 6000;

// The library's side of one supervisor process. Owned by Pool::all_; destroying it closes the
// connection, upon which the supervisor kills its invocation and exits.
class Supervisor {
public:
    Supervisor(Pool& pool, Descriptor socket, uint32_t its_id, uint32_t its_generation)
        : id(its_id),
          generation(its_generation),
          pool_(pool),
          socket_(std::move(socket)),
          watch_(pool.loop_) {
        watch_.start(socket_.get(), [this] { read(); });
    }
    ~Supervisor() {
        owes_no_end();
        watch_.stop();
        // Closing is not enough: a forked child of the host may also hold the socket.
        ::shutdown(socket_.get(), SHUT_RDWR);
    }
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Returns 0 or errno.
    int send(std::string_view packet, const int* descriptors, size_t count) {
        return send_packet(socket_, packet, descriptors, count);
    }

    // Called by destructors: needs no memory.
    void request(uint32_t kind, uint32_t grace_ms) noexcept {
        // A tool can stop its supervisor and the reaper. The reaper kills a stopped supervisor.
        if (pool_.reaper_) pool_.reaper_->wake();
        is_awaited = kind == SUPERVISOR_TERMINATE;
        awaited_until_ms = clock::steady_ms() + grace_ms + kPatienceMs;
        set_end_deadline(grace_ms);
        supervisor_request head{};
        head.kind = kind;
        head.grace_ms = grace_ms;
        send({reinterpret_cast<const char*>(&head), sizeof head}, nullptr, 0);
    }

    // The supervisor has a request to end its invocation, or ends it because its reaper has ended.
    void set_end_deadline(uint32_t milliseconds) {
        if (end_due_ms == kNever) ++pool_.owing_;
        end_due_ms = clock::steady_ms() + milliseconds;
        try {
            pool_.check_overdue();
        } catch (const std::bad_alloc&) {
            // The pool checks on it when the next request is sent.
        }
    }
    void owes_no_end() {
        wakes = 0;
        if (std::exchange(end_due_ms, kNever) == kNever) return;
        if (--pool_.owing_ == 0) pool_.look_.stop();
    }

    // Starts a command with an empty path, which fails at exec, to test the steps before it. Blocks
    // until its end. Returns 0 or errno.
    int ask_for_nothing(const Pipe& pipe, Controllers limited, supervisor_ended& ended) {
        Request request(SUPERVISOR_START);
        Limits limits;
        if (limited.processes) limits.processes = 1000;
        if (limited.memory) limits.resident_bytes = uint64_t{1} << 30;
        request.head.limits = protocol_of(limits);
        request.add("");
        request.add("/");
        return ask(request, pipe, ended);
    }

    // Runs the probe in a sandbox. Blocks until its end. Returns 0 or errno.
    int ask_for_probe(const Pipe& pipe, const Sandboxed& sandboxed, supervisor_ended& ended) {
        Request request(SUPERVISOR_START);
        request.head.limits = protocol_of(Limits());
        // The supervisor's own program.
        request.add("/proc/self/exe");
        request.add("/");
        request.add_arguments({PROBE_NAME, std::to_string(sandboxed.bits)});
        request.add_sandbox(sandboxed);
        return ask(request, pipe, ended);
    }

    int ask(Request& request, const Pipe& pipe, supervisor_ended& ended) {
        const int descriptors[3] = {pipe.read.get(), pipe.write.get(), pipe.write.get()};
        if (const int error = send(request.packet(), descriptors, 3)) return error;
        pollfd answered{socket_.get(), POLLIN, 0};
        int ready = 0;
        do {
            ready = ::poll(&answered, 1, kPatienceMs);
        } while (ready < 0 && errno == EINTR);
        if (ready == 0) return ETIMEDOUT;
        const ssize_t got = ::recv(socket_.get(), &ended, sizeof ended, MSG_DONTWAIT);
        if (got != static_cast<ssize_t>(sizeof ended)) return got < 0 ? errno : EPIPE;
        pool_.on_answer(*this);
        return 0;
    }

    // Blocks until the supervisor reports the end or its socket closes, or until the deadline.
    void wait_for_end(int64_t deadline_ms) const {
        pollfd ended{socket_.get(), POLLIN, 0};
        int64_t left = 0;
        do {
            left = std::max<int64_t>(0, deadline_ms - clock::steady_ms());
        } while (::poll(&ended, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX))) < 0 &&
                 errno == EINTR);
    }

    // Reads the report of an end, or detects that the supervisor has ended. Returns false if
    // neither has happened. May destroy the supervisor.
    bool read() {
        supervisor_ended ended{};
        const ssize_t got = ::recv(socket_.get(), &ended, sizeof ended, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        Pool& pool = pool_;
        if (got != static_cast<ssize_t>(sizeof ended)) {
            closed = true;
            watch_.stop();
            pool.on_closed(*this);
            return true;
        }
        pool.on_answer(*this);
        Process* const owner = release();
        Exit exit;
        exit.started = ended.start_error == 0;
        exit.wait_status = ended.wait_status;
        exit.ended_before_request = ended.told_to_end == 0;
        exit.user_us = ended.user_us;
        exit.system_us = ended.system_us;
        exit.resident_kb = ended.resident_kb;
        exit.refused_processes = ended.refused_processes;
        exit.memory_limit_hits = ended.memory_limit_hits;
        exit.memory_kills = ended.memory_kills;
        exit.refused_programs = ended.refused_programs;
        exit.refused_sockets = ended.refused_sockets;
        if (!exit.started && owner != nullptr) {
            exit.start_failure =
                describe_start_failure(ended.start_stage, ended.start_error, owner->path_,
                                       owner->folder_, pool.groups_.path());
            exit.may_retry = may_start_later(ended.start_stage, ended.start_error);
            if (is_sandbox_stage(ended.start_stage)) exit.start_code = "GUARANTEE_UNAVAILABLE";
        }
        // Shells and env exit with 127 if a program does not exist, for example "python3\r".
        if (exit.started && owner != nullptr && WIFEXITED(exit.wait_status) &&
            WEXITSTATUS(exit.wait_status) == 127) {
            exit.probable_cause = script_fault(owner->path_);
        }
        if (std::exchange(was_stuck, false)) {
            // The report describes the kill by the host, not the end of the tool.
            exit = Exit();
            exit.supervisor_lost = true;
            exit.loss = "was stopped";
        }
        if (ended.left_behind) {
            if (exit.started) pool.warn_left_behind(REAPER_LEFT_SURVIVORS);
            pool.discard(this);
        } else {
            pool.give_back(this);
        }
        // `this` may be destroyed: discard() erases it.
        if (owner != nullptr) owner->on_ended(std::move(exit));
        return true;
    }

    // True if a supervisor has ended but its report has not arrived.
    static bool has_unreported(const Pool& pool) {
        return !pool.leaving_.empty() || std::any_of(pool.all_.begin(), pool.all_.end(),
                                                     [](const auto& each) { return each->closed; });
    }

    // Ends the invocation. Returns its process, which must be notified only after this reset: the
    // listener may start the next process on this supervisor.
    Process* release() {
        busy = is_awaited = false;
        owes_no_end();
        if (std::exchange(counted, false)) --pool_.busy_;
        return std::exchange(process, nullptr);
    }

    const uint32_t id;
    const uint32_t generation;   // the generation of its reaper
    Process* process = nullptr;  // NULL if idle, or if the process was destroyed
    const void* owned_by = nullptr;
    bool busy = false;        // has an invocation
    bool counted = false;     // counted in Pool::busy_
    bool is_awaited = false;  // the pool's destructor waits: it exits by itself, or got SIGTERM
    bool closed = false;      // has ended
    bool reported = false;    // the reaper has reported it
    int64_t awaited_until_ms = 0;
    static constexpr int64_t kNever = INT64_MAX;
    int64_t end_due_ms = kNever;  // kNever: it owes no end
    int wakes = 0;                // number of SIGCONTs since then
    bool was_stuck = false;       // the host has ended its invocation
    pid_t its_process = 0;        // 0: not reported yet

private:
    Pool& pool_;
    Descriptor socket_;
    Watch watch_;
};

}  // namespace narratoria::process
