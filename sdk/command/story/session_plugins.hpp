// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of the plugins that a session was asked to load.

#include <optional>
#include <string>
#include <string_view>

#include "narratoria/session.hpp"

namespace narratoria::command::story {

struct PluginState {
    bool is_active = false;
    std::string reason;  // why it is not active; printable
};

// `wish`: an id or a path, as in the session's options. Nothing if the session has no such plugin.
std::optional<PluginState> state_of_plugin(const Session& session, std::string_view wish);

}  // namespace narratoria::command::story
