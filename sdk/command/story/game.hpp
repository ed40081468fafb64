// SPDX-License-Identifier: Apache-2.0
#pragma once
// A story that is played on the terminal.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments/group_options.hpp"
#include "arguments/log_option.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/store.hpp"
#include "output.hpp"
#include "story/player_input.hpp"
#include "story/saved_games.hpp"
#include "story/turn_tree.hpp"
#include "story/unstored_turns.hpp"
#include "style.hpp"

namespace narratoria::command::story {

struct GameOptions {
    std::string story;
    std::string project;
    std::string narrator;
    std::vector<std::string> plugins;
    SavedGame saved;
    bool watches_story = false;  // changes of the story's files take effect between two turns
    bool is_verbose = false;     // also shows what helps an author
    LogOption log;
    GroupOptions groups;
};

// One game, from the first prompt to the last. The console plugin shows the output of the tools and
// the narrator; the game writes prompts and remarks. Both write to standard output, but never at
// the same time.
class Game {
public:
    // Throws Error if the store cannot be used or already has a session that must be new. Throws
    // Refused for other failures.
    explicit Game(const GameOptions& options);

    Engine& engine() noexcept { return *engine_; }
    // True: the terminal can show colours and move its cursor.
    bool is_live() const noexcept { return is_live_; }
    bool is_saved() const noexcept { return !store_.path().empty(); }
    // The number of turns that have ended in this process.
    std::uint64_t played_turns() const noexcept { return played_turns_; }
    // Tells the player of a saved game that has reached an ending how to go back.
    void hint_at_ending();
    std::string session() const { return std::string(session_->id()); }
    int report_unstored_turns(int status) { return unstored_turns_.report(*session_, status); }
    // The errno of the first failed write to standard output (EPIPE: the reader is gone), or 0.
    int write_error() const noexcept { return write_error_; }
    const Style& style() const noexcept { return style_; }

    // Writes the title, and the opening or the current turn of a stored session.
    void show_opening();
    // Writes the current turn, and its narrative and choices.
    void show_current_turn();
    void write(std::string_view text);
    // Writes a prompt that the player did not type on this terminal.
    void write_prompt(std::string_view text);
    // What the player types after: "› ".
    std::string prompt_sign() const;
    // Writes a remark that is not part of the story.
    void remark(std::string_view text);
    // While the player types, remarks go to `write`, which ends each with an empty line. Empty: to
    // standard output.
    void set_prompting(std::function<void(std::string_view text)> write) {
        write_above_ = std::move(write);
    }

    // As choice_or_text(), with choices().
    std::optional<std::string> to_prompt(const std::string& line) const {
        return choice_or_text(line, choices_);
    }
    const std::vector<std::string>& choices() const noexcept { return choices_; }

    Outcome turn(const std::string& prompt);
    // `tools`: JSON, as for nar_session_again. `shown`: the prompt, written once it is accepted.
    Outcome again(std::uint64_t turn, const std::string& tools, std::string_view shown = {});
    // `flags`: as for nar_session_resume.
    Outcome resume(std::uint64_t turn, std::uint32_t flags);

    // For a game that is saved.
    std::vector<std::string> choices_after(std::uint64_t turn);
    TurnTree turns();
    // 0: the beginning.
    void go_to(std::uint64_t turn);
    void set_name(const std::string& name, std::uint64_t turn);

private:
    Outcome play(const std::function<void(std::function<void(Turn turn)> ended)>& submit);
    void begin();
    void write_title(std::string_view title);
    void load_current_turn(const TurnTree& turns);
    void load_opening();
    void describe_session(const GameOptions& options);
    void require_active(const std::string& wish) const;
    bool console_is_active() const;
    void write_narrative(std::string_view words, std::string_view ending);
    void write_last_turns();
    void write_current_narrative();
    // Reads why the console can no longer write, if that is so.
    void read_write_error();
    void on_story_reloaded(std::string_view body);
    void on_log(std::uint32_t level, std::string_view message, std::string_view code);

    Store store_;
    Style style_;
    bool is_live_;
    std::uint32_t log_level_;
    bool is_open_ = false;  // the title was written
    bool has_console_ = false;
    std::uint64_t played_turns_ = 0;
    UnstoredTurns unstored_turns_;
    int write_error_ = 0;
    std::vector<std::string> early_log_;
    const bool is_verbose_;
    std::function<void(std::string_view text)> write_above_;
    std::string notice_;  // about the session
    // As of the last load_current_turn():
    std::uint64_t turn_ = 0;    // 0: the beginning
    std::string turn_heading_;  // describes the current turn
    struct LastTurn {
        std::string prompt;  // as shown, with its status
        std::string narrative;
    };
    std::vector<LastTurn> last_turns_;  // the last prompts, the oldest first
    std::size_t earlier_prompts_ = 0;   // before them
    std::string narrative_;             // the narrative of the last prompt, or the opening
    std::string ending_;                // of the story, if the last prompt reached one
    std::vector<std::string> choices_;  // of the opening, then of the last turn
    // Declared last, so that they are destroyed first: their callbacks use the members above.
    std::optional<Engine> engine_;
    std::optional<Session> session_;
};

}  // namespace narratoria::command::story
