// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the store and the session of a game if the player named neither, and the name of the file
// with the player's input.

#include <optional>
#include <string>

#include "arguments/command_line.hpp"
#include "json.hpp"

namespace narratoria::command::story {

// $XDG_DATA_HOME/narratoria/games.db; the default of the variable is ~/.local/share. Creates the
// folder. Nothing, with the reason in `why`, if that fails.
std::optional<std::string> games_file(std::string& why);

// The path as a store has it.
std::string without_links(const std::string& path);

// The option --store of a command that uses an existing store; find_store() sets its default, the
// store of games_file(). Throws Refused if there is none.
void add_store(Command command, std::string& store);
void find_store(std::string& store);

// When the session was last played, as ISO 8601, which sorts by time. `session`: as in
// nar_store_read_sessions. Throws Error if the store cannot be read.
std::string last_played(const std::string& store, const json::Value& session);

// The path for messages: a path below the home folder begins with "~".
std::string display_path_below_home(const std::string& path);

// The most recently played session with this story and project. Nothing if there is none.
// `project`: its folder, or empty. Throws Error if the store cannot be read.
std::optional<std::string> last_game(const std::string& store, const std::string& story,
                                     const std::string& project);

// The most recent session whose story's folder does not exist any more and may be that of `story`
// now: it has the same name, or the same parent.
struct MovedGame {
    std::string session;
    std::string story;
};
std::optional<MovedGame> moved_game(const std::string& store, const std::string& story);

// The folder of the story that a session was played with, if it is a different one; otherwise
// empty. Throws Error if the store cannot be read.
std::string other_story(const std::string& store, const std::string& session,
                        const std::string& story);

// The name for the HistoryFile of a story: each story has its own.
std::string history_name(const std::string& story);

// Throws Refused if the value of --session is not a name, or if --new is given, too.
void require_game_name(const std::string& session, bool is_new);

// True if the store has the session. Throws Error if the store cannot be read.
bool has_game(const std::string& store, const std::string& session);

// Removes a game that has ended without a turn, so that it does not count as the story's last one.
// Does nothing if the store cannot be used, or if the game is being played.
void remove_unplayed_game(const std::string& store, const std::string& session);

// A name for a new session: the name of the story's folder, with a number if the store already has
// it. Throws Error if the store cannot be read.
std::string new_game(const std::string& store, const std::string& story);

}  // namespace narratoria::command::story
