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
#include "story/kept_games.hpp"
#include "story/session_plugins.hpp"
#include "story/turn_tree.hpp"
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
    bool is_new = false;
    bool must_be_new = false;  // the session
    bool is_not_kept = false;
    bool names_session = false;    // the command chose the session, not the player
    std::string played_elsewhere;  // the session that it would have chosen
    LogOption log;
    GroupOptions groups;
};

// What shows the story.
constexpr std::string_view kConsole = "narratoria.console";

// What the player can type instead of a prompt.
constexpr std::string_view kCommands =
    "  /undo [NUMBER]  takes back the last prompt, or several\n"
    "  /again [ID,ID]  plays the last prompt again, for another answer; or only these of its "
    "tools,\n"
    "                  and those that depend on them\n"
    "  /resume         goes on with a prompt that was cut off; \"/resume repeat\" also runs tools "
    "again\n"
    "                  that should not run twice\n"
    "  /edit TEXT      plays TEXT instead of the last prompt\n"
    "  /branches       lists the turns; * is the current one\n"
    "  /save NAME      gives the current turn a name\n"
    "  /load TURN      goes to the end of a turn, by its name or number; 0 is the beginning\n"
    "  /help           lists these commands\n"
    "  //TEXT          says /TEXT in the story\n";

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

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// "a,b" as nar_session_again takes it.
std::string tools_in(std::string_view given) {
    std::string json;
    std::string_view list = given;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        const std::string_view tool = trimmed(list.substr(0, end));
        if (!tool.empty()) (json += json.empty() ? "[" : ",") += json::quoted(tool);
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    if (json.empty() && !is_blank(given)) {
        throw Refused(
            fmt::format("{} names no tool; give toolIds, for example a,b", json::quoted(given)));
    }
    return json.empty() ? json : json + ']';
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
        : store_(options.store),
          style_(Style::for_descriptor(STDOUT_FILENO)),
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
                                                      .store = options.store,
                                                      .must_be_new = options.must_be_new});
        } catch (const Error& error) {
            if (error.code().starts_with("STORE_") || error.code() == "SESSION_EXISTS") throw;
            refuse_session(error, options.story, options.project, "the story was not played");
        }
        for (const std::string& plugin : options.plugins) require_active(plugin);
        has_console_ = console_is_active();
        if (is_kept()) {
            take_up(story::TurnTree(session_->turns()));
            describe_session(options);
        } else {
            take_up_opening();
        }
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
        if (!notice_.empty()) remark(notice_);
        tell_again();
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
    // `flags`: as of nar_session_resume.
    Outcome resume(std::uint64_t turn, std::uint32_t flags) {
        return play([&](auto ended) { session_->resume(turn, flags, ended); });
    }

    // Does what a line that begins with a slash says.
    void obey(std::string_view line) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        const std::string_view word = line.substr(0, end);
        const std::string argument(trimmed(line.substr(end)));
        if (word.starts_with("//")) {
            say(std::string(line.substr(1)));
        } else if (word == "/help") {
            write(fmt::format("\n{}", kCommands));
        } else if (kCommands.find(fmt::format("  {} ", word)) == std::string_view::npos) {
            remark(
                fmt::format("There is no {}. /help lists the commands; to say this in the story, "
                            "begin with //",
                            word));
        } else if (!is_kept()) {
            remark("This game is not kept, so it has no turns to go to");
        } else {
            try {
                obey_known(word, argument);
            } catch (const Refused& refused) {
                remark(refused.what());
            }
        }
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
        if (is_live_) let_console_draw();
        if (is_live_) interruption::shows_cursor_on(-1);
        if (outcome == Outcome::Cancelled && broken_ == 0) remark("(the turn was cancelled)");
        if (outcome == Outcome::Timeout) remark("(the turn took too long)");
        return outcome;
    }

    // The console draws a few times a second. What belongs to a turn, such as a warning of
    // the store, is there before the next prompt.
    void let_console_draw() {
        using std::chrono::steady_clock;
        const steady_clock::time_point end = steady_clock::now() + std::chrono::milliseconds(200);
        while (steady_clock::now() < end) {
            const auto due = engine_->timeout();
            const bool waits = due && steady_clock::now() + *due < end;
            pollfd ready{engine_->descriptor(), POLLIN, 0};
            if (poll(&ready, 1, waits ? static_cast<int>(due->count()) : 0) == 0 && !waits) return;
            engine_->run_for(std::chrono::microseconds(0));
        }
    }

    bool is_kept() const noexcept { return !store_.path().empty(); }

    void write(std::string_view text) {
        if (broken_ == 0 && !write_all(STDOUT_FILENO, text)) broken_ = errno;
    }

    void write_title(std::string_view title) {
        const std::string shown = cut(printable(title), 74);
        std::string rule;
        for (std::size_t column = 0; column < columns(shown); ++column) rule += "─";
        write(fmt::format("  {}\n  {}\n", style_.title(shown), style_.dim(rule)));
    }

    // What was told last, with its choices, is that of the last prompt or the opening.
    void take_up(const story::TurnTree& turns) {
        const json::Value* const turn = turns.find(turns.current());
        turn_ = turns.current();
        place_ = turn != nullptr ? fmt::format("turn {}: {}", turn_, story::heading(*turn))
                                 : std::string("the beginning");
        const std::vector<const json::Value*> prompts = turns.prompts();
        if (prompts.empty()) return take_up_opening();
        told_ = json::text(*prompts.back(), "narrative");
        choices_ = texts_in((*prompts.back())["choices"]);
    }

    void take_up_opening() {
        told_.clear();
        choices_.clear();
        const json::Document opening = json::read(session_->opening());
        if (!opening.IsObject()) return;
        told_ = json::text(opening, "text");
        choices_ = texts_in(opening["choices"]);
    }

    void tell_again() {
        if (!told_.empty() || !choices_.empty()) tell(told_);
    }

    // Says where the game is kept, unless the player has given its name and it is a new one.
    void describe_session(const PlayOptions& options) {
        const story::TurnTree turns(session_->turns());
        const json::Value* const cut_off = turns.interrupted();
        if (turn_ == 0 && !options.names_session && cut_off == nullptr) return;
        if (!options.played_elsewhere.empty()) {
            notice_ = fmt::format("{} is being played elsewhere; ", options.played_elsewhere);
        }
        notice_ += fmt::format("{}, {}, kept in {}", session_->id(),
                               turn_ != 0           ? fmt::format("turn {}", turn_)
                               : cut_off != nullptr ? std::string("the beginning")
                                                    : std::string("a new game"),
                               story::shown_below_home(options.store));
        if (options.names_session) {
            notice_ += turn_ != 0 ? "; --new starts over" : "; /help lists the commands";
        }
        if (cut_off != nullptr) {
            notice_ += fmt::format("; \"{}\" was cut off, /resume goes on with it",
                                   cut(story::heading(*cut_off), kStoryWidth));
        }
    }

    void obey_known(std::string_view word, const std::string& argument) {
        if (word == "/undo") {
            undo(argument);
        } else if (word == "/again") {
            const Prompt last = last_prompt();
            if (is_live_) player_says(last.text);
            again(NAR_TURN_CURRENT, tools_in(argument));
        } else if (word == "/resume") {
            if (!argument.empty() && argument != "repeat") throw Refused("Usage: /resume [repeat]");
            resume(NAR_TURN_CURRENT, argument.empty() ? 0 : NAR_RESUME_REPEATS);
        } else if (word == "/edit") {
            edit(argument);
        } else if (word == "/branches") {
            write(fmt::format("\n{}", story::TurnTree(session_->turns()).drawn(style_)));
        } else if (word == "/save") {
            save(argument);
        } else if (word == "/load") {
            load(argument);
        }
    }

    void say(const std::string& prompt) {
        if (is_live_) player_says(prompt);
        turn(prompt);
    }

    struct Prompt {
        std::string text;
        std::uint64_t before;  // the turn; 0: the beginning
    };
    // The one that was interrupted last, or the last one of the current branch.
    Prompt last_prompt() const {
        const story::TurnTree turns(session_->turns());
        const json::Value* const cut_off = turns.interrupted();
        return prompt_in(cut_off != nullptr ? *cut_off : *prompts_of(turns).back());
    }

    // Those of the current branch. Throws Refused if there is none.
    static std::vector<const json::Value*> prompts_of(const story::TurnTree& turns) {
        std::vector<const json::Value*> prompts = turns.prompts();
        if (prompts.empty()) throw Refused("There is no prompt yet");
        return prompts;
    }

    static Prompt prompt_in(const json::Value& turn) {
        return {std::string(json::text(turn, "prompt")), json::count(turn, "parent")};
    }

    void undo(const std::string& argument) {
        const std::size_t count = argument.empty() ? 1 : number_in(argument).value_or(0);
        if (count == 0) throw Refused("Usage: /undo [NUMBER OF PROMPTS]");
        const story::TurnTree turns(session_->turns());
        const std::vector<const json::Value*> prompts = prompts_of(turns);
        go_to(prompt_in(*prompts[prompts.size() - std::min(count, prompts.size())]).before);
        tell_place();
    }

    void edit(const std::string& text) {
        const Prompt last = last_prompt();
        if (text.empty()) throw Refused("Usage: /edit TEXT, instead of: " + last.text);
        if (json::ill_formed_utf8(text)) throw Refused("The text is not UTF-8");
        go_to(last.before);
        // The number of a choice that was there before.
        say(meaning(text).value_or(text));
    }

    void save(const std::string& name) {
        if (name.empty() || number_in(name)) throw Refused("Usage: /save NAME, not a number");
        const std::uint64_t current = story::TurnTree(session_->turns()).current();
        if (current == 0) throw Refused("There is no turn yet; /load 0 goes to the beginning");
        store_.set_name(session_->id(), name, current);
        remark(fmt::format("turn {} is saved as {}", current, name));
    }

    void load(const std::string& argument) {
        if (argument.empty()) throw Refused("Usage: /load TURN; /branches lists the turns");
        std::optional<std::uint64_t> number = number_in(argument);
        if (!number) {
            const story::TurnTree turns(session_->turns());
            const json::Value* const turn = turns.find(argument);
            if (turn == nullptr) {
                throw Refused(
                    fmt::format("No turn is saved as {}; /branches lists the turns", argument));
            }
            number = json::count(*turn, "id");
        }
        go_to(*number);
        tell_place();
    }

    // 0: the beginning.
    void go_to(std::uint64_t turn) {
        session_->go_to(turn != 0 ? turn : NAR_TURN_BEGINNING);
        take_up(story::TurnTree(session_->turns()));
    }

    void tell_place() {
        remark(place_);
        tell_again();
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
        // The display has shown the reason of each plan, and the warning.
        if (has_console_ && (code == "FALLBACK" || code.starts_with("STORE_"))) return;
        if (is_open_) {
            remark(message);
        } else {
            logged_early_.emplace_back(message);
        }
    }

    Store store_;  // without a path: the game is not kept
    Style style_;
    bool is_live_;
    std::uint32_t log_level_;
    bool is_open_ = false;
    bool has_console_ = false;
    int broken_ = 0;
    std::vector<std::string> logged_early_;
    std::string notice_;  // about the session
    // As of the last take_up():
    std::uint64_t turn_ = 0;            // 0: the beginning
    std::string place_;                 // what turn it is
    std::string told_;                  // by the last prompt, or the opening
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
    const bool asks = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
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
        const bool is_command = line->starts_with('/');
        std::optional<std::string> prompt = is_command ? *line : game.meaning(*line);
        if (!prompt && asks) {
            game.remark(game.choice_count() == 1
                            ? std::string("There is one choice: 1")
                            : fmt::format("The choices are 1 to {}", game.choice_count()));
            continue;
        }
        if (!prompt) prompt = *line;
        try {
            if (is_command) game.obey(*line);
            else game.turn(*prompt);
        } catch (const Error& error) {
            const bool is_of_prompt =
                error.status() == NAR_INVALID_ARGUMENT || error.status() == NAR_INVALID_DOCUMENT;
            if (!is_of_prompt && !is_command) throw;
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

// Opens the game in its store, with a store and a session of the command's choice where the player
// named none. False if there is no place for a store; `why` says the reason. Throws Error if the store
// cannot be used.
bool open_kept(std::optional<Game>& game, PlayOptions options, std::string& why) {
    if (options.store.empty()) {
        const std::optional<std::string> file = story::games_file(why);
        if (!file) return false;
        options.store = *file;
    }
    if (options.session.empty()) {
        options.names_session = true;
        if (!options.is_new) {
            options.session = story::last_game(options.store, options.story, options.project)
                                  .value_or(std::string());
        }
        if (!options.session.empty()) {
            try {
                game.emplace(options);
                return true;
            } catch (const Error& error) {
                if (error.code() != "STORE_LOCKED") throw;
                options.played_elsewhere = options.session;
            }
        }
        options.must_be_new = true;
        for (;;) {
            options.session = story::new_game(options.store, options.story);
            try {
                game.emplace(options);
                return true;
            } catch (const Error& error) {
                // Another game has taken the name since it was chosen.
                if (error.code() != "SESSION_EXISTS") throw;
            }
        }
    }
    const std::string other = story::other_story(options.store, options.session, options.story);
    game.emplace(options);
    if (!other.empty()) {
        complain(fmt::format("the game {} was played with the story {} until now",
                             printable(options.session), shown_path(other)));
    }
    return true;
}

void open_kept_if_possible(std::optional<Game>& game, const PlayOptions& options) {
    std::string why;
    try {
        open_kept(game, options, why);
    } catch (const Error& error) {
        if (!error.code().starts_with("STORE_")) throw;
        why = printable(error.message());
    }
    if (!game) complain(fmt::format("this game is not kept: {}", why));
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
    const bool is_kept = !options.store.empty() || !options.session.empty();
    if (options.is_not_kept && (is_kept || options.is_new)) {
        throw Refused(fmt::format("--no-store contradicts {}; give one of them",
                                  options.is_new                     ? "--new"
                                  : is_kept && options.store.empty() ? "--session"
                                                                     : "--store"));
    }
    if (options.is_new && !options.session.empty()) {
        throw Refused(
            "--new contradicts --session; give one of them: a name that is new begins a "
            "new game");
    }
    require_standard_output("the story is told there");
    std::optional<Game> game;
    if (is_kept) {
        std::string why;
        if (!open_kept(game, options, why)) throw Refused(why);
    } else {
        // A script gives the same result each time.
        const bool is_played = isatty(STDIN_FILENO) != 0 && options.prompts.empty();
        if (is_played && !options.is_not_kept) open_kept_if_possible(game, options);
        if (!game) game.emplace(options);
    }
    if (game->broken() != 0) return could_not_tell(game->broken());
    return options.prompts.empty() ? play_lines(*game) : play_given_prompts(*game, options.prompts);
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
        const bool is_refused = error.code() == "NOT_REPEATABLE";
        throw Refused(printable(error.message()) + (is_refused ? " (--repeat runs it again)" : ""));
    }
    if (interruption::received() != 0) return kExitSignal + interruption::received();
    if (game.broken() != 0) return could_not_tell(game.broken());
    return outcome == Outcome::Completed ? kExitSuccess : kExitFailure;
}

}  // namespace

int play_again(const KeptPrompt& prompt, const std::string& tools) {
    return play_kept(
        prompt, [&](Game& game, std::uint64_t turn) { return game.again(turn, tools_in(tools)); });
}

int play_on(const KeptPrompt& prompt, std::uint32_t flags) {
    return play_kept(prompt,
                     [&](Game& game, std::uint64_t turn) { return game.resume(turn, flags); });
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
    command
        .option("--store", options->store,
                "Keep the game in this file, and go on where it stood (default, on a terminal: "
                "narratoria/games.db in the folder of the user's data)")
        .type_name("FILE")
        .not_empty();
    command
        .option("--session", options->session,
                "The game's name in the store (default: the story's last game there)")
        .type_name("NAME")
        .not_empty();
    command.flag("--new", options->is_new,
                 "Start a new game instead of going on with the last one");
    command.flag("--no-store", options->is_not_kept, "Do not keep the game");
    options->log.add_to(command);
    options->groups.add_to(command);
    command.footer(
        "Without prompts, it begins with the story's opening. A number selects a choice, at first "
        "of\nthe opening. Ctrl-D ends the game; /help lists what else can be typed.\nExit status "
        "with "
        "prompts: 0 all turns succeeded, 1 a turn ended in the fallback,\n2 the story was refused, "
        "130 after Ctrl-C.\nExample:\n  narratoria play --story examples/stories/torch \"I light "
        "the torch and examine the door\"");
    command.action([options] { return play(*options); });
}

}  // namespace narratoria::command
