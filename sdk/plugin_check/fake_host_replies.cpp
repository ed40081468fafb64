// SPDX-License-Identifier: Apache-2.0
// The requests and invocations of the fake host, and the replies of a plugin
// (narratoria/narrator.h, tool_runner.h, tool.h).
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "display.hpp"
#include "plugin_check/fake_host.hpp"
#include "plugin_check/tokens.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Seconds after a cancel in which a reply from a different thread may race with it.
constexpr double kCrossing = 0.15;
constexpr std::size_t kMaxUnread = std::size_t{16} << 20;
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

// Reports a token that this host did not give: a different instance's, or an invented one.
void tell_unknown_token(TrialReport& report, const char* function, std::uint64_t token) {
    if (is_given_token(token)) {
        report.add_finding("P21",
                           fmt::format("{}: the token belongs to a different instance", function));
    } else {
        report.add_finding("P34", fmt::format("{}: the token is unknown", function));
    }
}

}  // namespace

std::uint64_t PluginCheckHost::new_request() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t token = fresh_token();
    requests_[token];
    return token;
}

std::uint64_t PluginCheckHost::new_invocation() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t token = fresh_token();
    invocations_[token];
    return token;
}

void PluginCheckHost::will_cancel_request(std::uint64_t token, bool was_notified) {
    const std::lock_guard lock(mutex_);
    NarratorRequest& request = requests_[token];
    request.is_cancelled = true;
    request.was_notified = was_notified;
    request.cancelled_at = Clock::now();
}

void PluginCheckHost::will_cancel_invocation(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    ObservedInvocation& invocation = invocations_[token];
    invocation.is_cancelled = true;
    invocation.cancelled_at = Clock::now();
}

void PluginCheckHost::forget_refused(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    ObservedInvocation& invocation = invocations_[token];
    invocation.is_refused = true;
    if (invocation.ends > 0) {
        report_.add_finding("P39", "start refused an invocation after it called ended for it");
    }
}

NarratorRequest PluginCheckHost::request(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    return requests_[token];
}

ObservedInvocation PluginCheckHost::invocation(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    return invocations_[token];
}

nar_status PluginCheckHost::answer(std::uint64_t token, const char* function, nar_str text,
                                   bool is_plan) {
    if (!text_is_good(text, function, is_plan ? "the plan" : "the message")) {
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(mutex_);
    nar_status status;
    NarratorRequest* const request = open_request(token, function, status);
    if (request == nullptr) return status;
    ++request->answers;
    if (status != NAR_OK) return status;
    request->has_plan = is_plan;
    (is_plan ? request->plan : request->message) = to_view(text);
    wake();
    return NAR_OK;
}

nar_status PluginCheckHost::narrator_delta(const nar_host* host, std::uint64_t token,
                                           nar_str text) {
    nar_status status;
    PluginCheckHost* self = entered(host, "narrator.delta", kInActive, false, &status);
    if (self == nullptr) return status;
    if (!self->is_readable(text, "narrator.delta", "the text")) return NAR_INVALID_ARGUMENT;
    const std::lock_guard lock(self->mutex_);
    self->open_request(token, "narrator.delta", status);
    return status;
}

nar_status PluginCheckHost::narrator_usage(const nar_host* host, std::uint64_t token,
                                           nar_str usage) {
    nar_status status;
    PluginCheckHost* self = entered(host, "narrator.usage", kInActive, false, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(usage, "narrator.usage", "the usage")) return NAR_INVALID_ARGUMENT;
    const std::lock_guard lock(self->mutex_);
    self->open_request(token, "narrator.usage", status);
    return status;
}

// The request of the token, or NULL if there is none. The lock must be held.
NarratorRequest* PluginCheckHost::open_request(std::uint64_t token, const char* function,
                                               nar_status& status) {
    status = NAR_GONE;
    const auto found = requests_.find(token);
    if (found == requests_.end()) {
        tell_unknown_token(report_, function, token);
        return nullptr;
    }
    NarratorRequest& request = found->second;
    status = NAR_OK;
    if (request.answers > 0) {
        report_.add_finding("P36", fmt::format("{}: this request already has a reply", function));
        status = NAR_STALE;
    } else if (request.is_cancelled) {
        if (request.was_notified &&
            (is_engine_thread() || seconds_since(request.cancelled_at) > kCrossing)) {
            report_.add_finding("P37", fmt::format("{}: this request was cancelled", function));
        }
        status = NAR_GONE;
    }
    return &request;
}

nar_status PluginCheckHost::narrator_reply(const nar_host* host, std::uint64_t token,
                                           nar_str plan) {
    nar_status status;
    PluginCheckHost* self = entered(host, "narrator.reply", kInActive, false, &status);
    return self != nullptr ? self->answer(token, "narrator.reply", plan, true) : status;
}

nar_status PluginCheckHost::narrator_fail(const nar_host* host, std::uint64_t token,
                                          nar_str message) {
    nar_status status;
    PluginCheckHost* self = entered(host, "narrator.fail", kInActive, false, &status);
    return self != nullptr ? self->answer(token, "narrator.fail", message, false) : status;
}

// The check has no tools: each invocation fails, in a later round of the loop.
nar_status PluginCheckHost::invoke_tool(const nar_host* host, std::uint64_t token,
                                        nar_str invocation,
                                        void (*on_outcome)(void*, const nar_invoke_outcome*),
                                        void* user, std::uint64_t* number, nar_failure*) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invoke.invoke", kInActive, true, &status);
    if (self == nullptr) return status;
    if (on_outcome == nullptr) {
        self->report_.add_finding("P34", "invoke.invoke: the function is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    if (!self->text_is_good(invocation, "invoke.invoke", "the invocation")) {
        return NAR_INVALID_ARGUMENT;
    }
    {
        const std::lock_guard lock(self->mutex_);
        const auto found = self->requests_.find(token);
        if (found == self->requests_.end() || found->second.is_cancelled ||
            found->second.answers > 0) {
            return NAR_GONE;
        }
        struct Outcome {
            void (*on_outcome)(void*, const nar_invoke_outcome*);
            void* user;
            std::uint64_t token;
            std::uint64_t number;
        };
        const std::uint64_t its_number = fresh_token();
        if (number != nullptr) *number = its_number;
        self->posts_.push_back(
            {[](void* its) {
                 const std::unique_ptr<Outcome> outcome(static_cast<Outcome*>(its));
                 const nar_invoke_outcome given{
                     sizeof given, 0, outcome->token, outcome->number,
                     NAR_STR(R"({"toolId":"check-1","state":"failed","ok":false,"result":null,)"
                             R"("output":{},"executionTime":0,"retryCount":0,)"
                             R"("error":"a check has no tools","errorCode":"TOOL_REFUSED"})")};
                 outcome->on_outcome(outcome->user, &given);
             },
             [](void* its) { delete static_cast<Outcome*>(its); },
             new Outcome{on_outcome, user, token, its_number}, self->chain_ + 1});
    }
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::invoke_cancel(const nar_host* host, std::uint64_t, std::uint64_t) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invoke.cancel", kInActive, true, &status);
    // The outcome is already posted, so there is nothing to cancel.
    return self != nullptr ? NAR_NOT_FOUND : status;
}

nar_status PluginCheckHost::invocation_output(const nar_host* host, std::uint64_t token,
                                              nar_str bytes) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.output", kInActive, false, &status);
    if (self == nullptr) return status;
    if (!self->is_readable(bytes, "invocation.output", "bytes")) return NAR_INVALID_ARGUMENT;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.output", token);
        return NAR_GONE;
    }
    ObservedInvocation& one = found->second;
    if (one.ends > 0 || one.is_handed_over || one.is_refused) {
        self->report_.add_finding("P39", fmt::format("invocation.output was called after {}",
                                                     one.ends > 0         ? "ended"
                                                     : one.is_handed_over ? "run"
                                                                          : "start had refused"));
        return NAR_GONE;
    }
    if (one.unread > 0 && one.unread + bytes.size > kMaxUnread) return NAR_BUSY;
    one.unread += bytes.size;
    one.is_cut |= one.output.size() >= kMaxOutput;
    if (!one.is_cut) one.output += to_view(bytes);
    return NAR_OK;
}

nar_status PluginCheckHost::invocation_diagnostics(const nar_host* host, std::uint64_t token,
                                                   nar_str bytes) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.diagnostics", kInActive, false, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.diagnostics", token);
        return NAR_GONE;
    }
    if (!self->is_readable(bytes, "invocation.diagnostics", "bytes")) return NAR_INVALID_ARGUMENT;
    if (found->second.ends > 0) {
        self->report_.add_finding("P39", "invocation.diagnostics was called after ended");
        return NAR_GONE;
    }
    return NAR_OK;
}

// False with a finding if the runtime refuses this end.
bool PluginCheckHost::read_end(const nar_invocation_end& end, nar_invocation_end& read) {
    constexpr const char* kFunction = "invocation.ended";
    if (end.size < sizeof read || end.size > kMaxStructSize) {
        report_.add_finding("P34",
                            fmt::format("{}: nar_invocation_end.size is {}", kFunction, end.size));
        return false;
    }
    std::memcpy(&read, &end, sizeof read);
    if ((read.flags & ~NAR_END_PERMANENT) != 0 || read.reserved != 0) {
        report_.add_finding(
            "P34", fmt::format("{}: a flag is undefined, or reserved is not 0", kFunction));
        return false;
    }
    if (!is_readable(read.error_code, kFunction, "error_code") ||
        !is_readable(read.error, kFunction, "error") ||
        !is_readable(read.last_output, kFunction, "last_output") ||
        !is_readable(read.details, kFunction, "details")) {
        return false;
    }
    const std::string_view code = to_view(read.error_code);
    const bool is_code = code.empty() || (code[0] >= 'A' && code[0] <= 'Z' &&
                                          code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                                 "0123456789_") == code.npos);
    if (!is_code && !options_.gives_odd_data) {
        report_.add_finding("P34", fmt::format("{}: error_code is \"{}\", not a code like "
                                               "QUEUE_FULL (A-Z, 0-9 and _)",
                                               kFunction, printable(code.substr(0, 64))));
    }
    text_is_good(read.error, kFunction, "error");
    return true;
}

nar_status PluginCheckHost::invocation_ended(const nar_host* host, std::uint64_t token,
                                             const nar_invocation_end* end) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.ended", kInActive, false, &status);
    if (self == nullptr) return status;
    nar_invocation_end read{};
    const bool is_taken = end == nullptr || self->read_end(*end, read);
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.ended", token);
        return NAR_GONE;
    }
    ObservedInvocation& one = found->second;
    if (!is_taken) {
        one.has_refused_end = true;
        self->wake();
        return NAR_INVALID_ARGUMENT;
    }
    if (one.ends++ > 0) {
        self->report_.add_finding("P39", "invocation.ended was called a second time");
        return NAR_STALE;
    }
    if (one.is_handed_over || one.is_refused) {
        self->report_.add_finding("P39", fmt::format("invocation.ended was called after {}",
                                                     one.is_refused ? "start had refused" : "run"));
        return NAR_GONE;
    }
    if (!one.is_cut) one.output += to_view(read.last_output);
    one.ended_at = Clock::now();
    one.exit_status = read.exit_status;
    one.error_code = to_view(read.error_code);
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::invocation_run(const nar_host* host, std::uint64_t token,
                                           const nar_command* command) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.run", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.run", token);
        return NAR_GONE;
    }
    if (command == nullptr || command->size < sizeof(nar_command) ||
        command->size > kMaxStructSize || command->argument_count == 0 ||
        command->arguments == nullptr) {
        self->report_.add_finding("P34", "invocation.run: the nar_command names no program");
        return NAR_INVALID_ARGUMENT;
    }
    ObservedInvocation& one = found->second;
    if (one.ends > 0 || !one.output.empty() || one.is_handed_over) {
        self->report_.add_finding("P39", "invocation.run was called after output, ended or run");
        return NAR_GONE;
    }
    one.is_handed_over = true;
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::invocation_set_waiting(const nar_host* host, std::uint64_t token,
                                                   std::uint32_t waits) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.set_waiting", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.set_waiting", token);
        return NAR_GONE;
    }
    if (waits > 1) {
        self->report_.add_finding(
            "P34", fmt::format("invocation.set_waiting: waits is {}, not 0 or 1", waits));
        return NAR_INVALID_ARGUMENT;
    }
    return found->second.ends > 0 ? NAR_STALE : NAR_OK;
}

}  // namespace narratoria::command::plugin_check
