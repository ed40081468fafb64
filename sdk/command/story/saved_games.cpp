// SPDX-License-Identifier: Apache-2.0
#include "story/saved_games.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/store.hpp"
#include "story/player_input.hpp"
#include "story/turn_tree.hpp"

namespace narratoria::command::story {
namespace {

// Empty if the store does not exist.
json::Document sessions_of(const std::string& store) {
    struct stat status {};
    if (stat(store.c_str(), &status) != 0 || status.st_size == 0) return json::read("[]");
    return json::read(Store(store).sessions());
}

// The folder of the default store.
std::optional<std::string> games_folder(std::string& why) {
    if (const auto data = folder_of_variable("XDG_DATA_HOME")) return *data + "/narratoria";
    if (const auto home = folder_of_variable("HOME")) return *home + "/.local/share/narratoria";
    why = "neither XDG_DATA_HOME nor HOME is set to an absolute path";
    return std::nullopt;
}

// The most recently played session with this story and project. Nothing if there is none.
// `project`: its folder, or empty. Throws Error if the store cannot be read.
std::optional<std::string> last_game(const std::string& store, const std::string& story,
                                     const std::string& project) {
    // The store has paths without links. If the story's folder is also the project, the project
    // need not be given.
    const std::string story_folder = without_links(story);
    const std::string project_folder = project.empty() ? "" : without_links(project);
    const json::Document sessions = sessions_of(store);
    std::optional<std::string> last;
    std::string last_time;
    for (const json::Value& session : sessions.GetArray()) {
        const json::Value& about = *json::member(session, "about");
        const std::string_view its_project = json::text(about, "project");
        if (json::text(about, "story") != story_folder) continue;
        // A game that was killed before its first prompt does not count.
        if (json::count(session, "turns") == 0) continue;
        if (its_project != project_folder && !(project.empty() && its_project == story_folder)) {
            continue;
        }
        // If two have the same time, choose the one that was created later.
        const std::string time = last_played(store, session);
        if (time < last_time) continue;
        last = json::text(session, "id");
        last_time = time;
    }
    return last;
}

// The most recent session whose story's folder does not exist any more and may be that of `story`
// now: it has the same name, or the same parent.
struct MovedGame {
    std::string session;
    std::string story;
};

std::optional<MovedGame> moved_game(const std::string& store, const std::string& story) {
    const std::filesystem::path folder = without_links(story);
    const json::Document sessions = sessions_of(store);
    std::optional<MovedGame> last;
    std::string last_created;
    for (const json::Value& session : sessions.GetArray()) {
        const std::filesystem::path its = json::text(*json::member(session, "about"), "story");
        const std::string created(json::text(session, "created"));
        struct stat status {};
        const bool is_missing = !its.empty() && stat(its.c_str(), &status) != 0 && errno == ENOENT;
        const bool is_near =
            its.filename() == folder.filename() || its.parent_path() == folder.parent_path();
        if (!is_missing || !is_near || json::count(session, "turns") == 0) continue;
        if (created < last_created) continue;
        last = {std::string(json::text(session, "id")), its.string()};
        last_created = created;
    }
    return last;
}

// The folder of the story that a session was played with, if it is a different one; otherwise
// empty. Throws Error if the store cannot be read.
std::string other_story(const std::string& store, const std::string& session,
                        const std::string& story) {
    const json::Document sessions = sessions_of(store);
    for (const json::Value& each : sessions.GetArray()) {
        if (json::text(each, "id") != session) continue;
        const std::string_view its_story = json::text(*json::member(each, "about"), "story");
        if (its_story != without_links(story)) return std::string(its_story);
    }
    return {};
}

// Throws Error if the store cannot be read.
bool has_game(const std::string& store, const std::string& session) {
    const json::Document sessions = sessions_of(store);
    const auto all = sessions.GetArray();
    return std::any_of(all.begin(), all.end(),
                       [&](const json::Value& each) { return json::text(each, "id") == session; });
}

// A name for a new session: the name of the story's folder, with a number if the store already has
// it. Throws Error if the store cannot be read.
std::string new_game(const std::string& store, const std::string& story) {
    std::string name = std::filesystem::path(without_links(story)).filename().string();
    if (name.empty() || json::ill_formed_utf8(name)) name = "game";
    const json::Document sessions = sessions_of(store);
    std::set<std::string> taken;
    for (const json::Value& session : sessions.GetArray()) {
        taken.emplace(json::text(session, "id"));
    }
    std::string free = name;
    for (std::size_t number = 2; taken.contains(free); ++number) {
        free = fmt::format("{}-{}", name, number);
    }
    return free;
}

// A story is known by its path, so the game of a story that was moved is not continued.
void name_moved_game(const std::string& store, const std::string& story) {
    const auto moved = moved_game(store, story);
    if (!moved) return;
    complain(fmt::format(
        "this is a new game; if the story was in {} before, continue its game {} with --session",
        display_path(moved->story), printable(json::quoted(moved->session))));
}

// True if the player named a store or a session. Throws Refused if these options contradict each
// other, or if the session's name is not one.
bool is_named(const SavedGame& saved, bool no_store) {
    const bool is_named = !saved.store.empty() || !saved.session.empty();
    if (no_store && (is_named || saved.is_new)) {
        throw Refused(fmt::format("--no-store contradicts {}; give one of them",
                                  saved.is_new                      ? "--new"
                                  : is_named && saved.store.empty() ? "--session"
                                                                    : "--store"));
    }
    if (json::ill_formed_utf8(saved.session)) {
        throw Refused(fmt::format("the name after --session, \"{}\", is not UTF-8",
                                  printable(saved.session)));
    }
    if (!saved.session.empty() && is_blank(saved.session)) {
        throw Refused("the name after --session is blank; give the game a name");
    }
    if (saved.is_new && !saved.session.empty()) {
        throw Refused(
            "--new contradicts --session; give one of them: a new name starts a new game");
    }
    return is_named;
}

// Chooses what the player did not name, and calls `open`. Nothing, with the reason in `why`, if there
// is no folder for the store.
std::optional<SavedGame> open_saved_game(SavedGame saved, const std::string& story,
                                         const std::string& project,
                                         const std::function<void(const SavedGame&)>& open,
                                         std::string& why) {
    if (saved.store.empty()) {
        const std::optional<std::string> file = games_file(why);
        if (!file) return std::nullopt;
        saved.store = *file;
    }
    if (const std::string path = without_links(story); json::ill_formed_utf8(path)) {
        why = fmt::format(
            "the path of the story's folder, {}, is not UTF-8, so the game could not be continued; "
            "rename the folder",
            printable(path));
        return std::nullopt;
    }
    if (!saved.session.empty()) {
        const std::string other = other_story(saved.store, saved.session, story);
        saved.is_created = !has_game(saved.store, saved.session);
        open(saved);
        if (!other.empty()) {
            complain(fmt::format("the game {} was last played with a different story, {}",
                                 printable(saved.session), display_path(other)));
        }
        return saved;
    }
    saved.was_chosen = true;
    if (!saved.is_new) saved.session = last_game(saved.store, story, project).value_or("");
    if (!saved.session.empty()) {
        try {
            open(saved);
            return saved;
        } catch (const Error& error) {
            if (error.code() != "STORE_LOCKED") throw;
            saved.played_elsewhere = saved.session;
        }
    }
    saved.must_be_new = true;
    saved.is_created = true;
    for (;;) {
        saved.session = new_game(saved.store, story);
        try {
            open(saved);
            break;
        } catch (const Error& error) {
            // A different process has created a game with this name in the meantime.
            if (error.code() != "SESSION_EXISTS") throw;
        }
    }
    if (!saved.is_new) name_moved_game(saved.store, story);
    return saved;
}

}  // namespace

std::string last_played(const std::string& store, const json::Value& session) {
    std::string latest(json::text(session, "created"));
    if (json::count(session, "turns") == 0) return latest;
    const json::Document turns = json::read(Store(store).turns(json::text(session, "id")));
    for (const json::Value& turn : json::member(turns, "turns")->GetArray()) {
        latest = std::max(latest, std::string(json::text(turn, "began")));
    }
    return latest;
}

std::string without_links(const std::string& path) {
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(path, failure);
    return failure ? path : real.string();
}

std::optional<std::string> games_file(std::string& why) {
    const std::optional<std::string> folder = games_folder(why);
    if (!folder) return std::nullopt;
    // The XDG specification requires mode 0700 for the folders that are created.
    const mode_t before = umask(077);
    std::error_code failure;
    std::filesystem::create_directories(*folder, failure);
    umask(before);
    if (failure) {
        why = fmt::format("the folder {} cannot be created: {}", display_path(*folder),
                          reason(failure.value()));
        return std::nullopt;
    }
    return *folder + "/games.db";
}

void add_store(Command command, std::string& store) {
    command
        .option("--store", store,
                "The file that stores the sessions (default: narratoria/games.db in the user's "
                "data folder)")
        .type_name("FILE")
        .not_empty();
}

void find_store(std::string& store) {
    if (!store.empty()) return;
    std::string why;
    const std::optional<std::string> folder = games_folder(why);
    if (!folder) throw Refused(why + "; name the store with --store");
    store = *folder + "/games.db";
    struct stat status {};
    if (stat(store.c_str(), &status) != 0 && errno == ENOENT) {
        throw Refused(fmt::format("no game is saved in {} yet; name another store with --store",
                                  display_path_below_home(store)));
    }
}

std::string display_path_below_home(const std::string& path) {
    const auto home = folder_of_variable("HOME");
    const bool is_below = home && *home != "/" && path.starts_with(*home + "/");
    return printable(is_below ? "~" + path.substr(home->size()) : path);
}

void add_saving(Command command, SavedGame& saved, bool& no_store, std::string_view not_saved) {
    command
        .option("--store", saved.store,
                "Save the game in this file, and continue a saved game (default, on a terminal: "
                "narratoria/games.db in the user's data folder)")
        .type_name("FILE")
        .not_empty();
    command
        .option("--session", saved.session,
                "The game's name in the store (default: the most recent game of the story)")
        .type_name("NAME")
        .not_empty();
    command.flag("--new", saved.is_new, "Start a new game instead of continuing the last one");
    command.flag("--no-store", no_store, std::string(not_saved));
}

std::optional<SavedGame> open_game(SavedGame wish, bool no_store, bool is_kept,
                                   const std::string& story, const std::string& project,
                                   const std::function<void(const SavedGame&)>& open) {
    std::string why;
    if (is_named(wish, no_store)) {
        auto saved = open_saved_game(std::move(wish), story, project, open, why);
        if (!saved) throw Refused(why);
        return saved;
    }
    if (is_kept && !no_store) {
        try {
            if (auto saved = open_saved_game(std::move(wish), story, project, open, why))
                return saved;
        } catch (const Error& error) {
            if (!error.code().starts_with("STORE_")) throw;
            why = printable(error.message());
        }
        complain(fmt::format("this game is not being saved: {}", why));
    }
    open({});
    return std::nullopt;
}

std::string describe_game(const SavedGame& saved, const TurnTree& turns) {
    std::string text;
    if (!saved.played_elsewhere.empty()) {
        text = fmt::format("{} is being played elsewhere; ", printable(saved.played_elsewhere));
    }
    const std::uint64_t turn = turns.current();
    text += fmt::format("{}, {}, saved in {}", printable(saved.session),
                        turn != 0       ? fmt::format("turn {}", turn)
                        : turns.empty() ? std::string("a new game")
                                        : std::string("the beginning"),
                        display_path_below_home(saved.store));
    if (saved.was_chosen && turn != 0) text += "; --new starts over";
    return text;
}

std::string history_name(const std::string& story) {
    std::string name = without_links(story);
    std::replace(name.begin(), name.end(), '/', '%');
    // The end of a path that is too long for a file name still tells stories apart.
    constexpr std::size_t kLongest = 255;
    return "play-history/" + name.substr(name.size() - std::min(name.size(), kLongest));
}

void remove_unplayed_game(const std::string& store, const std::string& session) {
    try {
        const Store file(store);
        if (TurnTree(file.turns(session)).empty()) file.prune(session, NAR_TURN_BEGINNING);
    } catch (const Error&) {
        // A different process uses the store, or has continued the game.
    }
}

}  // namespace narratoria::command::story
