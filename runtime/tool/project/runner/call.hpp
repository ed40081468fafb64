// SPDX-License-Identifier: Apache-2.0
#pragma once
// An attempt of a tool of specification 001: one JSON request, one JSON reply. The derived classes
// of the three runners transport both; this class turns the reply into events and an outcome, and
// writes the traces (capability_check and tool_call).

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "event/event.hpp"
#include "tool/project/binding.hpp"
#include "tool/project/call_trace.hpp"
#include "tool/runner.hpp"

namespace narratoria::tool {

// The size limit of a reply in bytes. A reply may have several lines, so the line limit does not
// apply.
constexpr size_t kMaximumReply = 64 * 1024 * 1024;

// The binding of a definition that runs in one of these runners.
inline const project::Binding& binding_of(const Definition& definition) {
    return static_cast<const project::Binding&>(*definition.binding);
}

// An entry of a reply's capability_checks.
struct CapabilityCheck {
    std::string capability;
    bool allowed = false;
    std::string guarantee_source;
    std::string reason;
    std::string duration_ms;  // an integer, or empty
};

// A parsed reply.
struct Reply {
    bool ok = false;
    std::string result;  // JSON; "null" if missing
    std::string error_type;
    std::string error_message;
    std::string reason_code;              // "guarantee_blocked" …, or empty
    std::string details;                  // error.details as JSON, or empty
    std::vector<CapabilityCheck> checks;  // those that are well-formed
};

// Parses a reply. Accepts `output` for `result`, and `error_type` with `error_message` for `error`,
// from older runners. Returns false with a message in `why` if the text is not a JSON object, has
// no "ok", or has a different protocol version.
bool read_reply(std::string_view text, Reply& reply, std::string& why);

// Engine thread only. Ends with one AttemptListener::on_ended().
class Call : public Attempt {
public:
    // The definition of `invocation` must have a binding. The listener must outlive the call.
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
    // The guarantees of the binding and of the invocation together.
    const Guarantees& guarantees() const { return guarantees_; }
    // True if the binding asks for a sandbox. Also true for a local tool if the host or the story
    // requires guarantees.
    bool is_sandboxed() const;
    // Returns the remedy if guarantees() would not be enforced; otherwise empty.
    std::string coverage_problem() const;
    // allow_unsafe_execution belongs to the project: it does not waive requirements of the host or
    // the story.
    bool may_be_uncovered() const { return binding_->allow_unsafe && !has_external_guarantees_; }

    // Returns the request for a local or container tool, one line. `with_context` adds
    // capability_context, sandbox and trace_id.
    std::string request(bool with_context) const;

    // `is_covered`: the runner enforces the guarantees. Returns true if the tool may start.
    // Otherwise ends the call with COVERAGE_MISSING in the next round of the loop, with a
    // capability_check for each guarantee in `missing`; NULL: for all.
    bool check_coverage(bool is_covered, std::string_view how_to_cover,
                        const Guarantees* missing = nullptr);

    // Sends a log event. Returns false if the listener destroyed this object.
    [[nodiscard]] bool log(std::string_view level, std::string_view message);

    // These end the call; only the first one has an effect. The listener may destroy this object
    // during the call. `outcome` holds the runner's data about the process, if there was one.
    void end_with_reply(std::string_view text, Outcome outcome = {});
    void end_with_failure(std::string_view code, std::string_view error_type, std::string message,
                          Outcome outcome = {});
    // Like end_with_failure(), in the next round of the loop: begin() must not end a call.
    void fail_soon(std::string code, std::string error_type, std::string message,
                   Outcome outcome = {});
    // The known secrets (kKnownSecrets) in variables of the host and of the project's .env.
    struct KnownSecret {
        std::string_view secret;
        std::string variable;
        std::string value;
    };
    std::vector<KnownSecret> known_secrets() const;

    // Adds a capability_check to the traces: the sandbox refused an act that the guarantee forbids.
    void note_blocked(Guarantee guarantee);
    // The same for a secret that the tool may not have.
    void note_blocked_secret();

    Outcome outcome_of_done() const override { return {}; }
    std::vector<std::string> traces_of_abandoned(const Outcome& outcome) const override;

    // Adds the fields that only the runner knows to the tool_call trace.
    virtual void complete(ToolCall&) const {}

private:
    [[nodiscard]] bool send(event::Type type, std::string_view line);
    void end(const Reply* reply, Outcome outcome);
    std::string trace_of(const Reply* reply, const Outcome& outcome) const;

    Loop& loop_;
    AttemptListener& listener_;
    const std::shared_ptr<const project::Binding> binding_;
    const Guarantees guarantees_;
    const bool has_external_guarantees_;  // the host or the story requires guarantees
    const std::string payload_;
    const std::string trace_id_;
    const uint64_t timeout_ms_;
    const int64_t started_ms_;
    std::vector<std::string> traces_;
    std::string error_type_;
    bool is_unsafe_override_ = false;
    bool has_ended_ = false;
    Lifetime lifetime_;
};

}  // namespace narratoria::tool
