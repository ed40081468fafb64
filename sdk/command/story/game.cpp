// SPDX-License-Identifier: Apache-2.0
#include "story/game.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "display.hpp"
#include "engine/drive.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "story/player_input.hpp"
#include "story/saved_games.hpp"
#include "story/session_plugins.hpp"
#include "story_text.hpp"

namespace narratoria::command::story {
namespace {

// The plugin that shows the story.
constexpr std::string_view kConsole = "narratoria.console";

// The turns that a game begins with when it continues.
constexpr std::size_t kLastTurns = 3;

}  // namespace

Game::Game(const GameOptions& options)
    : store_(options.saved.store),
      style_(Style::for_descriptor(STDOUT_FILENO)),
      is_live_(is_capable_terminal(STDOUT_FILENO)),
      log_level_(options.log.level(options.is_verbose ? NAR_LOG_WARN : NAR_LOG_ERROR)),
      is_verbose_(options.is_verbose) {
    EngineOptions engine_options;
    // The printed paths of assets stay readable for a day.
    engine_options.output_mode = NAR_OUTPUT_KEEP;
    engine_options.log = [this](const LogLine& line) {
        on_log(line.level, line.message, line.code);
    };
    options.groups.apply_to(engine_options);
    engine_.emplace(engine_options);
    std::vector<std::string_view> plugins{kConsole};
    plugins.insert(plugins.end(), options.plugins.begin(), options.plugins.end());
    const std::string settings = fmt::format(R"({{"{}":{{"verbose":{}}}}})", kConsole,
                                             options.is_verbose ? "true" : "false");
    try {
        session_.emplace(*engine_, SessionOptions{.id = options.saved.session,
                                                  .story = options.story,
                                                  .plugins = plugins,
                                                  .narrator_id = options.narrator,
                                                  .plugin_settings = settings,
                                                  .project = options.project,
                                                  .store = options.saved.store,
                                                  .must_be_new = options.saved.must_be_new,
                                                  .watches_story = options.watches_story});
    } catch (const Error& error) {
        if (error.code().starts_with("STORE_") || error.code() == "SESSION_EXISTS") throw;
        refuse_session(error, options.story, options.project, "the story was not played");
    }
    for (const std::string& plugin : options.plugins) require_active(plugin);
    has_console_ = console_is_active();
    session_->attach([this](Event event) { on_story_reloaded(event.body()); },
                     kinds(Kind::StoryReloaded));
    if (is_saved()) {
        load_current_turn(turns());
        describe_session(options);
    } else {
        load_opening();
    }
}

// Writes the title, unless it has been written.
void Game::begin() {
    if (is_open_) return;
    write_title(session_->title());
    for (const std::string& line : early_log_) remark(line);
    is_open_ = true;
}

void Game::show_opening() {
    begin();
    if (!notice_.empty()) remark(notice_);
    write_last_turns();
    write_current_narrative();
}

void Game::show_current_turn() {
    remark(turn_heading_);
    write_current_narrative();
    hint_at_ending();
}

void Game::set_name(const std::string& name, std::uint64_t turn) {
    store_.set_name(session_->id(), name, turn);
}

void Game::write(std::string_view text) {
    if (write_error_ == 0 && !write_all(STDOUT_FILENO, text)) write_error_ = errno;
}

void Game::write_prompt(std::string_view text) {
    write(fmt::format("\n{} {}\n", style_.cyan("›"), style_.bold(printable(text))));
}

std::string Game::prompt_sign() const { return style_.cyan("›") + " "; }

void Game::remark(std::string_view text) {
    std::string lines;
    if (is_live_) {
        for (const std::string& line : narrative_lines(text, story_width(STDOUT_FILENO))) {
            lines += style_.dim(line) + '\n';
        }
    } else {
        lines += fmt::format("  {}\n", printable(text));
    }
    if (write_above_) write_above_(lines + '\n');
    else write('\n' + lines);
}

// The choices of the last prompt up to this turn, or those of the opening.
std::vector<std::string> Game::choices_after(std::uint64_t turn) {
    const TurnTree turns = this->turns();
    const std::vector<const json::Value*> prompts = turns.prompts_to(turn);
    if (!prompts.empty()) return json::texts(json::member(*prompts.back(), "choices"));
    const json::Document opening = json::read(session_->opening());
    if (!opening.IsObject()) return {};
    return json::texts(json::member(opening, "choices"));
}

Outcome Game::turn(const std::string& prompt) {
    return play([&](auto ended) { session_->prompt(prompt, ended); });
}

Outcome Game::again(std::uint64_t turn, const std::string& tools, std::string_view shown) {
    return play([&](auto ended) {
        session_->again(turn, tools, ended);
        if (is_live_ && !shown.empty()) write_prompt(shown);
    });
}

Outcome Game::resume(std::uint64_t turn, std::uint32_t flags) {
    return play([&](auto ended) { session_->resume(turn, flags, ended); });
}

Outcome Game::play(const std::function<void(std::function<void(Turn turn)> ended)>& submit) {
    Outcome outcome = Outcome::Cancelled;
    submit([&](Turn turn) {
        outcome = turn.outcome();
        ++played_turns_;
        if (is_saved()) unstored_turns_.on_turn(turn.is_durable());
        const json::Document choices = json::read(turn.choices());
        choices_ = json::texts(&choices);
        if (!has_console_) write_narrative(turn.narrative(), {});
    });
    begin();
    const interruption::CancelSessionOnSignal cancels(session_->raw());
    // The console hides the cursor while tools run.
    if (is_live_) interruption::show_cursor_on(STDOUT_FILENO);
    drive_until_idle(*engine_, [this] {
        read_write_error();
        if (write_error_ != 0) session_->cancel();
    });
    if (is_live_) interruption::show_cursor_on(-1);
    if (outcome == Outcome::Cancelled && write_error_ == 0 && !has_console_) {
        remark("(the turn was cancelled)");
    }
    if (outcome == Outcome::Timeout) remark("(the turn took too long)");
    return outcome;
}

TurnTree Game::turns() {
    TurnTree all(session_->turns());
    unstored_turns_.on_listing();
    return all;
}

void Game::write_title(std::string_view title) {
    const std::string shown =
        cut(printable(title), std::max<std::size_t>(story_width(STDOUT_FILENO), 12) - 2);
    std::string rule;
    for (std::size_t column = 0; column < columns(shown); ++column) rule += "─";
    write(fmt::format("  {}\n  {}\n", style_.title(shown), style_.dim(rule)));
}

// Shows the narrative and the choices of the last prompt, or the opening if there is no prompt.
void Game::load_current_turn(const TurnTree& turns) {
    const json::Value* const turn = turns.find(turns.current());
    turn_ = turns.current();
    turn_heading_ = turn != nullptr
                        ? fmt::format("turn {}: {}{}", turn_, heading(*turn), status_of(*turn))
                        : std::string("the beginning");
    const std::vector<const json::Value*> prompts = turns.prompts();
    if (prompts.empty()) return load_opening();
    last_turns_.clear();
    const std::size_t first = prompts.size() - std::min(prompts.size(), kLastTurns);
    earlier_prompts_ = first;
    for (std::size_t i = first; i < prompts.size(); ++i) {
        // For a player, a turn with a fallback text ended like any other.
        const bool is_ended = json::text(*prompts[i], "status") == "fallback";
        last_turns_.push_back({heading(*prompts[i]) + (is_ended ? "" : status_of(*prompts[i])),
                               std::string(json::text(*prompts[i], "narrative"))});
    }
    narrative_ = json::text(*prompts.back(), "narrative");
    ending_ = json::text(*prompts.back(), "ending");
    choices_ = json::texts(json::member(*prompts.back(), "choices"));
}

void Game::load_opening() {
    last_turns_.clear();
    earlier_prompts_ = 0;
    narrative_.clear();
    ending_.clear();
    choices_.clear();
    const json::Document opening = json::read(session_->opening());
    if (!opening.IsObject()) return;
    narrative_ = json::text(opening, "text");
    choices_ = json::texts(json::member(opening, "choices"));
}

void Game::hint_at_ending() {
    if (!is_saved() || json::text(json::read(session_->current()), "ending").empty()) return;
    remark("/undo takes this back; /load 0 goes back to the beginning");
}

// Without the narrative of the last one, which is the current narrative.
void Game::write_last_turns() {
    std::string text;
    if (earlier_prompts_ > 0) {
        text +=
            fmt::format("\n{}\n", style_.dim(fmt::format("  … {} before; /branches lists {}",
                                                         counted(earlier_prompts_, "turn"),
                                                         earlier_prompts_ == 1 ? "it" : "them")));
    }
    for (std::size_t i = 0; i < last_turns_.size(); ++i) {
        text += fmt::format("\n{}\n", style_.dim("› " + last_turns_[i].prompt));
        if (i + 1 == last_turns_.size()) break;
        text += '\n';
        for (const std::string& line :
             narrative_lines(last_turns_[i].narrative, story_width(STDOUT_FILENO))) {
            text += style_.dim(line) + '\n';
        }
    }
    write(text);
}

void Game::write_current_narrative() { write_narrative(narrative_, ending_); }

// Says where the game is saved, unless the player named a new game.
void Game::describe_session(const GameOptions& options) {
    const TurnTree turns = this->turns();
    const json::Value* const interrupted = turns.interrupted();
    if (turn_ == 0 && !options.saved.was_chosen && interrupted == nullptr) return;
    notice_ = describe_game(options.saved, turns);
    if (options.saved.was_chosen && turn_ == 0) notice_ += "; /help lists the commands";
    if (interrupted != nullptr) {
        notice_ += fmt::format("; \"{}\" was interrupted; /resume continues it",
                               cut(heading(*interrupted), kStoryWidth));
    }
}

void Game::go_to(std::uint64_t turn) {
    session_->go_to(turn != 0 ? turn : NAR_TURN_BEGINNING);
    load_current_turn(turns());
}

// A plugin that the player names must be active.
void Game::require_active(const std::string& wish) const {
    const std::optional<PluginState> state = state_of_plugin(*session_, wish);
    if (state && !state->is_active && !state->reason.empty()) {
        throw Refused(fmt::format("--plugin {}: {}", printable(wish), state->reason));
    }
}

bool Game::console_is_active() const {
    const std::optional<PluginState> state = state_of_plugin(*session_, kConsole);
    return state && state->is_active;
}

// Writes the narrative and the choices: at the beginning, and without the console plugin.
void Game::write_narrative(std::string_view words, std::string_view ending) {
    std::string text;
    const auto add = [&text](const std::vector<std::string>& lines) {
        if (!lines.empty()) text += '\n';
        for (const std::string& line : lines) text += line + '\n';
    };
    add(narrative_lines(words, story_width(STDOUT_FILENO)));
    add(ending_lines(ending, story_width(STDOUT_FILENO), style_));
    add(choice_lines(choices_, story_width(STDOUT_FILENO), style_));
    write(text);
}

void Game::read_write_error() {
    if (write_error_ != 0 || !session_) return;
    if (const auto error = session_->published(kConsole, "write_error")) {
        write_error_ = std::stoi(std::string(error->view()));
    }
}

void Game::on_story_reloaded(std::string_view body) {
    std::string text;
    const json::Document record = json::read(body);
    for (const std::string& line : fault_lines(record["faults"], "")) {
        text += (text.empty() ? "" : "\n") + line;
    }
    if (!text.empty()) remark(text);
    else if (is_verbose_) remark("the story's files were read again");
}

void Game::on_log(std::uint32_t level, std::string_view message, std::string_view code) {
    // Without a plugin of its own, a story may not work as its author meant it.
    unstored_turns_.on_log(code);
    if (level < log_level_ && code != "PLUGIN_LEFT_OUT") return;
    // The command reports it once, at its end.
    read_write_error();
    if (write_error_ != 0) return;
    // The console has already shown why each plan failed, and the store's warning.
    if (has_console_ && (code == "FALLBACK" || code.starts_with("STORE_"))) return;
    std::string text;
    for (const std::string& line : excerpt(message)) (text += text.empty() ? "" : "\n") += line;
    if (is_open_) {
        remark(text);
    } else {
        early_log_.push_back(std::move(text));
    }
}

}  // namespace narratoria::command::story
