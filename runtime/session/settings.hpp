// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a session is made from.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "narratoria/narrator.h"
#include "session/story.hpp"

namespace narratoria::session {

struct SessionSettings {
    std::string id;
    std::optional<Story> story;
    std::optional<nar_narrator> narrator;                // the host's; its id was copied
    std::string narrator_id;                             // else of a plugin; empty: none
    std::vector<std::string> plugins;                    // the host's list
    std::map<std::string, std::string> plugin_settings;  // the host's, by id, a JSON object each
    bool without_plugins = false;
    engine::Times times;
    engine::Limits limits;
};

}  // namespace narratoria::session
