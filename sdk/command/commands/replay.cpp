// SPDX-License-Identifier: Apache-2.0
// narratoria replay: replays the turns of a stored session and compares the states at their ends.

#include <fmt/core.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "commands/command.hpp"
#include "display.hpp"
#include "engine/drive.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/store.hpp"
#include "story/saved_games.hpp"

namespace narratoria::command {
namespace {

struct Options {
    std::string store;
    std::string session;
};

// The story's folder. Empty if it no longer exists; the replay then lacks the story's limits and
// fallback texts.
std::string story_of(const Store& store, const std::string& name) {
    const json::Document sessions = json::read(store.sessions());
    for (const json::Value& session : sessions.GetArray()) {
        if (json::text(session, "id") != name) continue;
        std::string story(json::text(*json::member(session, "about"), "story"));
        struct stat status {};
        if (!story.empty() && stat((story + "/story.toml").c_str(), &status) == 0) return story;
    }
    return {};
}

bool has_ended(const json::Value& turn) {
    const std::string_view status = json::text(turn, "status");
    return status != "running" && status != "interrupted";
}

// Prints what differs.
int replay_turns(Engine& engine, Session& session, const json::Value& turns) {
    std::uint64_t count = 0, different = 0;
    for (const json::Value& turn : turns.GetArray()) {
        if (!has_ended(turn)) continue;
        ++count;
        session.replay(json::count(turn, "id"), [&](const nar_replayed& replayed) {
            if (replayed.is_equal != 0) return;
            ++different;
            print_output(fmt::format("turn {}: the state differs: stored {:016x}, now {:016x}\n",
                                     replayed.turn, replayed.stored_hash, replayed.hash),
                         "the comparison");
        });
        drive_until_idle(engine, [] {});
        if (interruption::received() != 0) return kExitSignal + interruption::received();
    }
    print_output(different == 0 ? fmt::format("{} {}; each ends in its stored state\n", count,
                                              count == 1 ? "turn" : "turns")
                                : fmt::format("{} of {} turns {}\n", different, count,
                                              different == 1 ? "differs" : "differ"),
                 "the comparison");
    return different == 0 ? kExitSuccess : kExitFailure;
}

int replay(const Options& options) {
    require_standard_output("the comparison");
    interruption::record_first();
    std::string story;
    try {
        const Store store(options.store);
        const json::Document read = json::read(store.turns(options.session));
        story = story_of(store, options.session);
        Engine engine({.output_mode = NAR_OUTPUT_NONE});
        Session session(
            engine,
            {.id = options.session, .story = story, .store = options.store, .replays = true});
        return replay_turns(engine, session, *json::member(read, "turns"));
    } catch (const Error& error) {
        if (error.code() == "STORY") {
            refuse_document(error, display_path(story), "story", "nothing was replayed");
        }
        throw Refused(printable(error.message()));
    }
}

}  // namespace

void add_replay(Command application) {
    Command command =
        application.subcommand("replay", "Replay a stored session and compare its states");
    auto options = std::make_shared<Options>();
    story::add_store(command, options->store);
    command.option("--session", options->session, "The session's name")
        .type_name("NAME")
        .required()
        .not_empty();
    command.footer(
        "The narrator's replies and the tools' events come from the store: the narrator is not "
        "asked,\n"
        "and no tool is started. The store is only read.\n"
        "Exit status: 0 if each turn ends in its stored state, 1 if not, 2 if the session\n"
        "cannot be read.\n"
        "Example:\n  narratoria replay --store saves.db --session evening");
    command.action([options] {
        story::find_store(options->store);
        return replay(*options);
    });
}

}  // namespace narratoria::command
