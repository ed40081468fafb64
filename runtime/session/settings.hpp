// SPDX-License-Identifier: Apache-2.0
#pragma once
// The settings of a session, from the host and its story.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "narratoria/narrator.h"
#include "script/limits.hpp"
#include "session/story.hpp"
#include "tool/project/project.hpp"
#include "tool/sandbox_rules.hpp"

namespace narratoria::session {

// Immutable once the session is created, except what Session::reload_story() replaces.
struct SessionSettings {
    std::string id;
    std::optional<Story> story;
    std::optional<tool::project::Project> project;
    std::optional<nar_narrator> narrator;                // the host's own; its id is copied
    std::string narrator_id;                             // else a plugin's id; empty: none
    std::vector<std::string> plugins;                    // the host's list
    std::map<std::string, std::string> plugin_settings;  // the host's: plugin id → JSON object
    bool without_plugins = false;
    engine::Times times;
    engine::Limits limits;
    tool::SandboxRules sandbox;   // the engine's and the story's
    std::string store;            // path of the store; empty: the session is not stored
    bool waits_for_store = true;  // a turn ends only when it is on disk
    bool replays = false;         // replays the turns of the store, which is opened read-only
    uint64_t seed = 0;            // of the narrator's random numbers; 0: chosen by the session
    bool watches_story = false;   // changes of the story's files take effect between two turns
    bool must_be_new = false;     // an error if the store already has the session
};

}  // namespace narratoria::session
