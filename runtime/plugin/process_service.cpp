// SPDX-License-Identifier: Apache-2.0
#include "plugin/process_service.hpp"

#include <sys/wait.h>

#include <utility>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/given_struct.hpp"
#include "base/view.hpp"
#include "plugin/instance.hpp"
#include "plugin/session_access.hpp"
#include "process/find_program.hpp"
#include "process/given_limits.hpp"
#include "process/limit_end.hpp"

namespace narratoria::plugin {
namespace {

constexpr uint64_t kMaxTexts = 100000;
// Each process has its own supervisor and up to six descriptors of the host.
constexpr size_t kMaxProcesses = 128;

// Returns false if a text contains a NUL.
bool take_texts(const nar_str* texts, uint64_t count, std::vector<std::string>& out) {
    for (uint64_t i = 0; i < count; ++i) {
        const std::string_view text = given_text(texts[i]);
        if (text.find('\0') != std::string_view::npos) return false;
        out.emplace_back(text);
    }
    return true;
}

}  // namespace

class ProcessService::Child : public process::Listener {
public:
    Child(ProcessService& service, uint64_t handle, const nar_process_events& events, void* user,
          const process::Limits& limits, std::string name)
        : service_(service),
          handle_(handle),
          events_(events),
          user_(user),
          limits_(limits),
          name_(std::move(name)) {}

    // NULL until the process is started.
    std::unique_ptr<process::Process> process;
    bool was_refused = false;  // a write was refused, so on_drained is due
    bool termination_requested = false;

    void on_output(char* data, size_t size) override {
        if (events_.on_output == nullptr) return;
        tell("on_output", [&] { events_.on_output(user_, handle_, {data, size}); });
    }
    void on_diagnostics(std::string_view data) override {
        if (events_.on_diagnostics == nullptr) return;
        tell("on_diagnostics", [&] { events_.on_diagnostics(user_, handle_, view(data)); });
    }
    void on_input_drained() override {
        if (!std::exchange(was_refused, false) || events_.on_drained == nullptr) return;
        tell("on_drained", [&] { events_.on_drained(user_, handle_); });
    }
    void on_closed(process::Stream stream) override {
        if (events_.on_closed == nullptr) return;
        tell("on_closed",
             [&] { events_.on_closed(user_, handle_, static_cast<uint32_t>(stream)); });
    }
    void on_exit(const process::Exit& exit) override {
        // The handle is invalid before the plugin's callback runs. `node` keeps this object alive
        // until the callback has returned.
        auto node = service_.children_.extract(handle_);
        if (events_.on_exit == nullptr) return;
        nar_process_exit told{};
        told.size = sizeof told;
        told.exit_status = -1;
        told.user_us = exit.user_us;
        told.system_us = exit.system_us;
        told.resident_bytes = exit.resident_kb * 1024;
        process::LimitEnd why;
        if (!exit.start_failure.empty()) {
            why = {"SPAWN_FAILED", exit.start_failure};
        } else if (exit.supervisor_lost) {
            why = {"SUPERVISOR_LOST", "its supervisor " + exit.loss};
        } else {
            if (WIFSIGNALED(exit.wait_status)) {
                told.signal_number = static_cast<uint32_t>(WTERMSIG(exit.wait_status));
            } else {
                told.exit_status = WEXITSTATUS(exit.wait_status);
            }
            why = process::limit_end(limits_, exit, termination_requested, name_);
            const bool has_failed = told.exit_status != 0 && !termination_requested;
            if (why.code.empty() && has_failed && exit.refused_processes > 0) {
                why = {"PROCESS_LIMIT", process::describe_process_limit(limits_, exit, name_)};
            }
        }
        told.error_code = view(why.code);
        const std::string text = utf8::repaired(why.text);
        told.error = view(text);
        tell("on_exit", [&] { events_.on_exit(user_, handle_, &told); });
    }

private:
    template <typename Call>
    void tell(const char* what, Call&& call) {
        service_.instance_.call(what, std::forward<Call>(call));
    }

    ProcessService& service_;
    const uint64_t handle_;
    const nar_process_events events_;
    void* const user_;
    const process::Limits limits_;
    const std::string name_;
};

ProcessService::ProcessService(Instance& instance) : instance_(instance) {}

ProcessService::~ProcessService() { end_all(); }

ProcessService::Child* ProcessService::find(uint64_t process) {
    const auto found = children_.find(process);
    return found != children_.end() ? found->second.get() : nullptr;
}

nar_status ProcessService::start(const nar_program& program, const nar_process_events& events,
                                 void* user, uint64_t* process, std::string& why) {
    why = "the plugin already has " + std::to_string(kMaxProcesses) +
          " running processes; wait until one ends";
    if (children_.size() >= kMaxProcesses) return NAR_BUSY;
    const ProcessDefaults defaults = instance_.session().process_defaults();
    process::Command command;
    command.is_service = true;
    command.owner = this;
    command.folder =
        program.folder.size > 0 ? std::string(given_text(program.folder)) : defaults.folder;
    command.limits = defaults.limits;

    why = "nar_program.arguments must have at least one element";
    if (program.arguments == nullptr || program.argument_count == 0) return NAR_INVALID_ARGUMENT;
    why = "nar_program has more than " + std::to_string(kMaxTexts) + " texts";
    if (program.argument_count > kMaxTexts || program.environment_count > kMaxTexts) {
        return NAR_INVALID_ARGUMENT;
    }
    why = "nar_program.environment must not be NULL with a count";
    if (program.environment == nullptr && program.environment_count > 0) {
        return NAR_INVALID_ARGUMENT;
    }
    why = "an argument or a variable contains a NUL character";
    std::vector<std::string> environment;
    if (!take_texts(program.arguments, program.argument_count, command.arguments) ||
        !take_texts(program.environment, program.environment_count, environment)) {
        return NAR_INVALID_ARGUMENT;
    }
    command.environment = program.environment != nullptr ? &environment : &defaults.environment;
    why = "the program's name must not be empty";
    if (command.arguments.front().empty()) return NAR_INVALID_ARGUMENT;
    why = "nar_program.folder must be an absolute path without a NUL character";
    if (command.folder.front() != '/' || command.folder.find('\0') != std::string::npos) {
        return NAR_INVALID_ARGUMENT;
    }
    if (program.limits != nullptr) {
        nar_limits limits;
        why = read_struct(program.limits, limits);
        if (!why.empty()) {
            why.insert(0, "nar_limits ");
            return NAR_INVALID_ARGUMENT;
        }
        process::apply_limits(limits, command.limits);
        why = process::limit_fault(command.limits);
        if (!why.empty()) return NAR_INVALID_ARGUMENT;
        if (!defaults.pool.enable_limits(command.limits.controllers(), why)) {
            why = "a limit cannot be set: " + why;
            return NAR_UNSUPPORTED;
        }
    }
    command.path = process::find_program(command.arguments.front(), *command.environment, why);
    if (command.path.empty()) return NAR_NOT_FOUND;
    if (command.path.front() != '/') command.path = command.folder + "/" + command.path;

    const uint64_t handle = ++instance_.last_handle;
    auto child = std::make_unique<Child>(*this, handle, events, user, command.limits,
                                         "\"" + command.arguments.front() + "\"");
    process::StartFailure failure;
    child->process = defaults.pool.start(command, *child, failure);
    if (!child->process) {
        why = failure.message;
        return NAR_IO;
    }
    children_.emplace(handle, std::move(child));
    *process = handle;
    why.clear();
    return NAR_OK;
}

nar_status ProcessService::write(uint64_t process, std::string_view bytes) {
    Child* const child = find(process);
    process::InputPipe* const input = child != nullptr ? child->process->input() : nullptr;
    if (input == nullptr || !input->is_open()) return NAR_GONE;
    // A write to an empty queue is always accepted, or bytes above the limit could never be sent.
    if (input->waiting() > 0 && input->waiting() + bytes.size() > kMaxWaiting) {
        child->was_refused = true;
        return NAR_BUSY;
    }
    input->write(bytes);
    return NAR_OK;
}

nar_status ProcessService::close_input(uint64_t process) {
    Child* const child = find(process);
    process::InputPipe* const input = child != nullptr ? child->process->input() : nullptr;
    if (input == nullptr || !input->is_open()) return NAR_GONE;
    input->close();
    return NAR_OK;
}

nar_status ProcessService::terminate(uint64_t process, uint32_t grace_ms) {
    Child* const child = find(process);
    if (child == nullptr) return NAR_GONE;
    child->termination_requested = true;
    child->process->terminate(grace_ms);
    return NAR_OK;
}

nar_status ProcessService::release(uint64_t process, uint32_t grace_ms) {
    const auto node = children_.extract(process);
    if (node.empty()) return NAR_GONE;
    instance_.session().process_defaults().pool.end(std::move(node.mapped()->process), grace_ms);
    return NAR_OK;
}

void ProcessService::kill_all() {
    for (const auto& [handle, child] : children_) terminate(handle, 0);
}

void ProcessService::end_all() {
    // A process that was already asked to terminate gets no second grace period.
    while (!children_.empty()) {
        const auto& [handle, child] = *children_.begin();
        release(handle, child->termination_requested ? 0 : kEndGraceMs);
    }
}

}  // namespace narratoria::plugin
