// SPDX-License-Identifier: Apache-2.0
#pragma once
// The store and the session of a game for which the player has named neither.

#include <optional>
#include <string>

namespace narratoria::command::story {

// $XDG_DATA_HOME/narratoria/games.db, or below ~/.local/share. Creates its folder. Nothing if that is
// impossible; `why` says the reason.
std::optional<std::string> games_file(std::string& why);

// A path below the home folder begins with "~".
std::string shown_below_home(const std::string& path);

// The session of a store that was played last with this story and project. Nothing if there is none.
// `project`: its folder, or empty. Throws Error if the store cannot be read.
std::optional<std::string> last_game(const std::string& store, const std::string& story,
                                     const std::string& project);

// The folder of the story that a session was played with, if it is not this one; otherwise empty. Throws Error
// if the store cannot be read.
std::string other_story(const std::string& store, const std::string& session,
                        const std::string& story);

// A name for a new session: that of the story's folder, with a number if the store has it already.
// Throws Error if the store cannot be read.
std::string new_game(const std::string& store, const std::string& story);

}  // namespace narratoria::command::story
