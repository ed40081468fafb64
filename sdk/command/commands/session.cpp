// SPDX-License-Identifier: Apache-2.0
// narratoria session: shows and edits the sessions in a store.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "commands/command.hpp"
#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/session.h"
#include "narratoria/store.hpp"
#include "story/saved_games.hpp"
#include "story/turn_tree.hpp"
#include "story_text.hpp"

namespace narratoria::command {
namespace {

struct Options {
    std::string store;
    std::string session;
    std::string turn;  // a number or a name
    std::string tools;
    bool repeats = false;
    bool as_json = false;
};

// Calls `read`, which reads the store. Throws Refused if it cannot be read.
template <typename Read>
Text read_store(Read&& read) {
    try {
        return read();
    } catch (const Error& error) {
        throw Refused(printable(error.message()));
    }
}

std::string_view word(std::uint64_t count, std::string_view one, std::string_view many) {
    return count == 1 ? one : many;
}

// The number of the turn that the player named; 0: the beginning. Nothing if none was named. Throws
// Refused if there is no turn of this name.
std::optional<std::uint64_t> turn_in(const Options& options) {
    if (options.turn.empty()) return std::nullopt;
    const Text text = read_store([&] { return Store(options.store).turns(options.session); });
    const story::TurnTree turns(text);
    if (const auto number = turns.number_of(options.turn)) return number;
    const std::string near = similar_name(options.turn, turns.names());
    throw Refused(fmt::format("no turn is saved as {}; {}", printable(options.turn),
                              near.empty() ? "`narratoria session tree` lists the turns"
                                           : fmt::format("did you mean {}?", printable(near))));
}

// Turn numbers begin at 1, so 0 means the beginning.
std::uint64_t turn_number(const Options& options) {
    const std::optional<std::uint64_t> turn = turn_in(options);
    if (!turn) return NAR_TURN_CURRENT;
    return *turn == 0 ? NAR_TURN_BEGINNING : *turn;
}

// "2026-11-30 14:01", in the local time zone, of an ISO 8601 time in UTC.
std::string local_time(const std::string& utc) {
    std::tm parts{};
    if (strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return utc;
    const std::time_t time = timegm(&parts);
    localtime_r(&time, &parts);
    return fmt::format("{}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min);
}

// A session of the list: its name, and what is printed next to it.
using Row = std::array<std::string, 5>;

Row row_of(const json::Value& session, const std::string& store) {
    const std::uint64_t turns = json::count(session, "turns");
    const std::uint64_t current = json::count(session, "current");
    std::string at = fmt::format("{} {}", turns, word(turns, "turn", "turns"));
    if (current != turns) at += fmt::format(", at {}", current);
    const std::filesystem::path story = json::text(*json::member(session, "about"), "story");
    return {printable(json::text(session, "id")), at,
            "begun " + local_time(std::string(json::text(session, "created"))),
            "played " + local_time(story::last_played(store, session)),
            printable(story.filename().string())};
}

// The rows with aligned columns.
std::string aligned(const std::vector<Row>& rows, const Style& style) {
    std::array<std::size_t, std::tuple_size_v<Row>> widths{};
    for (const Row& row : rows) {
        for (std::size_t at = 0; at < row.size(); ++at) {
            widths[at] = std::max(widths[at], columns(row[at]));
        }
    }
    std::string out;
    for (const Row& row : rows) {
        std::string about;
        for (std::size_t at = 1; at < row.size(); ++at) {
            about += "  " + row[at];
            if (at + 1 < row.size()) about.append(widths[at] - columns(row[at]), ' ');
        }
        out += style.bold(row[0]) + std::string(widths[0] - columns(row[0]), ' ') +
               style.dim(about) + '\n';
    }
    return out;
}

int list(const Options& options) {
    require_standard_output("the list");
    const Text text = read_store([&] { return Store(options.store).sessions(); });
    std::string out;
    if (options.as_json) {
        out = std::string(text.view()) + "\n";
    } else {
        const Style style = Style::for_descriptor(STDOUT_FILENO);
        const json::Document sessions = json::read(text);
        std::vector<Row> rows;
        for (const json::Value& session : sessions.GetArray()) {
            rows.push_back(row_of(session, options.store));
        }
        out = aligned(rows, style);
        if (out.empty()) out = "the store has no sessions\n";
    }
    print_output(out, "the list");
    return kExitSuccess;
}

story::TurnTree read_turns(const Options& options, std::string& out) {
    const Text text = read_store([&] { return Store(options.store).turns(options.session); });
    if (options.as_json) out = std::string(text.view()) + "\n";
    return story::TurnTree(text);
}

// From the session's beginning to its current turn.
int show(const Options& options) {
    require_standard_output("the session");
    std::string out;
    const story::TurnTree turns = read_turns(options, out);
    if (!options.as_json) {
        const Style style = Style::for_descriptor(STDOUT_FILENO);
        for (const json::Value* const turn : turns.path()) {
            out += fmt::format("{} {}{}\n", style.cyan("›"), style.bold(story::heading(*turn)),
                               style.dim(story::status_of(*turn)));
            for (const std::string& line :
                 narrative_lines(json::text(*turn, "narrative"), kStoryWidth)) {
                out += line + '\n';
            }
            const auto ending = ending_lines(json::text(*turn, "ending"), kStoryWidth, style);
            if (!ending.empty()) out += '\n';
            for (const std::string& line : ending) out += line + '\n';
            out += '\n';
        }
        if (out.empty()) out = "the session is at its beginning\n";
    }
    print_output(out, "the session");
    return kExitSuccess;
}

int tree(const Options& options) {
    require_standard_output("the tree");
    std::string out;
    const story::TurnTree turns = read_turns(options, out);
    if (!options.as_json) out = turns.draw(Style::for_descriptor(STDOUT_FILENO));
    print_output(out, "the tree");
    return kExitSuccess;
}

int state(const Options& options) {
    require_standard_output("the state");
    const Text text = read_store(
        [&] { return Store(options.store).state(options.session, turn_number(options)); });
    print_output(std::string(text.view()) + "\n", "the state");
    return kExitSuccess;
}

int go(const Options& options) {
    try {
        Store(options.store).go_to(options.session, turn_number(options));
    } catch (const Error& error) {
        throw Refused(printable(error.message()));
    }
    return kExitSuccess;
}

int prune(const Options& options) {
    require_standard_output("the number of turns");
    const std::optional<std::uint64_t> turn = turn_in(options);
    if (turn == 0u) throw Refused("turn 0 is the beginning of the session and cannot be removed");
    try {
        const std::uint64_t removed =
            Store(options.store).prune(options.session, turn.value_or(NAR_TURN_CURRENT));
        print_output(fmt::format("removed {} {}\n", removed, word(removed, "turn", "turns")),
                     "the number of turns");
    } catch (const Error& error) {
        throw Refused(printable(error.message()));
    }
    return kExitSuccess;
}

int again(const Options& options) {
    return play_again({options.store, options.session, turn_in(options)}, options.tools);
}

int resume(const Options& options) {
    return resume_prompt({options.store, options.session, turn_in(options)},
                         options.repeats ? NAR_RESUME_REPEATS : 0);
}

Command add(Command group, const std::string& name, const std::string& description,
            std::shared_ptr<Options> options, int (*act)(const Options&)) {
    Command command = group.subcommand(name, description);
    story::add_store(command, options->store);
    command.action([options, act] {
        story::find_store(options->store);
        return act(*options);
    });
    return command;
}

}  // namespace

void add_session(Command application) {
    Command group = application.group(
        "session", "Show the sessions in a store, undo turns and play them again");
    group.footer(
        "A TURN is the number of a turn, or its name (/save). Exit status: 0, or 2 if the store, "
        "the "
        "session\n"
        "or the turn cannot be read; again and resume also 1 if the turn did not succeed, 130 "
        "after "
        "Ctrl-C.\n"
        "Example:\n  narratoria session tree --store saves.db --session evening");
    auto options = std::make_shared<Options>();
    auto name_session = [&](Command command) {
        command.option("--session", options->session, "The session's name")
            .type_name("NAME")
            .required()
            .not_empty();
        return command;
    };
    add(group, "list", "List the sessions of a store", options, list)
        .flag("--json", options->as_json, "Print the list as JSON (narratoria/store.h)");
    name_session(
        add(group, "show", "Print the story of a session up to the current turn", options, show))
        .flag("--json", options->as_json, "Print all its turns as JSON (narratoria/store.h)");
    name_session(add(group, "tree", "Show the turns of a session and its branches", options, tree))
        .flag("--json", options->as_json, "Print the turns as JSON (narratoria/store.h)");
    name_session(add(group, "state", "Print the state at the end of a turn", options, state))
        .option("--at", options->turn, "The turn, 0 for the beginning (default: the current turn)")
        .type_name("TURN")
        .not_empty();
    Command again_command = name_session(
        add(group, "again", "Play a prompt again, for a different answer", options, again));
    again_command
        .option("TURN", options->turn,
                "The turn of the prompt (default: the last one); the new turn is its sibling")
        .not_empty();
    again_command
        .option("--tools", options->tools,
                "Run only these tools and their dependents again; the others keep their results")
        .type_name("ID,ID")
        .not_empty();
    name_session(add(group, "prune", "Remove turns permanently", options, prune))
        .option("TURN", options->turn,
                "This turn and those that follow it (default: all that do not lead to the current "
                "turn)")
        .not_empty();
    Command resume_command =
        name_session(add(group, "resume", "Resume a prompt that was interrupted", options, resume));
    resume_command
        .option("TURN", options->turn,
                "Its turn (default: the last interrupted one after the current turn)")
        .not_empty();
    resume_command.flag("--repeat", options->repeats,
                        "Also rerun tools that had started and are not repeatable");
    name_session(add(group, "go", "Go to the end of a turn, to continue from there", options, go))
        .option("TURN", options->turn,
                "The turn, 0 for the beginning; the next turn starts a new branch")
        .required()
        .not_empty();
}

}  // namespace narratoria::command
