// SPDX-License-Identifier: Apache-2.0
#pragma once
// Test narrators that record their requests and answer as configured.

#include "conformance/stage.hpp"

#include <deque>

namespace narratoria::test {

// Answers each request with a function of the request, and records the requests.
class ScriptedNarrator {
public:
    using Answer = std::function<std::string(const Json& request)>;

    // `answer` returns the plan's text.
    explicit ScriptedNarrator(Answer answer) : answer_(std::move(answer)) {}
    // Answers with the plans in order, and repeats the last one.
    explicit ScriptedNarrator(std::vector<std::string> plans)
        : answer_([plans = std::move(plans), next = size_t{0}](const Json&) mutable {
              const std::string plan = plans[next];
              if (next + 1 < plans.size()) ++next;
              return plan;
          }) {}

    Narrator narrator() {
        return {.id = "scripted",
                .generate =
                    [this](std::string_view request, const NarratorReply& reply) {
                        requests.emplace_back(request);
                        reply.plan(answer_(requests.back()));
                    },
                .cancel = {}};
    }

    std::deque<Json> requests;

private:
    Answer answer_;
};

// Leaves each request open until the test answers it.
class PatientNarrator {
public:
    Narrator narrator() {
        return {.id = "patient",
                .generate =
                    [this](std::string_view request, const NarratorReply& reply) {
                        requests.emplace_back(request);
                        replies.push_back(reply);
                        if (on_asked) on_asked();
                    },
                .cancel = [this](uint64_t token) { cancelled.push_back(token); }};
    }

    std::deque<Json> requests;
    std::vector<NarratorReply> replies;
    std::vector<uint64_t> cancelled;
    std::function<void()> on_asked;
};

// A copy of a turn's result, which outlives the callback.
struct Ended {
    Outcome outcome;
    uint32_t generations;
    std::string narrative;
    Json choices;
    std::optional<Json> result;
};

inline std::function<void(Turn)> keep(std::optional<Ended>& ended) {
    return [&ended](Turn turn) {
        if (ended) throw std::logic_error("a prompt ended twice");
        ended = Ended{turn.outcome(), turn.generations(), std::string(turn.narrative()),
                      Json(turn.choices()), std::nullopt};
        if (turn.result()) ended->result = Json(turn.result().json().view());
    };
}

// Runs one prompt to its end.
inline Ended turn(Stage& stage, std::string_view words) {
    std::optional<Ended> ended;
    stage.session.prompt(words, keep(ended));
    stage.engine.run_until_idle();
    if (!ended) throw std::runtime_error("the prompt did not end");
    return *ended;
}

// A plan without tools.
inline std::string tells(std::string_view narrative, std::string_view request_id = "told") {
    return R"({"requestId":)" + json_text(request_id) + R"(,"tools":[],"narrative":)" +
           json_text(narrative) + "}";
}

}  // namespace narratoria::test
