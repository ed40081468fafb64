// SPDX-License-Identifier: Apache-2.0
#include "tool/runner.hpp"

#include <utility>

#include "tool/value_check.hpp"

namespace narratoria::tool {
namespace {

// Wraps the attempt of a tool with a result schema: checks the result before the listener gets it.
class CheckedAttempt : public Attempt, private AttemptListener {
public:
    CheckedAttempt(const Invocation& invocation, AttemptListener& listener)
        : definition_(*invocation.definition),
          is_advice_(definition_.result_is_advice || invocation.is_of_script),
          listener_(listener) {}

    AttemptListener& inner_listener() { return *this; }
    void take(std::unique_ptr<Attempt> inner) { inner_ = std::move(inner); }

    void deliver_early() override { inner_->deliver_early(); }
    void terminate() override { inner_->terminate(); }
    std::string diagnostics() const override { return inner_->diagnostics(); }
    const std::vector<std::string>* readable() const override { return inner_->readable(); }
    Outcome outcome_of_done() const override {
        Outcome outcome = inner_->outcome_of_done();
        check_result(definition_, is_advice_, outcome);
        return outcome;
    }
    std::vector<std::string> traces_of_abandoned(const Outcome& outcome) const override {
        return inner_->traces_of_abandoned(outcome);
    }

private:
    void on_started() override { listener_.on_started(); }
    void on_waiting(bool waits) override { listener_.on_waiting(waits); }
    void on_batch() override { listener_.on_batch(); }
    void on_batch_end() override { listener_.on_batch_end(); }
    void on_event(const event::Event& event) override { listener_.on_event(event); }
    void on_ended(Outcome outcome) override {
        check_result(definition_, is_advice_, outcome);
        // Last: the listener may destroy this object.
        listener_.on_ended(std::move(outcome));
    }

    const Definition& definition_;
    const bool is_advice_;
    AttemptListener& listener_;
    std::unique_ptr<Attempt> inner_;
};

}  // namespace

bool is_permanent(std::string_view code) {
    return code == "INPUT_INVALID" || code == "GUARANTEE_UNAVAILABLE" ||
           code == "GUARANTEE_BLOCKED" || code == "COVERAGE_MISSING" || code == "PATCH_TOO_LARGE";
}

bool is_fault_of_program(std::string_view code) {
    return code == "SPAWN_FAILED" || code == "MISSING_DONE" || code == "PROTOCOL_ERROR" ||
           code == "SIGNALED" || code == "TOOL_DROPPED" || code == "PLUGIN_DROPPED" ||
           code == "PLUGIN_EXCEPTION" || code == "INPUT_INVALID" || code == "RESULT_INVALID";
}

std::string refused_text(std::string_view tool, const process::Exit& exit) {
    std::string out;
    if (exit.refused_sockets > 0) out = blocked_message(tool, Guarantee::NoNetwork);
    if (exit.refused_programs == 0) return out;
    if (!out.empty()) out += ' ';
    out += blocked_message(tool, Guarantee::NoSubprocess);
    return out;
}

std::unique_ptr<Attempt> Runner::start(const Invocation& invocation, AttemptListener& listener,
                                       StartFailure& failure) {
    if (!invocation.is_checked) {
        failure.message = check_input(*invocation.definition, invocation.request);
    }
    if (!failure.message.empty()) {
        failure.code = "INPUT_INVALID";
        return nullptr;
    }
    if (invocation.guarantees != nullptr && !enforces_guarantees()) {
        failure.code = "GUARANTEE_UNAVAILABLE";
        failure.may_retry = false;
        failure.message =
            "guarantees are required of this tool, but cannot be enforced: it is a function that "
            "runs inside the host or a plugin; require them of other tools only, or make it a "
            "program";
        return nullptr;
    }
    if (invocation.definition->result == nullptr) return begin(invocation, listener, failure);
    auto checked = std::make_unique<CheckedAttempt>(invocation, listener);
    auto inner = begin(invocation, checked->inner_listener(), failure);
    if (inner == nullptr) return nullptr;
    checked->take(std::move(inner));
    return checked;
}

}  // namespace narratoria::tool
