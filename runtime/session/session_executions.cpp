// SPDX-License-Identifier: Apache-2.0
// The executions of a session: those of a plan, and those that a narrator or a script opens.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/environment.hpp"
#include "session/session.hpp"

namespace narratoria::session {

// Called before the first tool, not in the constructor: a session with only host functions as tools
// needs no folder, and many sessions only validate.
void Session::provide_output() {
    if (std::exchange(is_output_settled_, true)) return;
    const engine::EngineSettings& settings = with_.engine.settings();
    const std::string start = std::string(kOutputVariable) + "=";
    const bool has_own = std::any_of(environment_.begin(), environment_.end(),
                                     [&](const auto& each) { return each.starts_with(start); });
    if (settings.output_mode == NAR_OUTPUT_NONE || has_own) return;
    std::string why;
    output_ =
        OutputFolder::create(settings.output, id(), settings.output_mode == NAR_OUTPUT_KEEP, why);
    if (output_ != nullptr) {
        set_variable(environment_, start + output_->path());
        return;
    }
    const std::string message = "cannot create the folder for the files of the tools (" +
                                start.substr(0, start.size() - 1) + "): " + why;
    log(NAR_LOG_WARN, message);
    warn("OUTPUT_FOLDER", message);
}

void Session::begin_execution(std::unique_ptr<plan::Plan> plan, int64_t generation_attempt) {
    plan::Settings settings;
    settings.generation_attempt = generation_attempt;
    if (turn_) {
        settings.parent_plan_id = turn_->parent_plan_id();
        settings.disabled_skills = turn_->disabled_skills();
    } else {
        presentation_.forget_choices();
        if (plan->parent_plan_id) settings.parent_plan_id = *plan->parent_plan_id;
    }
    std::unordered_set<std::string> disabled(settings.disabled_skills.begin(),
                                             settings.disabled_skills.end());
    for (const std::string_view skill : plan->disabled_skills) {
        if (disabled.emplace(skill).second) settings.disabled_skills.emplace_back(skill);
    }
    if (!plan->tools.empty() && !replays()) provide_output();
    execution_ = make_execution(
        std::move(plan), std::move(settings),
        [this](std::shared_ptr<plan::Result> result) { on_execution_ended(std::move(result)); });
    execution_->start();
}

// Adds the settings that all executions of the running job share.
std::unique_ptr<plan::Execution> Session::make_execution(
    std::unique_ptr<plan::Plan> plan, plan::Settings settings,
    std::function<void(std::shared_ptr<plan::Result>)> on_ended) {
    const uint64_t number = ++executions_;
    settings.folder = current_.folder;
    settings.number = number;
    settings.seed = tool_random_.next();
    settings.try_ms = settings_.times.try_ms;
    settings.plan_ms = settings_.times.plan_ms;
    settings.on_ui_event = [this](uint64_t seq, const event::Subject& subject,
                                  const event::Event& event) {
        presentation_.on_ui_event(seq, subject, event);
    };
    settings.log = [this](uint32_t level, std::string_view message, std::string_view code) {
        log(level, message, code);
    };
    settings.on_no_supervisor = [this](std::string_view why) {
        if (!std::exchange(reported_no_supervisor_, true)) {
            log(NAR_LOG_ERROR, "no tool of this session can be started: " + std::string(why));
        }
    };
    settings.before_unrepeatable = [this](const event::Subject& subject, std::string_view body) {
        if (with_.journal) with_.journal->note_tool_starting(subject, body);
    };
    settings.has_processes = [this] { return with_.engine.pool().busy() > 0; };
    settings.on_tools_ended = [this, number] { presentation_.on_tools_ended(number); };
    return std::make_unique<plan::Execution>(
        plan::ExecutionContext{loop(), with_.engine.slots(), with_.engine.waiting_slots(),
                               resolver_, stream_, *with_.store, assets_, environment_,
                               settings_.limits, settings_.sandbox, current_.playback.get()},
        std::move(plan), std::move(settings), std::move(on_ended));
}

// Starts the execution of the tools that a narrator or a script invokes.
std::unique_ptr<plan::Execution> Session::open_execution(std::unique_ptr<plan::Plan> plan,
                                                         plan::Settings settings,
                                                         Invocations::OnEnded on_ended) {
    if (!replays()) provide_output();
    auto made = make_execution(std::move(plan), std::move(settings), std::move(on_ended));
    made->start();
    return made;
}

}  // namespace narratoria::session
