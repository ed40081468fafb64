// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/python_runner.hpp"

#include <sys/wait.h>

#include <string>
#include <utility>

#include "base/environment.hpp"
#include "process/limit_end.hpp"
#include "tool/runner/call.hpp"

// The text of python/narratoria_runner.py, with a zero at its end.
extern "C" const char narratoria_python_runner[];

namespace narratoria::tool {
namespace {

// A reply may be as long as it likes up to here; the request's limit on lines does not apply, because
// a reply may have several.
constexpr size_t kMaximumReply = 64 * 1024 * 1024;

class PythonCall : public Call, public process::Listener {
public:
    PythonCall(ProcessRunner& processes, const Invocation& invocation, AttemptListener& listener)
        : Call(processes.loop(), invocation, listener),
          processes_(processes),
          limits_(invocation.limits) {}
    ~PythonCall() override {
        if (process_) process_->terminate(processes_.settings().grace_ms);
    }

    bool start(std::vector<std::string> environment, StartFailure& failure) {
        const project::PythonEnvironment& python = binding().python;
        if (!python.problem.empty()) {
            fail_soon("SPAWN_FAILED", "EnvironmentError", python.problem);
            return true;
        }
        if (!check_coverage(binding().sandbox, "set \"sandbox: true\" in its binding")) return true;
        std::string path = "PYTHONPATH=";
        for (const std::string& each : python.path) (path += each) += ':';
        for (const std::string& variable : environment) {
            if (variable.starts_with("PYTHONPATH=")) path += variable.substr(11);
        }
        if (path.back() == ':') path.pop_back();
        set_variable(environment, path);
        set_variable(environment, "PYTHONUNBUFFERED=1");
        process_ = processes_.start_source(
            python.interpreter, {python.interpreter, "-c", narratoria_python_runner}, request(true),
            environment, limits_, *this, failure, binding().root);
        return process_ != nullptr;
    }

    void terminate() override {
        told_to_end_ = true;
        if (process_) process_->terminate(processes_.settings().grace_ms);
        else fail_soon("CANCELLED", "CancelledError", "the tool was cancelled");
    }
    std::string diagnostics() const override { return diagnostics_.text(); }

private:
    void on_output(char* data, size_t size) override {
        if (reply_.size() + size > kMaximumReply) {
            is_too_long_ = true;
            process_->stop_reading();
            process_->terminate(0);
            return;
        }
        reply_.append(data, size);
    }
    // What the function prints is on standard error, because standard output carries the reply.
    void on_diagnostics(std::string_view data) override {
        diagnostics_.add(data);
        printed_ += data;
        for (size_t end = 0; (end = printed_.find('\n')) != std::string::npos;) {
            const std::string line = printed_.substr(0, end);
            printed_.erase(0, end + 1);
            if (!line.empty() && !log("info", line)) return;
        }
    }
    void on_exit(const process::Exit& exit) override {
        if (!printed_.empty() && !log("info", std::exchange(printed_, {}))) return;
        Outcome outcome;
        outcome.diagnostics = diagnostics_.text();
        outcome.user_us = exit.user_us;
        outcome.system_us = exit.system_us;
        outcome.resident_kb = exit.resident_kb;
        const std::string who = "the tool \"" + binding().name + "\"";
        if (!exit.start_failure.empty()) {
            outcome.may_retry = exit.may_retry;
            outcome.no_supervisor = exit.no_supervisor;
            return end_with_failure("SPAWN_FAILED", "ToolError", exit.start_failure,
                                    std::move(outcome));
        }
        if (exit.supervisor_lost) {
            return end_with_failure("SUPERVISOR_LOST", "ToolError",
                                    "the process that watched over the tool " + exit.loss,
                                    std::move(outcome));
        }
        const bool signaled = WIFSIGNALED(exit.wait_status);
        if (signaled) outcome.signal = WTERMSIG(exit.wait_status);
        else outcome.exit_status = WEXITSTATUS(exit.wait_status);
        const process::LimitEnd limit =
            process::limit_end(limits_, exit, told_to_end_ || is_too_long_, "the tool");
        if (!limit.code.empty()) {
            return end_with_failure(limit.code, "ToolError", limit.text, std::move(outcome));
        }
        if (is_too_long_) {
            return end_with_failure(
                "PROTOCOL_ERROR", "ProtocolError",
                who + " answered with more than " + std::to_string(kMaximumReply) + " bytes",
                std::move(outcome));
        }
        if (told_to_end_) {
            return end_with_failure("SIGNALED", "TimeoutError",
                                    who + " was ended before it answered", std::move(outcome));
        }
        if (reply_.empty()) {
            std::string how = signaled
                                  ? "was ended by " + process::signal_text(outcome.signal)
                                  : "exited with status " + std::to_string(outcome.exit_status);
            std::string message = who + " " + how + " and did not answer";
            const std::string said = diagnostics_.text();
            if (!said.empty()) message += "; it said: " + said;
            return end_with_failure(signaled ? "SIGNALED" : "EXIT_STATUS", "ToolError",
                                    std::move(message), std::move(outcome));
        }
        end_with_reply(reply_, std::move(outcome));
    }

    void append_trace(json::ObjectWriter& trace) const override {
        trace.string("python_env", binding().python.kind)
            .string("python_path", binding().python.interpreter)
            .string("deps_source", binding().python.dependencies)
            .number("protocol_version", project::kProtocolVersion)
            .boolean("sandbox", binding().sandbox);
        if (is_unsafe_override()) trace.boolean("unsafe_override", true);
    }

    ProcessRunner& processes_;
    const Limits limits_;
    std::unique_ptr<Source> process_;
    Tail diagnostics_;
    std::string printed_;  // an unfinished line
    std::string reply_;
    bool told_to_end_ = false;
    bool is_too_long_ = false;
};

}  // namespace

std::unique_ptr<Attempt> PythonRunner::begin(const Invocation& invocation,
                                             AttemptListener& listener, StartFailure& failure) {
    auto call = std::make_unique<PythonCall>(*processes_, invocation, listener);
    std::vector<std::string> environment = *invocation.environment;
    for (const auto& [name, value] : invocation.definition->binding->environment) {
        set_variable(environment, name + "=" + value);
    }
    if (!call->start(std::move(environment), failure)) return nullptr;
    return call;
}

}  // namespace narratoria::tool
