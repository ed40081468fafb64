// SPDX-License-Identifier: Apache-2.0
#pragma once
// An attempt of a tool of specification 001: one JSON request, one JSON reply. The classes of the
// three runners carry both; this one turns the reply into events and an outcome, and writes the traces
// (capability_check and tool_call).

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "event/event.hpp"
#include "tool/project/binding.hpp"
#include "tool/runner/call_trace.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// In bytes. A reply may have several lines, so the limit on a line does not apply.
constexpr size_t kMaximumReply = 64 * 1024 * 1024;

// What a reply says. A reply that is none is a failure, too.
struct Reply {
    bool ok = false;
    std::string result;  // JSON; "null" if there was none
    std::string error_type;
    std::string error_message;
    std::string reason_code;          // "guarantee_blocked" …, or empty
    std::string details;              // error.details as JSON, or empty
    std::vector<std::string> checks;  // well-formed capability_checks, as JSON objects
};

// Reads the one JSON object that a tool answers with. `output` stands for `result` and `error_type`
// with `error_message` for `error`, as older runners write them. False with `why`, for people: it is
// no JSON, no object, without "ok", of another protocol version.
bool read_reply(std::string_view text, Reply& reply, std::string& why);

class Call : public Attempt {
public:
    // `invocation` has a definition with a binding. The listener must outlive the call.
    Call(Loop& loop, const Invocation& invocation, AttemptListener& listener);
    ~Call() override;

protected:
    const project::Binding& binding() const { return *binding_; }
    Loop& loop() { return loop_; }
    const std::string& payload() const { return payload_; }  // JSON
    const std::string& trace_id() const { return trace_id_; }
    uint64_t timeout_ms() const { return timeout_ms_; }  // 0: no limit
    uint64_t age_ms() const;
    bool has_ended() const { return has_ended_; }
    // Of the binding and of the invocation.
    const Guarantees& guarantees() const { return guarantees_; }
    // A local tool runs in a sandbox if its binding says so, and if others require guarantees of it.
    bool is_sandboxed() const;
    // Why guarantees() would not be enforced, and what to do; or empty.
    std::string coverage_problem() const;
    // allow_unsafe_execution is the project's: it waives nothing that others require.
    bool may_be_uncovered() const { return binding_->allow_unsafe && !others_require_; }

    // The request of a local or a container tool, one line. `with_context`: also capability_context,
    // sandbox and trace_id.
    std::string request(bool with_context) const;

    // `is_covered`: the runner enforces the guarantees. True if the tool may start; otherwise ends the
    // call soon (COVERAGE_MISSING), with a capability_check for each guarantee.
    bool check_coverage(bool is_covered, std::string_view how_to_cover);

    // Sends a log event. False if the listener destroyed this object.
    [[nodiscard]] bool log(std::string_view level, std::string_view message);

    // Each ends the call, once; the listener may destroy this object in it. `outcome` has what the
    // runner knows of the process, if there was one.
    void end_with_reply(std::string_view text, Outcome outcome = {});
    void end_with_failure(std::string_view code, std::string_view error_type, std::string message,
                          Outcome outcome = {});
    // The same in the next round of the loop: begin() must not end a call.
    void fail_soon(std::string code, std::string error_type, std::string message);
    // Tells the trace that the sandbox refused what the guarantee forbids.
    void note_blocked(Guarantee guarantee);

    Outcome outcome_of_done() const override { return {}; }
    std::vector<std::string> traces_of_abandoned(const Outcome& outcome) const override;

    // Adds what only the runner knows to the tool_call trace.
    virtual void complete(ToolCall&) const {}

private:
    [[nodiscard]] bool send(std::string line);
    void end(const Reply* reply, Outcome outcome);
    std::string trace_of(const Reply* reply, const Outcome& outcome) const;

    Loop& loop_;
    AttemptListener& listener_;
    const std::shared_ptr<const project::Binding> binding_;
    const Guarantees guarantees_;
    const bool others_require_;  // somebody besides the project
    const std::string payload_;
    const std::string trace_id_;
    const uint64_t timeout_ms_;
    const int64_t started_ms_;
    event::Decoder decoder_;
    std::vector<std::string> traces_;
    std::string error_type_;
    bool is_unsafe_override_ = false;
    bool has_ended_ = false;
    bool* destroyed_ = nullptr;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace narratoria::tool
