// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which plugins a session loads, and which narrator it asks.

#include <optional>
#include <string>

#include "narratoria/narrator.h"
#include "plugin/dispatcher.hpp"
#include "session/settings.hpp"

namespace narratoria::session {

// What a story asks for.
void add_wishes(const Story& story, bool with_narrator, plugin::Wishes& wishes);

// Loads what the host and the story ask for. Settings for a plugin that was not asked for are
// reported to the engine's log.
void load_plugins(const SessionSettings& settings, engine::Engine& engine,
                  plugin::Dispatcher& dispatcher);

// The host's narrator, a plugin's, or the one that is built in. Nothing when none was asked for, or
// when the one that was asked for is not there: then `fault` says why.
std::optional<nar_narrator> choose_narrator(const SessionSettings& settings,
                                            plugin::Dispatcher& dispatcher, std::string& fault);

}  // namespace narratoria::session
