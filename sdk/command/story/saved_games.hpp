// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where games are saved: chooses the store and the session of a game, and the name of the file with
// the player's input.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "arguments/command_line.hpp"
#include "json.hpp"
#include "story/turn_tree.hpp"

namespace narratoria::command::story {

// Where a game is saved. The player may leave the choice of both to the command.
struct SavedGame {
    std::string store;    // empty: the game is not saved
    std::string session;  // empty: the most recent game of the story, or a new one
    bool is_new = false;  // the player wants a new game
    // Set by open_game().
    bool must_be_new = false;      // the store must not have the session yet
    bool was_chosen = false;       // the command chose the session, not the player
    bool is_created = false;       // the store did not have the session before
    std::string played_elsewhere;  // the session that the command chose first, but that is locked
};

// The options --store, --session, --new and --no-store, whose help is `not_saved`.
void add_saving(Command command, SavedGame& saved, bool& no_store, std::string_view not_saved);

// Calls `open`, which opens the session or throws Error, with where the game is saved: where the
// player says or, if `is_kept`, where the command chooses. If the latter cannot be used, tells the
// player and opens a game that is not saved, as without `is_kept`. Calls `open` again if a different
// process plays the game that the command chose. Returns nothing if the game is not saved. Throws
// Refused if the options contradict each other or there is no folder for the store, and the Error of
// a store that the player named.
std::optional<SavedGame> open_game(SavedGame wish, bool no_store, bool is_kept,
                                   const std::string& story, const std::string& project,
                                   const std::function<void(const SavedGame&)>& open);

// "torch, turn 3, saved in ~/games.db; --new starts over", without a period. `turns`: of the game.
std::string describe_game(const SavedGame& saved, const TurnTree& turns);

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

// The name for the HistoryFile of a story: each story has its own.
std::string history_name(const std::string& story);

// Removes a game that has ended without a turn, so that it does not count as the story's last one.
// Does nothing if the store cannot be used, or if the game is being played.
void remove_unplayed_game(const std::string& store, const std::string& session);

}  // namespace narratoria::command::story
