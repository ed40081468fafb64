// SPDX-License-Identifier: Apache-2.0
#include "story/playthrough.hpp"

#include <utility>

#include "engine/drive.hpp"
#include "json.hpp"

namespace narratoria::command::story {

using namespace terminal;

bool PlayedTurn::has_untold_failure() const {
    return !failed_tools.empty() && !answers.empty() && outcome == Outcome::Fallback &&
           warning.find("no other answer is left") != std::string::npos;
}

Playthrough::Playthrough(Engine& engine, const std::string& folder, std::uint64_t seed,
                         std::string_view state)
    : engine_(engine), session_(engine, {.story = folder, .state = state, .seed = seed}) {
    const json::Document opening = json::read(session_.opening());
    if (opening.IsObject()) choices_ = json::texts(json::member(opening, "choices"));
    session_.attach([this](Event event) { take(event); },
                    kinds(Kind::PlanStarted, Kind::ToolStarted, Kind::ToolEnded, Kind::Warning));
}

std::string Playthrough::opening_text() const {
    const json::Document opening = json::read(session_.opening());
    return opening.IsObject() ? std::string(json::text(opening, "text")) : std::string();
}

PlayedTurn Playthrough::prompt(std::string_view text) {
    turn_ = {};
    session_.prompt(text, [this](Turn turn) {
        turn_.outcome = turn.outcome();
        const json::Document choices = json::read(turn.choices());
        turn_.choices = json::texts(&choices);
    });
    drive_until_idle(engine_, [] {});
    const json::Document now = json::read(session_.current());
    turn_.told = json::text(now, "narrative");
    turn_.ending = json::text(now, "ending");
    choices_ = turn_.choices;
    return std::move(turn_);
}

std::string Playthrough::state(std::string_view pointer) const {
    try {
        return std::string(session_.state(pointer).view());
    } catch (const Error& error) {
        if (error.status() != NAR_NOT_FOUND) throw;
        return {};
    }
}

void Playthrough::take(const Event& event) {
    const std::string id(event.tool_id());
    const json::Document body = json::read(event.body());
    switch (event.kind()) {
        case Kind::PlanStarted: {
            turn_.last_answer.clear();
            const json::Value* const plan = json::member(body, "plan");
            const json::Value* const metadata =
                plan != nullptr ? json::member(*plan, "metadata") : nullptr;
            if (metadata == nullptr || !metadata->IsObject()) break;
            turn_.last_answer = json::text(*metadata, "answer");
            if (!turn_.last_answer.empty()) turn_.answers.push_back(turn_.last_answer);
            turn_.rules = json::texts(json::member(*metadata, "rules"));
            break;
        }
        case Kind::ToolStarted:
            paths_[id] = json::text(body, "toolPath");
            turn_.tools.push_back(paths_[id]);
            break;
        case Kind::ToolEnded:
            if (json::text(body, "state") == "completed") break;
            if (json::text(body, "state") == "skipped") break;
            turn_.failed_tools.push_back(
                {paths_[id] + ": " + std::string(json::text(body, "error")), turn_.last_answer,
                 json::count(body, "retryCount")});
            break;
        case Kind::Warning: turn_.warning = json::text(body, "message"); break;
        default: break;
    }
}

}  // namespace narratoria::command::story
