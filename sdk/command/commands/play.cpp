// SPDX-License-Identifier: Apache-2.0
// narratoria play: a session in the terminal.

#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/group_options.hpp"
#include "arguments/log_option.hpp"
#include "commands/command.hpp"
#include "commands/drive.hpp"
#include "display.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/store.hpp"
#include "output.hpp"
#include "story/folder.hpp"
#include "story/session_plugins.hpp"
#include "story_text.hpp"

namespace narratoria::command {
namespace {

struct PlayOptions {
    std::vector<std::string> prompts;
    std::string story;
    std::string project;
    std::string narrator;
    std::vector<std::string> plugins;
    std::string store;
    std::string session;
    LogOption log;
    GroupOptions groups;
};

// What shows the story.
constexpr std::string_view kConsole = "narratoria.console";

// Reads standard input line by line, notices a signal while it waits, and lets the engine go on: a
// plugin's timers and descriptors do not wait for the player.
class PromptReader {
public:
    explicit PromptReader(Engine& engine) : engine_(engine) {}

    // Nothing at the end of the input, or after a signal.
    std::optional<std::string> next() {
        for (;;) {
            if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
                std::string line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                if (line.ends_with('\r')) line.pop_back();
                return line;
            }
            if (ended_) {
                if (buffer_.empty()) return std::nullopt;
                return std::exchange(buffer_, std::string());
            }
            pollfd ready[] = {{STDIN_FILENO, POLLIN, 0},
                              {interruption::descriptor(), POLLIN, 0},
                              {engine_.descriptor(), POLLIN, 0}};
            const auto due = engine_.timeout();
            if (poll(ready, 3, due ? static_cast<int>(due->count()) : -1) < 0 && errno != EINTR) {
                ended_ = true;
            }
            if (interruption::received() != 0) return std::nullopt;
            engine_.run_for(std::chrono::microseconds(0));
            if (ready[0].revents == 0) continue;
            char piece[4096];
            const ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
            if (got > 0) {
                buffer_.append(piece, static_cast<std::size_t>(got));
            } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
                ended_ = true;
            }
        }
    }

private:
    Engine& engine_;
    std::string buffer_;
    bool ended_ = false;
};

std::vector<std::string> texts_in(const json::Value& array) {
    std::vector<std::string> texts;
    if (!array.IsArray()) return texts;
    for (const json::Value& text : array.GetArray()) {
        if (text.IsString()) texts.emplace_back(text.GetString(), text.GetStringLength());
    }
    return texts;
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The number that a line consists of, if it does.
std::optional<std::size_t> number_in(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return std::nullopt;
    text = text.substr(begin, text.find_last_not_of(" \t.") + 1 - begin);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// One game, from the first prompt to the last. What the tools and the narrator say is the console
// plugin's to show; what the player types, and what the game says of itself, is written here. Both
// write to standard output, each when the other is at rest.
class Game {
public:
    explicit Game(const PlayOptions& options)
        : style_(Style::for_descriptor(STDOUT_FILENO)),
          is_live_(is_capable_terminal(STDOUT_FILENO)),
          log_level_(options.log.level()) {
        EngineOptions engine_options;
        // The paths of assets that it prints stay readable for a day.
        engine_options.output_mode = NAR_OUTPUT_KEEP;
        engine_options.log_line = [this](const nar_log_line& line) {
            take_log(line.level, detail::to_view(line.message), detail::to_view(line.code));
        };
        options.groups.apply_to(engine_options);
        engine_.emplace(engine_options);
        std::vector<std::string_view> plugins{kConsole};
        plugins.insert(plugins.end(), options.plugins.begin(), options.plugins.end());
        try {
            session_.emplace(*engine_, SessionOptions{.id = options.session,
                                                      .story = options.story,
                                                      .plugins = plugins,
                                                      .narrator_id = options.narrator,
                                                      .project = options.project,
                                                      .store = options.store});
        } catch (const Error& error) {
            refuse_session(error, options.story, options.project, "the story was not played");
        }
        for (const std::string& plugin : options.plugins) require_active(plugin);
        has_console_ = console_is_active();
        const json::Document opening = json::read(session_->opening());
        if (opening.IsObject()) {
            opening_ = json::text(opening, "text");
            choices_ = texts_in(opening["choices"]);
        }
        if (!options.store.empty()) take_up(Store(options.store).turns(options.session));
    }

    // Writes the title, if it is not there yet.
    void begin() {
        if (is_open_) return;
        write_title(session_->title());
        for (const std::string& line : logged_early_) remark(line);
        is_open_ = true;
    }

    // What the story begins with, or where a session that was kept stands.
    void tell_opening() {
        begin();
        if (goes_on_) remark(fmt::format("(the session \"{}\" goes on)", session_->id()));
        if (!opening_.empty() || !choices_.empty()) tell(opening_);
    }

    bool is_live() const noexcept { return is_live_; }
    Engine& engine() noexcept { return *engine_; }

    // errno when standard output can no longer be written: its reader went away (EPIPE), or its disk
    // is full; otherwise 0.
    int broken() const noexcept { return broken_; }

    // The player's words, where the player did not type them on this terminal.
    void player_says(std::string_view text) {
        write(fmt::format("\n{} {}\n", style_.cyan("›"), style_.bold(printable(text))));
    }
    void prompt_sign() { write(fmt::format("\n{} ", style_.cyan("›"))); }

    // A remark of the game about itself, not part of the story.
    void remark(std::string_view text) {
        write(fmt::format("\n  {}\n", style_.dim(printable(text))));
    }

    // What a line of the player means: a number selects a choice (spec 000 §4.4). Nothing: it is
    // the number of no choice.
    std::optional<std::string> meaning(const std::string& line) const {
        const std::optional<std::size_t> number = number_in(line);
        if (!number || choices_.empty()) return line;
        if (*number < 1 || *number > choices_.size()) return std::nullopt;
        return choices_[*number - 1];
    }
    std::size_t choice_count() const noexcept { return choices_.size(); }

    Outcome turn(const std::string& prompt) {
        return play([&](auto ended) { session_->prompt(prompt, ended); });
    }
    // `tools`: JSON, as of nar_session_again.
    Outcome again(std::uint64_t turn, const std::string& tools) {
        return play([&](auto ended) { session_->again(turn, tools, ended); });
    }
    Outcome resume(std::uint64_t turn) {
        return play([&](auto ended) { session_->resume(turn, ended); });
    }

private:
    // `submit` submits a turn, to which it gives the handler.
    template <typename Submit>
    Outcome play(Submit&& submit) {
        Outcome outcome = Outcome::Cancelled;
        submit([&](Turn turn) {
            outcome = turn.outcome();
            choices_ = texts_in(json::read(turn.choices()));
            if (!has_console_) tell(turn.narrative());
        });
        begin();
        const interruption::CancelsSession cancels(session_->raw());
        // The console hides the cursor while tools run.
        if (is_live_) interruption::shows_cursor_on(STDOUT_FILENO);
        drive_until_idle(*engine_, [this] {
            if (broken_ != 0) session_->cancel();
        });
        if (is_live_) interruption::shows_cursor_on(-1);
        if (outcome == Outcome::Cancelled && broken_ == 0) remark("(the turn was cancelled)");
        if (outcome == Outcome::Timeout) remark("(the turn took too long)");
        return outcome;
    }

    void write(std::string_view text) {
        if (broken_ == 0 && !write_all(STDOUT_FILENO, text)) broken_ = errno;
    }

    void write_title(std::string_view title) {
        const std::string shown = cut(printable(title), 74);
        std::string rule;
        for (std::size_t column = 0; column < columns(shown); ++column) rule += "─";
        write(fmt::format("  {}\n  {}\n", style_.title(shown), style_.dim(rule)));
    }

    // What was told last takes the place of the opening.
    void take_up(const Text& turns) {
        const json::Document read = json::read(turns);
        const json::Value& all = *json::member(read, "turns");
        std::uint64_t at = json::count(read, "current");
        goes_on_ = at != 0;
        // Parents come before their children.
        for (auto turn = all.End(); turn != all.Begin();) {
            --turn;
            if (json::count(*turn, "id") != at) continue;
            at = json::count(*turn, "parent");
            if (json::text(*turn, "kind") != "prompt") continue;
            opening_ = json::text(*turn, "narrative");
            choices_ = texts_in((*turn)["choices"]);
            break;
        }
    }

    // What the player asks for by name must be there.
    void require_active(const std::string& wish) const {
        const std::optional<story::PluginState> state = story::state_of_plugin(*session_, wish);
        if (state && !state->is_active && !state->reason.empty()) {
            throw Refused(fmt::format("--plugin {}: {}", printable(wish), state->reason));
        }
    }

    bool console_is_active() const {
        const std::optional<story::PluginState> state = story::state_of_plugin(*session_, kConsole);
        return state && state->is_active;
    }

    // The words and the choices alone: at the beginning, and where the console is not to be had.
    void tell(std::string_view words) {
        std::string text;
        const auto add = [&text](const std::vector<std::string>& lines) {
            if (!lines.empty()) text += '\n';
            for (const std::string& line : lines) text += line + '\n';
        };
        add(narrative_lines(words, kStoryWidth));
        add(choice_lines(choices_, style_));
        write(text);
    }

    void take_log(std::uint32_t level, std::string_view message, std::string_view code) {
        if (level < log_level_) return;
        if (level == NAR_LOG_ERROR && message.starts_with(kConsole)) {
            // It can write no more, and whether by a closed pipe or a full disk shows here too.
            if (broken_ == 0) broken_ = message.ends_with(reason(EPIPE)) ? EPIPE : EIO;
            if (broken_ != EPIPE) complain(printable(message));
            return;
        }
        // The display has told the reason of each plan.
        if (has_console_ && code == "FALLBACK") return;
        if (is_open_) {
            remark(message);
        } else {
            logged_early_.emplace_back(message);
        }
    }

    Style style_;
    bool is_live_;
    std::uint32_t log_level_;
    bool is_open_ = false;
    bool has_console_ = false;
    bool goes_on_ = false;
    int broken_ = 0;
    std::vector<std::string> logged_early_;
    std::string opening_;
    std::vector<std::string> choices_;  // of the opening, then of the last turn
    // Last: what they call is gone after them.
    std::optional<Engine> engine_;
    std::optional<Session> session_;
};

// A reader that went away knows that it did.
int could_not_tell(int error) {
    // Of EIO the console has told.
    if (error != EPIPE && error != EIO) {
        complain(fmt::format("cannot write the story to standard output: {}", reason(error)));
    }
    return kExitFailure;
}

int play_given_prompts(Game& game, const std::vector<std::string>& prompts) {
    bool all_completed = true;
    for (const std::string& given : prompts) {
        const std::string prompt = game.meaning(given).value_or(given);
        if (game.is_live()) game.player_says(prompt);
        all_completed = game.turn(prompt) == Outcome::Completed && all_completed;
        if (interruption::received() != 0) return kExitSignal + interruption::received();
        if (game.broken() != 0) return could_not_tell(game.broken());
    }
    return all_completed ? kExitSuccess : kExitFailure;
}

int play_lines(Game& game) {
    game.tell_opening();
    const bool asks = isatty(STDIN_FILENO) != 0 && game.is_live();
    PromptReader reader(game.engine());
    for (;;) {
        interruption::is_noted();
        if (asks) game.prompt_sign();
        const std::optional<std::string> line = reader.next();
        if (!line) {
            if (asks) write_all(STDOUT_FILENO, "\n");
            const int signal = interruption::received();
            return signal != 0 ? kExitSignal + signal : kExitSuccess;
        }
        if (is_blank(*line)) continue;
        std::optional<std::string> prompt = game.meaning(*line);
        if (!prompt && asks) {
            game.remark(game.choice_count() == 1
                            ? std::string("There is one choice: 1")
                            : fmt::format("The choices are 1 to {}", game.choice_count()));
            continue;
        }
        if (!prompt) prompt = *line;
        try {
            game.turn(*prompt);
        } catch (const Error& error) {
            if (error.status() != NAR_INVALID_ARGUMENT && error.status() != NAR_INVALID_DOCUMENT) {
                throw;
            }
            game.remark(error.message());
        }
        if (game.broken() != 0) return could_not_tell(game.broken());
        if (const int signal = interruption::received(); signal != 0) {
            // Ctrl-C in a turn that somebody watches takes that turn back, not the whole game.
            if (!asks || signal != SIGINT) return kExitSignal + signal;
            interruption::clear();
        }
    }
}

// `narratoria play my-story` means the story, not a prompt.
void require_no_story(const std::string& prompt) {
    struct stat status {};
    if (stat((prompt + "/story.toml").c_str(), &status) != 0) return;
    throw Refused(fmt::format("\"{0}\" is a story; a story is given as narratoria play --story {0}",
                              printable(prompt)));
}

int play(PlayOptions options) {
    if (options.story.empty() && !options.prompts.empty()) {
        require_no_story(options.prompts.front());
    }
    options.story = story::find_story(options.story, "play");
    for (const std::string& prompt : options.prompts) {
        if (is_blank(prompt)) {
            throw Refused(
                "a prompt is empty; give the player's words, for example \"I light the torch\"");
        }
        if (json::ill_formed_utf8(prompt)) {
            throw Refused(fmt::format("the prompt \"{}\" is not UTF-8", printable(prompt)));
        }
    }
    if (!options.store.empty() && options.session.empty()) {
        throw Refused("--store needs --session: the name under which the game is kept");
    }
    require_standard_output("the story is told there");
    Game game(options);
    if (game.broken() != 0) return could_not_tell(game.broken());
    return options.prompts.empty() ? play_lines(game) : play_given_prompts(game, options.prompts);
}

}  // namespace

namespace {

// The story of a kept session.
PlayOptions options_of(const KeptPrompt& prompt) {
    PlayOptions options;
    options.store = prompt.store;
    options.session = prompt.session;
    const json::Document sessions = [&] {
        try {
            return json::read(Store(prompt.store).sessions());
        } catch (const Error& error) {
            throw Refused(printable(error.message()));
        }
    }();
    bool is_known = false;
    for (const json::Value& each : sessions.GetArray()) {
        if (json::text(each, "id") != prompt.session) continue;
        const json::Value& about = *json::member(each, "about");
        options.story = json::text(about, "story");
        options.project = json::text(about, "project");
        is_known = true;
    }
    if (!is_known || options.story.empty()) {
        throw Refused(fmt::format("the store {} has no session {}{}", shown_path(prompt.store),
                                  printable(json::quoted(prompt.session)),
                                  is_known ? " of a story" : ""));
    }
    return options;
}

// Plays one turn of a kept session.
template <typename Play>
int play_kept(const KeptPrompt& prompt, Play&& play_turn) {
    require_standard_output("the story is told there");
    if (prompt.turn == 0u) throw Refused("turn 0 is the beginning of the session, not a prompt");
    Game game(options_of(prompt));
    Outcome outcome;
    try {
        outcome = play_turn(game, prompt.turn ? *prompt.turn : NAR_TURN_CURRENT);
    } catch (const Error& error) {
        throw Refused(printable(error.message()));
    }
    if (interruption::received() != 0) return kExitSignal + interruption::received();
    if (game.broken() != 0) return could_not_tell(game.broken());
    return outcome == Outcome::Completed ? kExitSuccess : kExitFailure;
}

}  // namespace

int play_again(const KeptPrompt& prompt, const std::vector<std::string>& tools) {
    std::string list;
    for (const std::string& tool : tools) {
        (list += list.empty() ? "[" : ",") += json::quoted(tool);
    }
    if (!list.empty()) list += ']';
    return play_kept(prompt,
                     [&](Game& game, std::uint64_t turn) { return game.again(turn, list); });
}

int play_on(const KeptPrompt& prompt) {
    return play_kept(prompt, [](Game& game, std::uint64_t turn) { return game.resume(turn); });
}

void add_play(Command application) {
    Command command = application.subcommand("play", "Play a story in the terminal");
    auto options = std::make_shared<PlayOptions>();
    command.option("PROMPT", options->prompts,
                   "Prompts of the player, one turn each (default: read line by line)");
    command
        .option("--story", options->story,
                "The story's folder (default: the working folder, if it has a story.toml)")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--project", options->project,
                "The story may call the tools of this Namel3ss project by their names")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--narrator", options->narrator,
                "The narrator: template, or a plugin's id (default: the story's)")
        .type_name("NAME");
    command
        .option("--plugin", options->plugins,
                "Load a further plugin: a file (with a slash) or an id; may be repeated")
        .type_name("PLUGIN")
        .one_value();
    const Option store =
        command
            .option("--store", options->store,
                    "Keep the game in this file, and go on where it stood (session.h)")
            .type_name("FILE")
            .not_empty();
    command.option("--session", options->session, "The game's name in the store")
        .type_name("NAME")
        .not_empty()
        .needs(store);
    options->log.add_to(command);
    options->groups.add_to(command);
    command.footer(
        "Without prompts, it begins with the story's opening. A number selects a choice, at first "
        "of\nthe opening. Ctrl-D ends the game.\nExit status with "
        "prompts: 0 all turns succeeded, 1 a turn ended in the fallback,\n2 the story was refused, "
        "130 after Ctrl-C.\nExample:\n  narratoria play --story examples/stories/torch \"I light "
        "the torch and examine the door\"");
    command.action([options] { return play(*options); });
}

}  // namespace narratoria::command
