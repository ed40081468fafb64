// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which plugins a session loads and which narrator it uses. Engine thread only.

#include <optional>
#include <string>

#include "narratoria/narrator.h"
#include "plugin/dispatcher.hpp"
#include "session/settings.hpp"

namespace narratoria::session {

// Adds the plugins that a story requests; its narrator only if `with_narrator`.
void add_wishes(const Story& story, bool with_narrator, plugin::Wishes& wishes);

// Loads the plugins that the host and the story request. Logs a warning for settings of a plugin
// that was not requested.
void load_plugins(const SessionSettings& settings, engine::Engine& engine,
                  plugin::Dispatcher& dispatcher);

// Returns the host's narrator, a plugin's, or the built-in one. Empty if none was requested, or if
// the requested one is not available; `fault` then holds the reason.
std::optional<nar_narrator> choose_narrator(const SessionSettings& settings,
                                            plugin::Dispatcher& dispatcher, std::string& fault);

}  // namespace narratoria::session
