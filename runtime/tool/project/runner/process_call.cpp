// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/process_call.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "process/limit_end.hpp"

namespace narratoria::tool {
namespace {

// Longer lines are split into several log events.
constexpr size_t kLongestLog = 64 * 1024;

}  // namespace

ProcessCall::ProcessCall(ProcessRunner& processes, const Invocation& invocation,
                         AttemptListener& listener)
    : Call(processes.loop(), invocation, listener),
      processes_(processes),
      limits_(invocation.limits),
      linger_(processes.loop()) {}

ProcessCall::~ProcessCall() {
    if (process_) process_->terminate(processes_.settings().grace_ms);
}

bool ProcessCall::start_process(const std::vector<std::string>& arguments, std::string_view input,
                                const std::vector<std::string>& environment,
                                const std::string& folder, StartFailure& failure,
                                const Guarantees* guarantees,
                                const std::vector<std::string>* readable) {
    return take_process(processes_.start_source(arguments.front(), arguments, input, environment,
                                                limits_, *this, failure, folder, guarantees,
                                                readable));
}

void ProcessCall::terminate() {
    if (std::exchange(terminating_, true)) return;
    if (!process_) return fail_soon("CANCELLED", "CancelledError", "the tool was cancelled");
    on_terminate();
    process_->terminate(processes_.settings().grace_ms);
}

std::string ProcessCall::explain(int) const { return {}; }

void ProcessCall::on_output(char* data, size_t size) {
    if (reply_.size() + size > kMaximumReply) {
        is_too_long_ = true;
        process_->stop_reading();
        process_->terminate(0);
        return;
    }
    reply_.append(data, size);
    if (linger_.running() || has_lingered_ || terminating_) return;
    if (is_whole(reply_)) await_exit();
}

void ProcessCall::await_exit() {
    const uint32_t grace_ms = processes_.settings().grace_ms;
    // The timeout of the call must not discard the reply: waits at most half of the remaining time,
    // and grants at most a quarter as grace period.
    const uint64_t left =
        timeout_ms() == 0 ? UINT64_MAX : timeout_ms() - std::min(timeout_ms(), age_ms());
    linger_ms_ = std::min<uint64_t>(processes_.settings().linger_ms(), left / 2);
    linger_.start(linger_ms_, [this, end_ms = std::min<uint64_t>(grace_ms, left / 4)] {
        if (terminating_) return;
        has_lingered_ = true;
        process_->terminate(static_cast<uint32_t>(end_ms));
    });
}

void ProcessCall::on_diagnostics(std::string_view data) {
    // The runner takes the end of its pipe, which on_output() closed, for a fault of the tool.
    if (is_too_long_) return;
    diagnostics_.add(data);
    while (!data.empty()) {
        const size_t line = std::min(data.find('\n'), data.size());
        const size_t part = std::min(line, kLongestLog - printed_.size());
        printed_.append(data.substr(0, part));
        const bool is_whole = part == line && line < data.size();
        data.remove_prefix(part + (is_whole ? 1 : 0));
        if ((is_whole || printed_.size() == kLongestLog) && !log_printed()) return;
    }
}

bool ProcessCall::log_printed() {
    const std::string line = utf8::repaired(std::exchange(printed_, {}));
    return line.empty() || log("info", line);
}

bool ProcessCall::was_cut_off(const process::Exit& exit) const {
    return exit.start_failure.empty() && (terminating_ || has_lingered_ || is_too_long_ ||
                                          exit.supervisor_lost || !WIFEXITED(exit.wait_status));
}

void ProcessCall::on_exit(const process::Exit& exit) {
    linger_.stop();
    if (!log_printed()) return;
    Outcome outcome;
    outcome.diagnostics = diagnostics_.text();
    outcome.user_us = exit.user_us;
    outcome.system_us = exit.system_us;
    outcome.resident_kb = exit.resident_kb;
    outcome.guarantees = exit.receipts;
    const std::string who = "the tool \"" + binding().name + "\"";
    if (!exit.start_failure.empty()) {
        outcome.may_retry = exit.may_retry;
        outcome.no_supervisor = exit.no_supervisor;
        return end_with_failure(exit.start_code, "ToolError", exit.start_failure,
                                std::move(outcome));
    }
    if (exit.supervisor_lost) {
        return end_with_failure("SUPERVISOR_LOST", "ToolError",
                                "the tool's supervisor " + exit.loss, std::move(outcome));
    }
    const bool signaled = WIFSIGNALED(exit.wait_status);
    if (signaled) outcome.signal = WTERMSIG(exit.wait_status);
    else outcome.exit_status = WEXITSTATUS(exit.wait_status);
    if (has_lingered_ && !exit.ended_before_request && !is_too_long_) {
        outcome.warning_code = "LINGERED";
        outcome.warning = "the tool was still running " + std::to_string(linger_ms_) +
                          " ms after its reply and was terminated";
        return end_with_reply(reply_, std::move(outcome));
    }
    const process::LimitEnd limit =
        process::limit_end(limits_, exit, terminating_ || is_too_long_, "the tool");
    if (!limit.code.empty()) {
        return end_with_failure(limit.code, "ToolError", limit.text, std::move(outcome));
    }
    if (is_too_long_) {
        return end_with_failure(
            "PROTOCOL_ERROR", "ProtocolError",
            who + " replied with more than " + std::to_string(kMaximumReply) + " bytes",
            std::move(outcome));
    }
    if (terminating_) {
        return end_with_failure("SIGNALED", "TimeoutError",
                                who + " was terminated before it replied", std::move(outcome));
    }
    if (reply_.empty()) {
        std::string how = signaled ? "was terminated by " + process::signal_text(outcome.signal)
                                   : "exited with status " + std::to_string(outcome.exit_status);
        std::string message = explain(outcome.exit_status);
        if (message.empty()) {
            message = who + " " + how + " and did not reply";
            const std::string said = diagnostics_.text();
            if (!said.empty()) message += "; it printed: " + said;
        }
        const std::string refused = refused_text(binding().name, exit);
        if (!refused.empty()) {
            if (exit.refused_sockets > 0) note_blocked(Guarantee::NoNetwork);
            if (exit.refused_programs > 0) note_blocked(Guarantee::NoSubprocess);
            return end_with_failure("GUARANTEE_BLOCKED", kCapabilityViolation,
                                    refused + " As a result: " + message, std::move(outcome));
        }
        return end_with_failure(signaled ? "SIGNALED" : "EXIT_STATUS", "ToolError",
                                std::move(message), std::move(outcome));
    }
    end_with_reply(reply_, std::move(outcome));
}

}  // namespace narratoria::tool
