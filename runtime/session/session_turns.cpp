// SPDX-License-Identifier: Apache-2.0
// The stored turns of a session: where it continues, goes to, and what it plays again.
#include <utility>

#include "base/json/writer.hpp"
#include "journal/restore.hpp"
#include "journal/store_values.hpp"
#include "session/session.hpp"

namespace narratoria::session {
namespace {

// Parses the output of rest(). False if it is empty or not valid.
bool read_rest(const std::string& rest, json::Document& document) {
    json::ParseError error;
    return !rest.empty() && document.parse(rest, error, json::kDepthOfOwn) &&
           document.root().is_object();
}

uint64_t number_in(json::Value object, std::string_view key) {
    const json::Value value = object.find(key);
    return value ? static_cast<uint64_t>(value.integer().value_or(0)) : 0;
}

void require_prompt(const journal::TurnRow& turn) {
    if (turn.kind == journal::TurnKind::Prompt) return;
    throw journal::TurnError("NOT_A_PROMPT", "turn " + std::to_string(turn.id) +
                                                 " is not a prompt; only a prompt can be played "
                                                 "again");
}

}  // namespace

void Session::restore_from_journal() {
    journal::Journal& journal = *with_.journal;
    const journal::Journal::Restored past =
        journal.restore(settings_.limits.history_patches, *with_.store, assets_);
    json::Document document;
    // Event and execution numbers stay unique, even if the session continues from an older turn.
    if (read_rest(past.latest_rest, document)) {
        stream_.continue_after(number_in(document.root(), "seq"));
        executions_ = number_in(document.root(), "executions");
    }
    stream_.continue_after(std::max(stream_.last_number(), past.interrupted_seq));
    executions_ += past.interrupted_executions;
    take_rest(past);
    journal.listen(
        {*with_.store, assets_, stream_, [this](journal::TurnKind kind) { return rest(kind); },
         [this](const journal::StoreFailure& failure) {
             const char* const advice =
                 std::string_view(failure.code) == "STORE_REMOVED"
                     ? "; nothing more is stored, and its turns are gone with the file: the game "
                       "goes on only until the session ends"
                 : failure.is_final
                     ? "; nothing more is stored; remove the cause, and open the session again: it "
                       "continues from its last stored turn"
                     : "; the session continues, and each turn tries again to store what is "
                       "missing; remove the cause before the session ends";
             const std::string message = failure.message + advice;
             log(NAR_LOG_ERROR, message, failure.code);
             warn(failure.code, message);
         },
         [this] {
             log(NAR_LOG_INFO, "all turns are stored again", "STORE_RECOVERED");
             warn("STORE_RECOVERED", "all turns are stored again");
         },
         [this](const std::string& warning) {
             log(NAR_LOG_ERROR, warning, "STORE_DAMAGED");
             warn("STORE_DAMAGED", warning);
         }});
}

void Session::take_rest(const journal::Journal::Restored& past) {
    json::Document document;
    story_so_far_.clear();
    for (const journal::Journal::PastPrompt& each : past.prompts) {
        // Prompts that were cancelled before they began are not turns of the story.
        if (!read_rest(each.rest, document) || number_in(document.root(), "generations") == 0) {
            continue;
        }
        // Without what the tools said, which `tools` has.
        json::Value narrative = document.root().find("narrated");
        if (!narrative) narrative = document.root().find("narrative");
        const json::Value choices = document.root().find("choices");
        const json::Value tools = document.root().find("tools");
        const json::Value metadata = document.root().find("planMetadata");
        story_so_far_.add({each.prompt, narrative && narrative.is_string() ? narrative.text() : "",
                           choices ? choices.raw() : "[]", tools ? tools.raw() : "[]",
                           metadata ? metadata.raw() : ""});
    }
    const bool is_read = read_rest(past.rest, document);
    fallbacks_ = is_read ? number_in(document.root(), "fallbacks") : 0;
    with_.store->set_patches(is_read ? number_in(document.root(), "patches") : 0);
    auto member = [&](std::string_view key, std::string_view none) {
        const json::Value value = is_read ? document.root().find(key) : json::Value();
        return std::string(value ? value.raw() : none);
    };
    told_ = member("narrative", "\"\"");
    const json::Value ending = is_read ? document.root().find("ending") : json::Value();
    ending_ = ending && ending.is_string() ? ending.text() : "";
    offered_ = member("choices", is_read ? "[]" : first_choices());
    const json::Value described = is_read ? document.root().find("metadata") : json::Value();
    state::Metadata before = std::exchange(metadata_, {});
    if (!described || !described.is_object()) return;
    for (const json::Member key : described.members()) {
        const json::Value text =
            key.value.is_object() ? key.value.find("description") : json::Value();
        if (!text || !text.is_string()) continue;
        // The journal cannot hold a formatter (code), so keep the one registered in this process.
        const auto known = before.find(key.key);
        state::Description description = known ? *known : state::Description();
        description.text = text.text();
        metadata_.set(key.key, std::move(description));
    }
}

std::optional<journal::TurnId> Session::destination_of(uint64_t turn) {
    if (turn == NAR_TURN_PREVIOUS) return with_.journal->last_ended_prompt().parent;
    return journal::turn_of(turn, {});
}

void Session::go_to(std::optional<journal::TurnId> turn, bool plays_again) {
    state::Store state(settings_.limits.history_patches);
    asset::Registry assets(with_.engine.settings().root);
    const journal::Journal::Restored past =
        with_.journal->go_to(turn, settings_.limits.history_patches, state, assets);
    with_.store->take_from(std::move(state));
    assets_.take_from(std::move(assets));
    take_rest(past);
    presentation_.forget_choices();
    std::string body;
    append_current(body, plays_again);
    stream_.publish(event::Kind::SessionMoved, {}, body);
}

void Session::append_current(std::string& out, bool plays_again) const {
    const std::optional<journal::TurnId> turn =
        with_.journal ? with_.journal->current() : std::nullopt;
    json::ObjectWriter writer(out);
    writer.number("turn", turn.value_or(0)).raw("narrative", told_).raw("choices", offered_);
    if (!ending_.empty()) writer.string("ending", ending_);
    if (plays_again) writer.boolean("playsAgain", true);
    writer.end();
}

void Session::again(journal::TurnId turn, const std::set<std::string, std::less<>>& tools,
                    TurnHandler handler) {
    const journal::TurnRow row = with_.journal->turn(turn);
    require_prompt(row);
    std::unique_ptr<journal::Playback> playback;
    if (!tools.empty()) {
        playback = with_.journal->playback(turn);
        playback->run_again(tools);
    }
    play_again(row, std::move(playback), std::move(handler));
}

void Session::resume(journal::TurnId turn, bool repeats, TurnHandler handler) {
    const journal::TurnRow row = with_.journal->turn(turn);
    play_again(row, rest_of(row, repeats), std::move(handler));
}

std::unique_ptr<journal::Playback> Session::rest_of(const journal::TurnRow& row, bool repeats) {
    require_prompt(row);
    if (row.status != journal::TurnStatus::Interrupted) {
        throw journal::TurnError(
            "NOT_INTERRUPTED",
            "turn " + std::to_string(row.id) + " was not interrupted; play it again instead");
    }
    auto playback = with_.journal->playback(row.id);
    for (const journal::Playback::InterruptedTool& tool : playback->resume()) {
        const auto definition = resolver_.resolve(tool.path, folder_).definition;
        if (repeats || !definition || definition->repeatable) continue;
        throw journal::TurnError(
            "NOT_REPEATABLE",
            "the tool " + json::quoted(tool.id) + " had started and must not run twice (" +
                json::quoted(definition->name) +
                " is not repeatable); allow it to run again, or continue without that turn");
    }
    return playback;
}

void Session::play_again(const journal::TurnRow& row, std::unique_ptr<journal::Playback> playback,
                         TurnHandler handler) {
    go_to(row.parent, true);
    Job job = prompt_job(row.prompt);
    job.on_turn = std::move(handler);
    job.playback = std::move(playback);
    submit(std::move(job));
}

nar_status Session::submit_go_to(uint64_t turn, std::string_view by, uint64_t& submission) {
    return submit_move(by, submission, [&]() -> Job {
        if (turn == NAR_TURN_CURRENT) {
            throw journal::TurnError("TURN_CURRENT", "the session is already at its current turn");
        }
        Job job;
        job.move = Move{destination_of(turn)};
        if (job.move->turn) with_.journal->require_ended(*job.move->turn);
        return job;
    });
}

nar_status Session::submit_again(uint64_t turn, std::string_view by, uint64_t& submission) {
    // An interrupted prompt after the current turn is not played: the player has not seen it.
    return submit_prompt_of(by, submission, [&](journal::Journal& journal) {
        journal::TurnRow row = turn == NAR_TURN_CURRENT
                                   ? journal.last_ended_prompt()
                                   : journal.turn(static_cast<journal::TurnId>(turn));
        require_prompt(row);
        return PromptOfTurn{std::move(row), nullptr};
    });
}

nar_status Session::submit_resume(uint64_t turn, bool repeats, std::string_view by,
                                  uint64_t& submission) {
    bool is_declined = false;
    const nar_status status = submit_prompt_of(by, submission, [&](journal::Journal& journal) {
        const std::optional<journal::TurnId> id = turn == NAR_TURN_INTERRUPTED
                                                      ? journal.interrupted()
                                                      : static_cast<journal::TurnId>(turn);
        if (!id) throw journal::TurnError("TURN_MISSING", "the session has no interrupted prompt");
        journal::TurnRow row = journal.turn(*id);
        try {
            auto rest = rest_of(row, repeats);
            return PromptOfTurn{std::move(row), std::move(rest)};
        } catch (const journal::TurnError& error) {
            is_declined = std::string_view(error.code()) == "NOT_REPEATABLE";
            throw;
        }
    });
    return is_declined ? NAR_DECLINED : status;
}

nar_status Session::submit_prompt_of(
    std::string_view by, uint64_t& submission,
    const std::function<PromptOfTurn(journal::Journal& journal)>& choose) {
    return submit_move(by, submission, [&]() -> Job {
        if (!has_narrator()) {
            throw journal::TurnError("NO_NARRATOR", "the session has no narrator");
        }
        PromptOfTurn chosen = choose(*with_.journal);
        note_prompter(by);
        Job job = prompt_job(chosen.row.prompt);
        job.move = Move{chosen.row.parent};
        job.playback = std::move(chosen.playback);
        return job;
    });
}

nar_status Session::submit_move(std::string_view by, uint64_t& submission,
                                const std::function<Job()>& prepare) {
    if (destroying_) return NAR_GONE;
    if (!with_.journal) return NAR_UNSUPPORTED;
    if (is_playing()) return NAR_BUSY;
    const nar_status status = with_store(by, "the session did not go to a stored turn", [&] {
        Job job = prepare();
        job.by = by;
        submit(std::move(job));
    });
    if (status == NAR_OK) submission = last_submission();
    return status;
}

nar_status Session::read_turns(uint64_t turn, uint32_t count, std::string_view by,
                               std::string& json) {
    if (!with_.journal) return NAR_UNSUPPORTED;
    return with_store(by, "the stored turns were not read", [&] {
        const auto last = turn == NAR_TURN_PREVIOUS ? destination_of(turn)
                          : turn == NAR_TURN_INTERRUPTED
                              ? with_.journal->interrupted()
                              : journal::turn_of(turn, with_.journal->current());
        with_.journal->append_last_turns(json, last, count);
    });
}

// Returns the status of a failure of the store, which the log reports for the plugin.
nar_status Session::with_store(std::string_view by, const char* what,
                               const std::function<void()>& use) {
    const auto refuse = [&](uint32_t level, nar_status status, const char* why) {
        log(level, "plugin " + std::string(by) + ": " + what + ": " + why);
        return status;
    };
    try {
        use();
        return NAR_OK;
    } catch (const journal::StoreError& error) {
        return refuse(NAR_LOG_ERROR, status_of(error), error.what());
    } catch (const journal::TurnError& error) {
        return refuse(NAR_LOG_INFO, status_of(error), error.what());
    }
}

// Returns true if the job goes on with its prompt.
bool Session::carry_out_move() {
    const auto fail = [&](const char* code, const std::string& why) {
        const std::string message = "the session could not go to a stored turn: " + why;
        log(NAR_LOG_ERROR, message, code);
        stream_.warn({}, code, message);
        return false;
    };
    try {
        go_to(current_.move->turn, current_.is_prompt);
    } catch (const journal::StoreError& error) {
        return fail(error.code(), error.what());
    } catch (const journal::TurnError& error) {
        return fail(error.code(), error.what());
    }
    return current_.is_prompt;
}

void Session::replay(journal::TurnId turn, std::function<void(const Replayed& replayed)> handler) {
    journal::StoreFile& file = *with_.replayed;
    const int64_t row = file.session(settings_.id).value().id;
    file.require_ended(row, turn);
    Job job;
    job.playback =
        std::make_unique<journal::Playback>(loop(), file, row, file.require_turn(row, turn));
    const journal::TurnRow& kept = job.playback->turn();
    if (!replayed_ || replayed_ != kept.parent) {
        state::Store state(settings_.limits.history_patches);
        asset::Registry assets(with_.engine.settings().root);
        journal::Journal::Restored past;
        past.rest = journal::restore(file, row, kept.parent, settings_.limits.history_patches,
                                     state, assets);
        with_.store->take_from(std::move(state));
        assets_.take_from(std::move(assets));
        take_rest(past);
        json::Document document;
        executions_ = read_rest(past.rest, document) ? number_in(document.root(), "executions") : 0;
    }
    if (const uint64_t first = job.playback->first_seq(); first > 0) {
        stream_.continue_after(first - 1);
    }
    with_.store->keep_digest();
    // The position is unknown while the turn runs.
    replayed_.reset();
    const auto on_end = [this, turn, kept = kept.state_digest.value_or(0),
                         handler = std::move(handler)] {
        const uint64_t now = with_.store->tree().digest();
        if (now == kept) replayed_ = turn;
        handler({kept, now});
    };
    job.is_prompt = kept.kind == journal::TurnKind::Prompt;
    json::Document plan;
    json::ParseError error;
    if (job.is_prompt) {
        job.text = kept.prompt;
        job.submitted_us = kept.began_ms * 1000;
        job.on_turn = [on_end](const TurnEnd&) { on_end(); };
    } else if (kept.kind == journal::TurnKind::Plan &&
               plan.parse(job.playback->plan(), error, json::kDepthOfOwn)) {
        job.plan = std::make_unique<plan::Plan>();
        Faults faults;
        const json::Value text = plan.root().find("plan");
        if (!text || !job.plan->parse(text.raw(), faults)) {
            throw journal::StoreError("STORE_DAMAGED",
                                      "the store \"" + settings_.store + "\": the plan of turn " +
                                          std::to_string(turn) + " cannot be read");
        }
        job.folder = folder_;
        job.on_execution = [on_end](const auto&) { on_end(); };
    } else {
        job.folder = folder_;
        job.on_replayed = on_end;
    }
    submit(std::move(job));
}

void Session::play_recorded() {
    const bool is_replayed = current_.on_replayed != nullptr;
    if (is_replayed) {
        current_.invocations = std::make_unique<Invocations>(Invocations::Context{
            resolver_, folder_, none_disabled_,
            [this](std::unique_ptr<plan::Plan> plan, plan::Settings settings,
                   Invocations::OnEnded on_ended) {
                return open_execution(std::move(plan), std::move(settings), std::move(on_ended));
            },
            [](bool) {}, current_.playback.get()});
    }
    current_.playback->play(
        {[this](plan::ToolInvocation invocation) {
             const auto ignored =
                 std::make_shared<OutcomeFunction>([](uint64_t, const plan::ToolResult&) {});
             uint64_t number;
             std::string why;
             if (turn_)
                 turn_->invoke(std::move(invocation), Invocations::Start::FromLoop, ignored, number,
                               why);
             else if (current_.invocations) {
                 current_.invocations->invoke(std::move(invocation), Invocations::Start::FromLoop,
                                              ignored, number, why);
             }
         },
         [this](json::Value patch, json::Value nulls, std::string_view by) {
             patch_state(patch, by, nulls);
         },
         is_replayed ? std::function<void()>([this] { end_replay(); }) : nullptr});
}

// Ends the replay of a script, or of the host's changes between two turns.
void Session::end_replay() {
    current_.invocations->end(plan::Stop::Abandoned);
    const auto handler = std::move(current_.on_replayed);
    end_job();
    with_.engine.call_host(handler);
}

// Returns what restoring the session needs in addition to the state and the assets.
std::string Session::rest(journal::TurnKind kind) {
    if (kind != journal::TurnKind::Host) {
        told_ = json::quoted(turn_ ? turn_->told() : "");
        ending_ = turn_ ? turn_->ending() : "";
        offered_ = turn_ ? turn_->choices() : presentation_.choices();
    }
    std::string out;
    json::ObjectWriter writer(out);
    writer.raw("narrative", told_)
        .raw("choices", offered_)
        .raw("tools", turn_ ? std::string_view(turn_->tools()) : "[]")
        .number("generations", turn_ ? turn_->generation() : 0)
        .number("fallbacks", static_cast<int64_t>(fallbacks_))
        .number("executions", static_cast<int64_t>(executions_))
        .number("patches", static_cast<int64_t>(with_.store->patches()))
        // + 1: the record that ends a prompt is published after this call.
        .number("seq", static_cast<int64_t>(stream_.last_number() + (turn_ ? 1 : 0)))
        .key("metadata");
    metadata_.append_json(out);
    if (!ending_.empty()) writer.string("ending", ending_);
    if (turn_ && turn_->narrative() != turn_->told()) {
        writer.string("narrated", turn_->narrative());
    }
    if (narrator_.is_detailed()) {
        const bool has_planned = turn_ && !turn_->metadata().empty();
        writer.raw("planMetadata", has_planned ? turn_->metadata() : story_so_far_.metadata());
    }
    writer.end();
    return out;
}

void Session::begin_turn(journal::TurnKind kind) {
    if (with_.journal) with_.journal->begin_turn(kind, "", loop().wall_us());
}

void Session::end_turn(journal::TurnStatus status, std::function<void()> then) {
    told_ = "\"\"";
    ending_.clear();
    offered_ = presentation_.choices();
    if (!with_.journal) return then();
    with_.journal->end_turn(status, [then = std::move(then)](const auto&) { then(); });
}

}  // namespace narratoria::session
