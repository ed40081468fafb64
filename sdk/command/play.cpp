// SPDX-License-Identifier: Apache-2.0
// narratoria play: a session in the terminal.

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "display.hpp"
#include "drive.hpp"
#include "faults.hpp"
#include "file.hpp"
#include "interruption.hpp"
#include "json.hpp"
#include "message.hpp"
#include "narratoria/engine.hpp"
#include "stage.hpp"
#include "story_title.hpp"

namespace narratoria::command {
namespace {

struct PlayOptions {
    std::vector<std::string> prompts;
    std::string story;
    std::optional<std::string> narrator;
};

// Narrators that --narrator knows. More come with plugins.
constexpr std::string_view kNarrators[] = {"template"};

void require_narrator(const std::optional<std::string>& name) {
    if (!name ||
        std::find(std::begin(kNarrators), std::end(kNarrators), *name) != std::end(kNarrators)) {
        return;
    }
    std::string known;
    for (const std::string_view one : kNarrators) {
        known += known.empty() ? "" : ", ";
        known += one;
    }
    throw Refused(
        fmt::format("there is no narrator named \"{}\"; there is: {}", printable(*name), known));
}

std::string find_story(const std::string& given) {
    struct stat status {};
    if (!given.empty()) {
        if (stat(given.c_str(), &status) != 0) {
            throw Refused(
                fmt::format("there is no story at {} ({}); name a folder with a story.toml",
                            shown_path(given), reason(errno)));
        }
        if (!S_ISDIR(status.st_mode)) {
            throw Refused(
                fmt::format("{} is a file; name the story's folder, the one that has "
                            "story.toml in it",
                            shown_path(given)));
        }
        return given;
    }
    if (stat("story.toml", &status) == 0) return ".";
    throw Refused(
        "there is no story.toml in the working folder; name a story: narratoria play --story "
        "FOLDER");
}

// Reads standard input line by line, and notices a signal while it waits.
class PromptReader {
public:
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
            pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {interruption::descriptor(), POLLIN, 0}};
            if (poll(ready, 2, -1) < 0 && errno != EINTR) ended_ = true;
            if (interruption::received() != 0) return std::nullopt;
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
    std::string buffer_;
    bool ended_ = false;
};

std::vector<std::string> texts_in(std::string_view array) {
    std::vector<std::string> texts;
    const json::Document document = json::read(array);
    if (!document.IsArray()) return texts;
    for (const json::Value& text : document.GetArray()) {
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

// One game, from the first prompt to the last.
class Game {
public:
    explicit Game(const std::string& story) {
        EngineOptions options;
        options.log = [this](std::uint32_t level, std::string_view message) {
            if (level >= NAR_LOG_WARN) stage_.remark(message);
        };
        engine_.emplace(options);
        try {
            session_.emplace(*engine_, SessionOptions{.story = story});
        } catch (const Error& error) {
            refuse_document(error, shown_path(story), "story", "it was not played");
        }
        session_->attach([this](const Event& event) { stage_.take(event); }, Stage::wanted_kinds());
        stage_.title(story_title(story));
    }

    Stage& stage() noexcept { return stage_; }

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
        Outcome outcome = Outcome::kCancelled;
        session_->prompt(prompt, [&](Turn turn) {
            outcome = turn.outcome();
            choices_ = texts_in(turn.choices());
            stage_.turn_ended(turn.outcome(), turn.narrative(), choices_);
        });
        const interruption::CancelsSession cancels(session_->raw());
        const auto after_batch = [&] {
            stage_.refresh();
            if (stage_.broken() != 0) session_->cancel();
        };
        if (stage_.is_live()) {
            drive_until_idle(*engine_, after_batch, [&] { return stage_.next_look(); });
        } else {
            drive_until_idle(*engine_, after_batch);
        }
        stage_.settle();
        return outcome;
    }

private:
    // The stage first: sinks refer to it until the session and the engine are gone.
    Stage stage_;
    std::vector<std::string> choices_;
    std::optional<Engine> engine_;
    std::optional<Session> session_;
};

// A reader that went away knows that it did.
int could_not_tell(int error) {
    if (error != EPIPE) {
        complain(
            fmt::format("the story could not be written to standard output: {}", reason(error)));
    }
    return kExitFailure;
}

int play_given_prompts(Game& game, const std::vector<std::string>& prompts) {
    bool all_completed = true;
    for (const std::string& given : prompts) {
        const std::string prompt = game.meaning(given).value_or(given);
        if (game.stage().is_live()) game.stage().player_says(prompt);
        all_completed = game.turn(prompt) == Outcome::kCompleted && all_completed;
        if (interruption::received() != 0) return kExitSignal + interruption::received();
        if (game.stage().broken() != 0) return could_not_tell(game.stage().broken());
    }
    return all_completed ? kExitSuccess : kExitFailure;
}

int play_lines(Game& game) {
    const bool asks = isatty(STDIN_FILENO) != 0 && game.stage().is_live();
    PromptReader reader;
    for (;;) {
        interruption::is_noted();
        if (asks) {
            game.stage().prompt_sign();
        } else {
            game.stage().settle();
        }
        const std::optional<std::string> line = reader.next();
        if (!line) {
            if (asks) write_all(STDOUT_FILENO, "\n");
            const int signal = interruption::received();
            return signal != 0 ? kExitSignal + signal : kExitSuccess;
        }
        if (asks) game.stage().player_typed();
        if (is_blank(*line)) continue;
        std::optional<std::string> prompt = game.meaning(*line);
        if (!prompt && asks) {
            game.stage().remark(
                game.choice_count() == 1
                    ? std::string("There is one choice: 1")
                    : fmt::format("There are the choices 1 to {}", game.choice_count()));
            continue;
        }
        if (!prompt) prompt = *line;
        try {
            game.turn(*prompt);
        } catch (const Error& error) {
            if (error.status() != NAR_INVALID_ARGUMENT && error.status() != NAR_INVALID_DOCUMENT) {
                throw;
            }
            game.stage().remark(error.message());
        }
        if (game.stage().broken() != 0) return could_not_tell(game.stage().broken());
        if (const int signal = interruption::received(); signal != 0) {
            // Ctrl-C in a turn that somebody watches takes that turn back, not the whole game.
            if (!asks || signal != SIGINT) return kExitSignal + signal;
            interruption::clear();
        }
    }
}

int play(const PlayOptions& options) {
    require_narrator(options.narrator);
    const std::string story = find_story(options.story);
    for (const std::string& prompt : options.prompts) {
        if (is_blank(prompt)) {
            throw Refused(
                "a prompt is empty; give the player's words, for example \"I light the torch\"");
        }
    }
    require_standard_output("the story is told there");
    Game game(story);
    return options.prompts.empty() ? play_lines(game) : play_given_prompts(game, options.prompts);
}

}  // namespace

void add_play(CLI::App& application, Action& action) {
    CLI::App* command = application.add_subcommand("play", "Play a story in the terminal");
    auto options = std::make_shared<PlayOptions>();
    command->add_option("PROMPT", options->prompts,
                        "The player's words, one turn each; none: they are read line by line");
    command
        ->add_option("--story", options->story,
                     "The story's folder (default: the working folder, when it has a story.toml)")
        ->type_name("FOLDER");
    command
        ->add_option("--narrator", options->narrator,
                     "Who answers the prompts: template (default: what the story says)")
        ->type_name("NAME");
    command->footer(
        "A number selects one of the choices that were shown. Ctrl-D ends the game.\n"
        "Exit status with prompts: 0 every turn went well, 1 one ended in the fallback,\n"
        "2 the story was refused, 130 after Ctrl-C.\n"
        "Example:\n"
        "  narratoria play --story examples/stories/torch \"I light the torch and examine the "
        "door\"");
    command->callback([options, &action] { action = [options] { return play(*options); }; });
}

}  // namespace narratoria::command
