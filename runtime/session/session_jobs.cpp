// SPDX-License-Identifier: Apache-2.0
// The jobs of a session: their queue, the running one, and their cancellation.
#include <algorithm>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"
#include "session/plan_faults.hpp"
#include "session/session.hpp"

namespace narratoria::session {
namespace {

// A plugin that shows the game to a player submits every prompt, but not a hundred per second.
constexpr uint32_t kMaxPromptsInARow = 1'000;

}  // namespace

std::optional<uint64_t> Session::prompt(std::string text, TurnHandler handler,
                                        std::string_view by) {
    const auto is_same = [&](const Job& job) {
        return job.is_prompt && job.by == by && !is_cancelled(job.number);
    };
    const auto unfinished = std::count_if(jobs_.begin(), jobs_.end(), is_same) +
                            (running_ && is_same(current_) ? 1 : 0);
    if (unfinished >= 2) return std::nullopt;
    note_prompter(by);
    Job job = prompt_job(std::move(text));
    job.by = by;
    job.on_turn = std::move(handler);
    submit(std::move(job));
    return last_submission();
}

nar_status Session::submit_prompt(std::string_view text, std::string_view by,
                                  uint64_t& submission) {
    if (destroying_) return NAR_GONE;
    if (text.empty() || !utf8::is_valid(text)) return NAR_INVALID_ARGUMENT;
    if (!has_narrator()) return NAR_NOT_FOUND;
    const std::optional<uint64_t> number = prompt(std::string(text), {}, by);
    if (number) submission = *number;
    return number ? NAR_OK : NAR_BUSY;
}

Session::Job Session::prompt_job(std::string text) {
    Job job;
    job.is_prompt = true;
    job.text = std::move(text);
    job.submitted_us = loop().wall_us();
    return job;
}

void Session::note_prompter(std::string_view by) {
    prompts_of_the_same_ = last_prompter_ == by ? prompts_of_the_same_ + 1 : 1;
    last_prompter_ = by;
    if (by.empty() || prompts_of_the_same_ % kMaxPromptsInARow != 0) return;
    log(NAR_LOG_WARN, "plugin " + last_prompter_ + ": submitted the last " +
                          std::to_string(prompts_of_the_same_) +
                          " prompts; a plugin that answers each turn with a prompt never ends");
}

bool Session::execute(std::string_view text, std::string folder, ExecutionHandler handler,
                      Faults& faults) {
    auto plan = std::make_unique<plan::Plan>();
    if (folder.empty()) folder = folder_;
    plan->parse(text, faults);
    if (faults.empty()) add_path_faults(*plan, resolver_, folder, faults);
    if (!faults.empty()) return false;
    Job job;
    job.plan = std::move(plan);
    job.folder = std::move(folder);
    job.on_execution = std::move(handler);
    submit(std::move(job));
    return true;
}

bool Session::run_script(std::shared_ptr<const script::Program> program, std::string_view scope,
                         std::string_view tools, ScriptHandler handler, script::Error& error) {
    Job job;
    job.folder = folder_;
    // Owned by the two functions below.
    const auto invocations = std::make_shared<Invocations>(Invocations::Context{
        resolver_, folder_, none_disabled_,
        [this](std::unique_ptr<plan::Plan> plan, plan::Settings settings,
               Invocations::OnEnded on_ended) {
            return open_execution(std::move(plan), std::move(settings), std::move(on_ended));
        },
        [](bool) {}});
    job.script = std::make_unique<ScriptRun>(
        ScriptRun::Context{
            loop(), ScriptTools(registry_, std::string(tools)),
            [invocations](plan::ToolInvocation&& invocation, const OnOutcome& on_outcome,
                          uint64_t& number, std::string& why) {
                return invocations->invoke(std::move(invocation), Invocations::Start::Now,
                                           on_outcome, number, why);
            },
            [this] { return has_cancel(); },
            [this, printed = handler.printed](std::string_view line) {
                if (printed) with_.engine.call_host([&] { printed(line); });
            },
            [this, invocations](ScriptEnd end) {
                invocations->end(end.reason);
                end.result = invocations->result();
                on_script_ended(end);
            },
            handler.ended && handler.wants_scope},
        std::move(program), script_limits());
    if (!scope.empty() && !job.script->set_scope(scope, error)) return false;
    job.on_script = std::move(handler);
    submit(std::move(job));
    return true;
}

void Session::submit(Job job) {
    job.number = ++submitted_numbers_;
    jobs_.push_back(std::move(job));
    submitted_.store(submitted_numbers_);
    begin_soon();
}

// Deferred, so that submit() returns to its caller before the first event of the job.
void Session::begin_soon() {
    if (running_ || begin_requested_ || destroying_) return;
    begin_requested_ = true;
    // A host that drives the loop for turns only must first read what has changed since the last
    // turn. A driving call with a budget runs two rounds of tasks before it reads.
    begin_after(story_watch_ ? 3 : 1);
}

void Session::begin_after(int rounds) {
    loop().defer([this, life = lifetime_.watch(), rounds] {
        if (life.ended()) return;
        if (rounds > 1) return begin_after(rounds - 1);
        begin_requested_ = false;
        // First: a job cancelled while it waited must not start.
        apply_cancel();
        const bool is_settling = story_watch_ && story_watch_->is_settling();
        if (!running_ && (must_reload_ || is_settling)) {
            reload_story(!is_settling);
            if (life.ended()) return;
        }
        begin_next();
    });
}

void Session::begin_next() {
    if (running_ || jobs_.empty()) return;
    begin_job();
    if (turn_) turn_->begin([this] { cancel_running(plan::Stop::PromptTimeout); });
}

// Publishes a prompt without asking the narrator, so that apply_cancel() can end a waiting prompt
// with the same events as a running one.
void Session::begin_job() {
    running_ = true;
    current_ = std::move(jobs_.front());
    jobs_.pop_front();
    if (current_.move) {
        try {
            // A cancelled move leaves no trace: nobody has seen its prompt yet.
            if (is_cancelled(current_.number) || !carry_out_move()) return end_job();
        } catch (...) {
            // Out of memory: the engine reports it and goes on.
            end_job();
            throw;
        }
    }
    if (current_.script) {
        presentation_.forget_choices();
        begin_turn(journal::TurnKind::Script);
        current_.script->start();
        return;
    }
    if (current_.playback) play_recorded();
    if (current_.on_replayed) return;
    if (!current_.is_prompt) {
        begin_turn(journal::TurnKind::Plan);
        const int64_t attempt = current_.plan->generation_attempt;
        begin_execution(std::move(current_.plan), attempt);
        return;
    }
    current_.folder = folder_;
    turn_ = std::make_unique<Turn>(
        TurnContext{loop(), settings_, folder_, narrator_, stream_, *with_.store,
                    built_in_ == nullptr ? &registry_ : nullptr, resolver_, presentation_,
                    random_.next(), narrator_details_, fallbacks_, offered_, with_.journal.get(),
                    current_.playback.get()},
        Turn::Actions{[this](std::unique_ptr<plan::Plan> plan) {
                          begin_execution(std::move(plan), turn_->generation());
                      },
                      [this](TurnEnd end) { on_turn_ended(std::move(end)); },
                      [this](std::unique_ptr<plan::Plan> plan, plan::Settings settings,
                             Invocations::OnEnded on_ended) {
                          settings.generation_attempt = turn_->generation();
                          settings.parent_plan_id = turn_->parent_plan_id();
                          return open_execution(std::move(plan), std::move(settings),
                                                std::move(on_ended));
                      }},
        current_.text, current_.submitted_us);
}

void Session::on_execution_ended(std::shared_ptr<plan::Result> result) {
    execution_.reset();
    if (result->success) presentation_.offer(result->plan_id, result->choices);
    if (turn_) return turn_->on_result(std::move(result));
    const auto status =
        result->cancelled ? journal::TurnStatus::Cancelled : journal::TurnStatus::Completed;
    end_turn(status, [this, handler = std::move(current_.on_execution), result] {
        end_job();
        if (handler) with_.engine.call_host([&] { handler(result); });
    });
}

void Session::on_turn_ended(TurnEnd end) {
    if (end.outcome == TurnOutcome::Fallback) {
        log(NAR_LOG_WARN,
            "a prompt ended with the fallback text after " +
                (end.generations == 1 ? std::string("one reply")
                                      : std::to_string(end.generations) + " replies") +
                " of the narrator; the last one: " + end.fault,
            "FALLBACK");
    }
    turn_.reset();
    told_ = json::quoted(end.told);
    ending_ = end.ending;
    offered_ = end.choices;
    if (end.generations > 0) {
        story_so_far_.add({current_.text, end.narrative, end.choices, end.tools, end.metadata});
    }
    const TurnHandler handler = std::move(current_.on_turn);
    end_job();
    if (handler) with_.engine.call_host([&] { handler(end); });
}

void Session::on_script_ended(const ScriptEnd& end) {
    ended_script_ = std::move(current_.script);
    loop().defer([this, life = lifetime_.watch()] {
        if (!life.ended()) ended_script_.reset();
    });
    const auto status = is_cancelled(current_.number) ? journal::TurnStatus::Cancelled
                                                      : journal::TurnStatus::Completed;
    end_turn(status, [this, handler = std::move(current_.on_script), end] {
        end_job();
        if (handler.ended) with_.engine.call_host([&] { handler.ended(end); });
    });
}

// Called before the job's handler: the handler may submit, and must find the session idle. The next
// job starts from the loop, after the handler has returned.
void Session::end_job() {
    cancelled_.erase(current_.number);
    current_.invocations.reset();
    current_.playback.reset();
    running_ = false;
    if (!jobs_.empty() || must_reload_) begin_soon();
}

void Session::request_cancel() noexcept {
    // A job number instead of a flag: a prompt submitted after this call must not be cancelled.
    const uint64_t up_to = submitted_.load();
    // Atomic maximum: another thread may have stored a larger number.
    uint64_t before = cancel_up_to_.load();
    while (before < up_to && !cancel_up_to_.compare_exchange_weak(before, up_to)) {
    }
    with_.engine.wake();
}

bool Session::cancel(uint64_t submission) {
    const bool is_running = running_ && current_.number == submission;
    if (!is_running && std::none_of(jobs_.begin(), jobs_.end(),
                                    [&](const Job& job) { return job.number == submission; })) {
        return false;
    }
    cancelled_.insert(submission);
    with_.engine.wake();
    return true;
}

void Session::cancel_running(plan::Stop reason) {
    if (execution_) {
        execution_->stop(reason);
        return;
    }
    if (current_.script) return current_.script->stop(reason);
    if (current_.on_replayed) return end_replay();
    if (!turn_) return;
    turn_->stop(reason == plan::Stop::Cancelled ? TurnOutcome::Cancelled : TurnOutcome::Timeout);
}

void Session::apply_cancel() {
    if (!has_cancel()) return;
    const auto stop = [this] {
        stopped_ = current_.number;
        cancel_running(plan::Stop::Cancelled);
    };
    if (running_) stop();
    // Starts waiting jobs and ends them immediately, so that each handler is called and each prompt
    // is published.
    while (!running_ && has_cancel()) {
        begin_job();
        stop();
    }
}

}  // namespace narratoria::session
