// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/validate.hpp"
#include "plugin_check/exercise_session.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Seconds to wait for a reply after cancel.
constexpr double kAfterCancel = 0.25;

constexpr std::string_view kRequest =
    R"({"schema":"narrator-request/1","sessionId":"session-1",)"
    R"("prompt":{"text":"I light the torch","timestamp":"2026-01-24T18:30:00Z","sessionId":"session-1"},)"
    R"("generationAttempt":1,"parentPlanId":null,"disabledSkills":[],"previousResult":null,)"
    R"("planFaults":[],"state":{"inventory":{"torch":{"lit":false}}},)"
    R"("tools":[{"name":"torch-lighter","description":"Lights torches","inputSchema":{"type":"object"}}]})";

}  // namespace

std::uint64_t ExerciseSession::generate(const nar_narrator_extension& narrator,
                                        std::string_view request) {
    const std::uint64_t token = host_.new_request();
    Loan loan(host_.options().memory);
    nar_narrator_request given{};
    given.timeout_ms = 5'000;
    given.token = token;
    given.json = lend_text(loan, request, "the narrator's request");
    const nar_narrator_request* const lent = lend(loan, given, "the nar_narrator_request");
    host_.call("narrator generate", "narrator generate",
               [&] { narrator.generate(instance_, lent); });
    return token;
}

void ExerciseSession::cancel(const nar_narrator_extension& narrator, std::uint64_t token) {
    if (host_.request(token).answers > 0) return;
    host_.will_cancel_request(token, narrator.cancel != nullptr);
    if (narrator.cancel == nullptr) return;
    host_.call("narrator cancel", "narrator cancel", [&] { narrator.cancel(instance_, token); });
}

void ExerciseSession::judge_plan(const NarratorRequest& request) {
    if (!request.has_plan) return;
    const Text faults = validate(Document::Plan, request.plan);
    const json::Document list = json::read(faults.view());
    if (!list.IsArray() || list.Empty()) return;
    host_.report().add_warning(
        "P38", fmt::format("the plan has a fault: {}: {}", json::text(list[0], "pointer"),
                           json::text(list[0], "message")));
}

void ExerciseSession::narrator() {
    const auto* narrator = wanted<nar_narrator_extension>(NAR_EXTENSION_NARRATOR);
    if (narrator == nullptr) return;
    answers_later_ = true;
    std::string later(kRequest);
    later.insert(later.size() - 1, R"(,"fieldOfALaterVersion":{"deep":[1]})");
    const std::vector<std::string> requests =
        is_judged() ? std::vector<std::string>(3, std::string(kRequest))
                    : repeated(variants(is_future() ? later : std::string(kRequest)));
    double left = patience();
    for (const std::string& request : requests) {
        const std::uint64_t token = generate(*narrator, request);
        const Clock::time_point began = Clock::now();
        const bool answered = host_.run_loop(is_judged() ? patience() : left,
                                             [&] { return host_.request(token).answers > 0; });
        left = std::max(0.0, left - seconds_since(began));
        if (is_judged() && !answered && !has_thrown()) {
            host_.report().add_finding("P35", fmt::format("a request had no reply after {} s; call "
                                                          "reply or fail (--time allows more time)",
                                                          patience()));
        }
        if (is_judged() && answered) judge_plan(host_.request(token));
        cancel(*narrator, token);
        if (is_judged() && !answered) break;
    }
    if (is_judged()) {
        // Cancelled at once. A reply from within generate is valid.
        cancel(*narrator, generate(*narrator, kRequest));
        run_loop(kAfterCancel);
    }
}

}  // namespace narratoria::command::plugin_check
