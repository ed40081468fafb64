// SPDX-License-Identifier: Apache-2.0
#include "story/slash_commands.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments/command_line.hpp"
#include "display.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "story/player_input.hpp"
#include "story_text.hpp"

namespace narratoria::command::story {
namespace {

// The prompts on the path to the current turn. Throws Refused if there is none.
std::vector<const json::Value*> prompts_of(const TurnTree& turns) {
    std::vector<const json::Value*> prompts = turns.prompts();
    if (prompts.empty()) throw Refused("There is no prompt yet");
    return prompts;
}

struct Prompt {
    std::string text;
    std::uint64_t before;  // the turn; 0: the beginning
};

Prompt prompt_in(const json::Value& turn) {
    return {std::string(json::text(turn, "prompt")), json::count(turn, "parent")};
}

// The interrupted prompt after the current turn, or else the last prompt of the current branch.
Prompt last_prompt(Game& game) {
    const TurnTree turns = game.turns();
    const json::Value* const interrupted = turns.interrupted();
    return prompt_in(interrupted != nullptr ? *interrupted : *prompts_of(turns).back());
}

void say(Game& game, const std::string& prompt) {
    if (game.is_live()) game.write_prompt(prompt);
    game.turn(prompt);
}

void undo(Game& game, const std::string& argument) {
    const std::size_t count = argument.empty() ? 1 : number_in(argument).value_or(0);
    if (count == 0) throw Refused("Usage: /undo [NUMBER OF PROMPTS]");
    const TurnTree turns = game.turns();
    const std::vector<const json::Value*> prompts = prompts_of(turns);
    game.go_to(prompt_in(*prompts[prompts.size() - std::min(count, prompts.size())]).before);
    game.show_current_turn();
}

void again(Game& game, const std::string& argument) {
    const std::string tools = tools_in(argument);
    const Prompt last = last_prompt(game);
    game.again(NAR_TURN_CURRENT, tools, last.text);
}

// The turn that the player names by its number or its name; 0: the beginning.
std::uint64_t turn_in(Game& game, const std::string& argument) {
    const TurnTree turns = game.turns();
    if (const auto number = turns.number_of(argument)) return *number;
    const std::string near = similar_name(argument, turns.names());
    throw Refused(fmt::format(
        "No turn is saved as {}; {}", argument,
        near.empty() ? "/branches lists the turns" : fmt::format("did you mean {}?", near)));
}

void resume(Game& game, const std::string& argument) {
    constexpr std::string_view kRepeat = "repeat";
    std::string_view name = argument;
    const bool repeats = name == kRepeat || name.ends_with(" repeat");
    if (repeats) name = trimmed(name.substr(0, name.size() - kRepeat.size()));
    std::uint64_t turn = NAR_TURN_CURRENT;
    if (!name.empty()) {
        turn = turn_in(game, std::string(name));
        if (turn == 0) throw Refused("Turn 0 is the beginning, not a prompt");
    }
    try {
        game.resume(turn, repeats ? NAR_RESUME_REPEATS : 0);
    } catch (const Error& error) {
        if (error.code() != "NOT_REPEATABLE") throw;
        throw Refused(fmt::format("{} (/resume {}{}repeat runs it again)", error.message(), name,
                                  name.empty() ? "" : " "));
    }
}

void edit(Game& game, const std::string& text) {
    const Prompt last = last_prompt(game);
    if (text.empty()) throw Refused("Usage: /edit TEXT, instead of: " + last.text);
    if (json::ill_formed_utf8(text)) throw Refused("The text is not UTF-8");
    // A number selects one of the choices that were shown before the last prompt.
    const std::vector<std::string> choices = game.choices_after(last.before);
    const std::optional<std::string> prompt = choice_or_text(text, choices);
    if (!prompt) throw Refused(choice_range(choices));
    game.go_to(last.before);
    say(game, *prompt);
}

void show_branches(Game& game, const std::string&) {
    game.write(fmt::format("\n{}", game.turns().draw(game.style())));
}

void save(Game& game, const std::string& name) {
    if (name.empty()) throw Refused("Usage: /save NAME");
    const std::uint64_t current = game.turns().current();
    if (current == 0) throw Refused("There is no turn yet; /load 0 goes to the beginning");
    game.set_name(name, current);
    game.remark(fmt::format("turn {} is saved as {}", current, name));
}

void load(Game& game, const std::string& argument) {
    if (argument.empty()) throw Refused("Usage: /load TURN; /branches lists the turns");
    game.go_to(turn_in(game, argument));
    game.show_current_turn();
}

struct SlashCommand {
    std::string_view name;
    std::string_view arguments;
    std::string_view help;
    void (*act)(Game& game, const std::string& argument);
};

constexpr SlashCommand kCommands[] = {
    {"/undo", "[NUMBER]", "takes back the last prompt, or several", undo},
    {"/again", "[ID,ID]",
     "plays the last prompt again, for a different answer; with IDs, only runs these tools and "
     "their dependents again",
     again},
    {"/resume", "[TURN]",
     "resumes an interrupted prompt, the last one or that of TURN; with \"repeat\" at the end, "
     "also "
     "runs tools that are not repeatable",
     resume},
    {"/edit", "TEXT", "plays TEXT instead of the last prompt", edit},
    {"/branches", "", "lists the turns; * is the current one", show_branches},
    {"/save", "NAME", "gives the current turn a name", save},
    {"/load", "TURN", "goes to the end of a turn, by its name or number; 0 is the beginning", load},
};

std::string help_line(std::string usage, std::string_view help) {
    constexpr std::size_t kIndent = 18;
    std::string text;
    for (const std::string& line :
         wrap(help, std::max<std::size_t>(story_width(STDOUT_FILENO), 2 * kIndent) - kIndent)) {
        text += fmt::format("  {:<16}{}\n", std::exchange(usage, {}), line);
    }
    return text;
}

// The commands that the game accepts.
std::string help(bool is_saved) {
    std::string text;
    for (const SlashCommand& each : kCommands) {
        if (!is_saved) break;
        text += help_line(fmt::format("{} {}", each.name, each.arguments), each.help);
    }
    return text + help_line("/help", "lists these commands") +
           help_line("/quit", "ends the game, as Ctrl-D does") +
           help_line("//TEXT", "says /TEXT in the story");
}

}  // namespace

std::vector<std::string> slash_command_names() {
    std::vector<std::string> names{"/help", "/quit"};
    for (const SlashCommand& each : kCommands) names.emplace_back(each.name);
    std::sort(names.begin(), names.end());
    return names;
}

void execute_slash_command(Game& game, std::string_view line) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, end);
    if (word.starts_with("//")) return say(game, std::string(line.substr(1)));
    if (word == "/quit") return game.remark("Usage: /quit");
    if (word == "/help") return game.write(fmt::format("\n{}", help(game.is_saved())));
    const auto* const command =
        std::find_if(std::begin(kCommands), std::end(kCommands),
                     [&](const SlashCommand& each) { return each.name == word; });
    if (command == std::end(kCommands)) {
        const std::string near = similar_name(word, slash_command_names());
        return game.remark(fmt::format(
            "There is no command {}. {}/help lists the commands; to say this in the story, "
            "begin with //",
            word, near.empty() ? near : fmt::format("Did you mean {}? ", near)));
    }
    if (!game.is_saved())
        return game.remark("This game is not saved, so there are no turns to go back to");
    try {
        command->act(game, std::string(trimmed(line.substr(end))));
    } catch (const Refused& refused) {
        game.remark(refused.what());
    }
}

}  // namespace narratoria::command::story
