// SPDX-License-Identifier: Apache-2.0
#pragma once
// Child processes of a plugin (narratoria/host_process.h). Do not include this header directly:
// include narratoria/plugin.hpp.

#include "narratoria/exceptions.hpp"
#include "narratoria/host_process.h"
#include "narratoria/plugin_host.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::plugin {

// The program to run. Without a slash it is looked up in the PATH of its environment; a relative
// path is resolved in `folder`.
struct Program {
    std::vector<std::string> arguments = {};  // the first is the program
    std::optional<std::vector<std::string>> environment =
        {};                              // "NAME=value"; not set: the environment of tools
    std::string folder = {};             // absolute; empty: the working folder of tools
    const nar_limits* limits = nullptr;  // a field that is 0: the limit of tools
};

struct ProcessExit {
    int status = -1;      // -1: it did not exit by itself
    unsigned signal = 0;  // the signal that ended it; 0: none
    std::string
        error_code;     // SPAWN_FAILED, CPU_LIMIT, …; usually empty (narratoria/host_process.h)
    std::string error;  // the message for `error_code`
    std::uint64_t user_us = 0;
    std::uint64_t system_us = 0;
    std::uint64_t resident_bytes = 0;
};

enum class ProcessStream : std::uint32_t {
    Input = NAR_STREAM_INPUT,
    Output = NAR_STREAM_OUTPUT,
    Diagnostics = NAR_STREAM_DIAGNOSTICS
};

// Called on the engine thread, never from within a function of Process; each may be empty. Their
// exceptions are logged. They may replace or destroy the Process.
struct ProcessEvents {
    std::function<void(std::string_view)> on_output;       // pieces, split at any byte
    std::function<void(std::string_view)> on_diagnostics;  // standard error
    std::function<void()> on_drained;                      // after write returned Busy
    std::function<void(ProcessStream)> on_closed;          // the process closed the stream
    std::function<void(const ProcessExit&)> on_exit;       // always the last call
};

enum class Written { Taken, Busy, Closed };

// A process that the host runs and ends like a tool. When this object is destroyed, the process and
// its descendants are killed, and no further callbacks are called. When the instance ends, the
// process first gets SIGTERM and a short grace period.
//
// Engine thread only, and not in the constructor of the plugin's class. Failures throw Error.
class Process {
public:
    // No process.
    Process() = default;
    // Starts it. on_exit reports a program that is not executable.
    Process(const Host& host, const Program& program, ProcessEvents events)
        : running_(std::make_shared<Running>(host.core_, std::move(events))) {
        const auto& functions = running_->core->template require<nar_host_process>();
        std::vector<nar_str> arguments, environment;
        for (const std::string& each : program.arguments) arguments.push_back(detail::to_c(each));
        if (program.environment) {
            // Not NULL, which would select the environment of tools.
            environment.reserve(program.environment->size() + 1);
            for (const std::string& each : *program.environment) {
                environment.push_back(detail::to_c(each));
            }
        }
        nar_program given{};
        given.size = sizeof given;
        given.arguments = arguments.data();
        given.argument_count = arguments.size();
        given.environment = program.environment ? environment.data() : nullptr;
        given.environment_count = environment.size();
        given.folder = detail::to_c(program.folder);
        given.limits = program.limits;
        nar_failure failure{};
        failure.size = sizeof failure;
        const nar_status status = functions.start(running_->core->host(), &given, &kEvents,
                                                  running_.get(), &running_->handle, &failure);
        if (status != NAR_OK && failure.message[0] != '\0') {
            NARRATORIA_THROW(Error(status, {}, failure.message, {}));
        }
        running_->core->template check<nar_host_process>(status, "starting a process");
    }
    Process(Process&&) noexcept = default;
    Process& operator=(Process&& other) noexcept {
        release(0);
        running_ = std::move(other.running_);
        return *this;
    }
    ~Process() { release(0); }

    bool is_running() const noexcept { return running_ && running_->handle != 0; }

    // Appends to its standard input. Busy: the buffer is full, nothing was written, and on_drained
    // follows. Closed: either side closed the stream, or the process has ended.
    Written write(std::string_view bytes) {
        if (!is_running()) return Written::Closed;
        const auto& functions = running_->core->template require<nar_host_process>();
        const nar_status status =
            functions.write(running_->core->host(), running_->handle, detail::to_c(bytes));
        if (status == NAR_BUSY) return Written::Busy;
        if (status == NAR_GONE) return Written::Closed;
        running_->core->template check<nar_host_process>(status, "writing to a process");
        return Written::Taken;
    }
    // Closes its standard input after all buffered bytes are written.
    void close_input() noexcept {
        if (const auto* functions = reachable()) {
            functions->close_input(running_->core->host(), running_->handle);
        }
    }
    // Sends SIGTERM, and SIGKILL after the grace period; 0 sends SIGKILL immediately. on_exit
    // follows.
    void terminate(std::uint32_t grace_ms) noexcept {
        if (const auto* functions = reachable()) {
            functions->terminate(running_->core->host(), running_->handle, grace_ms);
        }
    }
    // Like terminate, but no further callbacks are called.
    void release(std::uint32_t grace_ms) noexcept {
        if (const auto* functions = reachable()) {
            functions->release(running_->core->host(), std::exchange(running_->handle, 0),
                               grace_ms);
        }
        running_.reset();
    }

private:
    // Its address stays the same while the Process moves. A running call keeps it alive, so that
    // its functions may destroy the Process.
    struct Running : std::enable_shared_from_this<Running> {
        Running(std::shared_ptr<detail::Core> owner, ProcessEvents functions)
            : core(std::move(owner)), events(std::move(functions)) {}

        std::shared_ptr<detail::Core> core;
        ProcessEvents events;
        std::uint64_t handle = 0;
    };

    // NULL if there is no process, or if the instance has ended: the host then removes its
    // processes.
    const nar_host_process* reachable() const noexcept {
        if (!is_running() || !running_->core->is_open()) return nullptr;
        return running_->core->template find<nar_host_process>();
    }

    template <class Call>
    static void call(void* user, const char* what, Call&& function) noexcept {
        const auto running = static_cast<Running*>(user)->shared_from_this();
        detail::guard(*running->core, what, [&] { function(*running); });
    }
    static void output(void* user, std::uint64_t, nar_str bytes) noexcept {
        call(user, "a process's on_output", [&](Running& running) {
            if (running.events.on_output) running.events.on_output(detail::to_view(bytes));
        });
    }
    static void diagnostics(void* user, std::uint64_t, nar_str bytes) noexcept {
        call(user, "a process's on_diagnostics", [&](Running& running) {
            if (running.events.on_diagnostics) {
                running.events.on_diagnostics(detail::to_view(bytes));
            }
        });
    }
    static void drained(void* user, std::uint64_t) noexcept {
        call(user, "a process's on_drained", [](Running& running) {
            if (running.events.on_drained) running.events.on_drained();
        });
    }
    static void closed(void* user, std::uint64_t, std::uint32_t stream) noexcept {
        call(user, "a process's on_closed", [&](Running& running) {
            if (running.events.on_closed) {
                running.events.on_closed(static_cast<ProcessStream>(stream));
            }
        });
    }
    static void exited(void* user, std::uint64_t, const nar_process_exit* exit) noexcept {
        call(user, "a process's on_exit", [&](Running& running) {
            running.handle = 0;
            if (!running.events.on_exit) return;
            running.events.on_exit({exit->exit_status, exit->signal_number,
                                    std::string(detail::to_view(exit->error_code)),
                                    std::string(detail::to_view(exit->error)), exit->user_us,
                                    exit->system_us, exit->resident_bytes});
        });
    }
    static constexpr nar_process_events kEvents{
        sizeof(nar_process_events), 0, &output, &diagnostics, &drained, &closed, &exited};

    std::shared_ptr<Running> running_;
};

}  // namespace narratoria::plugin
