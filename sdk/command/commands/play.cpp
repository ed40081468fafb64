// SPDX-License-Identifier: Apache-2.0
// narratoria play: a session in the terminal.

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"
#include "display.hpp"
#include "input/line_editor.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/store.hpp"
#include "output.hpp"
#include "story/folder.hpp"
#include "story/game.hpp"
#include "story/player_input.hpp"
#include "story/saved_games.hpp"
#include "story/slash_commands.hpp"

namespace narratoria::command {
namespace {

using story::Game;

struct PlayOptions : story::GameOptions {
    std::vector<std::string> prompts;
    bool no_store = false;
};

// A broken pipe needs no message: its reader closed it.
int report_write_error(int error) {
    if (error != EPIPE) {
        complain(fmt::format("cannot write the story to standard output: {}", reason(error)));
    }
    return kExitFailure;
}

int play_given_prompts(Game& game, const std::vector<std::string>& prompts, bool is_verbose) {
    bool all_completed = true;
    for (const std::string& given : prompts) {
        const std::string prompt = game.to_prompt(given).value_or(given);
        if (game.is_live()) game.write_prompt(prompt);
        all_completed = game.turn(prompt) == Outcome::Completed && all_completed;
        if (interruption::received() != 0) return kExitSignal + interruption::received();
        if (game.write_error() != 0) return report_write_error(game.write_error());
    }
    if (!all_completed && !is_verbose) {
        complain("not every turn succeeded; --verbose shows the reasons");
    }
    return all_completed ? kExitSuccess : kExitFailure;
}

// Completes commands and choices.
input::Completion complete(const Game& game, std::string_view before) {
    input::Completion found{.typed = before.size(), .words = {}};
    const bool is_command = before.starts_with('/');
    for (const std::string& word : is_command ? story::slash_command_names() : game.choices()) {
        if (word.starts_with(before) && word == printable(word)) found.words.push_back(word);
    }
    return found;
}

std::unique_ptr<input::LineReader> open_input(Game& game, const std::string& history, bool asks) {
    std::unique_ptr<input::LineReader> editor;
    if (asks && game.is_live()) {
        editor = input::open_line_editor(game.engine(), history, [&game](std::string_view before) {
            return complete(game, before);
        });
    }
    if (!editor) editor = std::make_unique<story::PlainReader>(game.engine(), asks);
    return editor;
}

int play_lines(Game& game, const std::string& history, bool is_verbose) {
    bool explains = !is_verbose;  // the next fallback
    game.show_opening();
    const bool asks = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    if (asks) game.hint_at_ending();
    const std::unique_ptr<input::LineReader> reader = open_input(game, history, asks);
    for (;;) {
        std::string line;
        if (asks) {
            interruption::record_all();
            game.write("\n");
        } else {
            interruption::record_first();
        }
        if (asks) {
            game.set_prompting([&reader](std::string_view text) { reader->write_above(text); });
        }
        const auto ending = reader->read(game.prompt_sign(), line);
        game.set_prompting({});
        if (ending == input::LineReader::Ending::Input) return kExitSuccess;
        if (ending == input::LineReader::Ending::Signal) {
            const int signal = interruption::received();
            if (!asks || signal != SIGINT) return kExitSignal + signal;
            if (line.empty()) game.remark("Ctrl-D or /quit ends the game");
            interruption::clear();
            continue;
        }
        if (story::is_blank(line)) continue;
        reader->remember(line);
        if (story::trimmed(line) == "/quit") return kExitSuccess;
        const bool is_command = line.starts_with('/');
        std::optional<std::string> prompt = is_command ? line : game.to_prompt(line);
        if (!prompt && asks) {
            game.remark(story::choice_range(game.choices()));
            continue;
        }
        if (!prompt) prompt = line;
        const std::uint64_t turns_before = game.played_turns();
        try {
            if (is_command) story::execute_slash_command(game, line);
            else if (game.turn(*prompt) == Outcome::Fallback && std::exchange(explains, false)) {
                game.remark("The narrator gave no usable answer; --verbose shows why");
            }
        } catch (const Error& error) {
            const bool is_of_prompt =
                error.status() == NAR_INVALID_ARGUMENT || error.status() == NAR_INVALID_DOCUMENT;
            if (!is_of_prompt && !is_command) throw;
            game.remark(error.message());
        }
        if (asks && game.played_turns() > turns_before) game.hint_at_ending();
        if (game.write_error() != 0) return report_write_error(game.write_error());
        if (const int signal = interruption::received(); signal != 0) {
            // At a terminal, Ctrl-C in a turn cancels that turn, not the whole game.
            if (!asks || signal != SIGINT) return kExitSignal + signal;
            interruption::clear();
        }
    }
}

// `narratoria play my-story` means the story, not a prompt.
void require_no_story(const std::string& prompt) {
    struct stat status {};
    if (stat((prompt + "/story.toml").c_str(), &status) != 0) return;
    throw Refused(
        fmt::format("\"{0}\" is a story, not a prompt; to play it: narratoria play --story {0}",
                    printable(prompt)));
}

int play(PlayOptions options) {
    if (options.story.empty() && !options.prompts.empty()) {
        require_no_story(options.prompts.front());
    }
    options.story = story::find_story(options.story, "play");
    for (const std::string& prompt : options.prompts) {
        if (story::is_blank(prompt)) {
            throw Refused(
                "a prompt is empty; give the player's words, for example \"I light the torch\"");
        }
        if (json::ill_formed_utf8(prompt)) {
            throw Refused(fmt::format("the prompt \"{}\" is not UTF-8", printable(prompt)));
        }
    }
    require_standard_output("the story");
    options.watches_story = options.prompts.empty();
    std::optional<Game> game;
    // A script gives the same result each time.
    const bool is_kept = isatty(STDIN_FILENO) != 0 && options.prompts.empty();
    const auto saved = story::open_game(options.saved, options.no_store, is_kept, options.story,
                                        options.project, [&](const story::SavedGame& chosen) {
                                            options.saved = chosen;
                                            game.emplace(options);
                                        });
    if (game->write_error() != 0) return report_write_error(game->write_error());
    const int status =
        options.prompts.empty()
            ? play_lines(*game, options.no_store ? "" : story::history_name(options.story),
                         options.is_verbose)
            : play_given_prompts(*game, options.prompts, options.is_verbose);
    const int reported = game->report_unstored_turns(status);
    const std::string session = game->session();
    game.reset();
    if (saved && saved->is_created) story::remove_unplayed_game(saved->store, session);
    return reported;
}

}  // namespace

namespace {

// The story of a stored session.
PlayOptions options_of(const StoredPrompt& prompt) {
    PlayOptions options;
    options.saved.store = prompt.store;
    options.saved.session = prompt.session;
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
        const std::string store = display_path(prompt.store);
        const std::string session = printable(json::quoted(prompt.session));
        throw Refused(
            is_known ? fmt::format("the session {} in the store {} was not played with a story, so "
                                   "this command cannot play it",
                                   session, store)
                     : fmt::format("the store {} has no session {}", store, session));
    }
    return options;
}

// Plays one turn of a stored session.
template <typename Play>
int play_stored(const StoredPrompt& prompt, Play&& play_turn) {
    require_standard_output("the story");
    if (prompt.turn == 0u) throw Refused("turn 0 is the beginning of the session, not a prompt");
    Game game(options_of(prompt));
    Outcome outcome;
    try {
        outcome = play_turn(game, prompt.turn ? *prompt.turn : NAR_TURN_CURRENT);
    } catch (const Error& error) {
        const bool is_refused = error.code() == "NOT_REPEATABLE";
        throw Refused(printable(error.message()) + (is_refused ? " (--repeat runs it again)" : ""));
    }
    int status = outcome == Outcome::Completed ? kExitSuccess : kExitFailure;
    if (game.write_error() != 0) status = report_write_error(game.write_error());
    if (interruption::received() != 0) status = kExitSignal + interruption::received();
    return game.report_unstored_turns(status);
}

}  // namespace

int play_again(const StoredPrompt& prompt, const std::string& tools) {
    return play_stored(prompt, [&](Game& game, std::uint64_t turn) {
        return game.again(turn, story::tools_in(tools));
    });
}

int resume_prompt(const StoredPrompt& prompt, std::uint32_t flags) {
    return play_stored(prompt,
                       [&](Game& game, std::uint64_t turn) { return game.resume(turn, flags); });
}

void add_play(Command application) {
    Command command = application.subcommand("play", "Play a story in the terminal");
    auto options = std::make_shared<PlayOptions>();
    command.option("PROMPT", options->prompts,
                   "The player's prompts, one turn each (default: read line by line)");
    command
        .option("--story", options->story,
                "The story's folder (default: the working folder, if it has a story.toml)")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--project", options->project,
                "Let the story call the tools of this Namel3ss project by name")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--narrator", options->narrator,
                "The narrator: template, or a plugin's id (default: the story's)")
        .type_name("NAME");
    command
        .option("--plugin", options->plugins,
                "Load an additional plugin: a file (with a slash) or an id; may be repeated")
        .type_name("PLUGIN")
        .one_value();
    story::add_saving(command, options->saved, options->no_store,
                      "Do not save the game and the history of the prompt");
    command.flag("--verbose", options->is_verbose,
                 "Also show what helps an author: tools with their times and errors, warnings, and "
                 "the files of pictures");
    options->log.add_to(command);
    options->groups.add_to(command);
    command.footer(
        "Without prompts, it begins with the story's opening, and changes of the story's files "
        "take\n"
        "effect at the next prompt. A number selects one of the choices\n"
        "shown last. Ctrl-D or /quit ends the game; /help lists the commands.\nExit status "
        "with "
        "prompts: 0 all turns succeeded, 1 a turn ended in the fallback or was not stored,\n"
        "2 the story was refused, 130 after Ctrl-C; without: 0, or 1 if a turn was not "
        "stored.\nExample:\n  narratoria play --story "
        "examples/stories/torch \"I light "
        "the torch and examine the door\"");
    command.action([options] { return play(*options); });
}

}  // namespace narratoria::command
