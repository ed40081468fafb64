// SPDX-License-Identifier: Apache-2.0
// What a narrator reports to a session and asks of it while its question is open.
#include <utility>

#include "session/session.hpp"

namespace narratoria::session {

nar_status Session::delta(uint64_t token, std::string_view text) {
    return narrator_.delta(token, text);
}

nar_status Session::usage(uint64_t token, std::string_view line) {
    return narrator_.usage(token, line);
}

nar_status Session::answer(uint64_t token, bool is_plan, std::string text) {
    return narrator_.answer(token, {is_plan, std::move(text)});
}

void Session::give_up(uint64_t token, std::string message) {
    narrator_.answer(token, {false, std::move(message), true});
}

nar_status Session::invoke(uint64_t token, plan::ToolInvocation&& invocation,
                           Invocations::Start start, OnOutcome on_outcome, uint64_t& number,
                           std::string& why) {
    if (!narrator_.is_open(token)) {
        why = "the request already has a reply, was cancelled or timed out, or never existed";
        return NAR_GONE;
    }
    return turn_->invoke(std::move(invocation), start, std::move(on_outcome), number, why);
}

nar_status Session::invoke(uint64_t token, std::string_view invocation, OnOutcomeJson on_outcome,
                           uint64_t& number, std::string& why) {
    plan::ToolInvocation parsed;
    if (!parse(invocation, parsed, why)) return NAR_INVALID_DOCUMENT;
    return invoke(
        token, std::move(parsed), Invocations::Start::FromLoop,
        std::make_shared<OutcomeFunction>(
            [on_outcome = std::move(on_outcome)](uint64_t its, const plan::ToolResult& outcome) {
                on_outcome(its, outcome_json(outcome));
            }),
        number, why);
}

nar_status Session::cancel_invocation(uint64_t token, uint64_t number) {
    return narrator_.is_open(token) ? turn_->cancel_invocation(number) : NAR_GONE;
}

}  // namespace narratoria::session
