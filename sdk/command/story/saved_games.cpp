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

#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/store.hpp"
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

std::string history_name(const std::string& story) {
    std::string name = without_links(story);
    std::replace(name.begin(), name.end(), '/', '%');
    // The end of a path that is too long for a file name still tells stories apart.
    constexpr std::size_t kLongest = 255;
    return "play-history/" + name.substr(name.size() - std::min(name.size(), kLongest));
}

void require_game_name(const std::string& session, bool is_new) {
    if (json::ill_formed_utf8(session)) {
        throw Refused(
            fmt::format("the name after --session, \"{}\", is not UTF-8", printable(session)));
    }
    if (is_new && !session.empty()) {
        throw Refused(
            "--new contradicts --session; give one of them: a new name starts a new game");
    }
}

bool has_game(const std::string& store, const std::string& session) {
    const json::Document sessions = sessions_of(store);
    const auto all = sessions.GetArray();
    return std::any_of(all.begin(), all.end(),
                       [&](const json::Value& each) { return json::text(each, "id") == session; });
}

void remove_unplayed_game(const std::string& store, const std::string& session) {
    try {
        const Store file(store);
        if (TurnTree(file.turns(session)).empty()) file.prune(session, NAR_TURN_BEGINNING);
    } catch (const Error&) {
        // A different process uses the store, or has continued the game.
    }
}

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

}  // namespace narratoria::command::story
