// SPDX-License-Identifier: Apache-2.0
#include "story/session_plugins.hpp"

#include <cstdlib>
#include <memory>

#include "display.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command::story {
namespace {

std::string real_path(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::string(real.get()) : path;
}

}  // namespace

std::optional<PluginState> state_of_plugin(const Session& session, std::string_view wish) {
    const Text text = session.plugins();
    const json::Document plugins = json::read(text);
    std::optional<PluginState> found;
    for (const json::Value& plugin : plugins.GetArray()) {
        const std::string_view path = json::text(plugin, "path");
        const bool is_it =
            json::text(plugin, "id") == wish || path == wish ||
            (wish.find('/') != std::string_view::npos && path == real_path(std::string(wish)));
        if (!is_it) continue;
        const std::string_view state = json::text(plugin, "state");
        if (state == "active") return PluginState{true, {}};
        if (state == "refused") {
            found = PluginState{false, printable(json::text(plugin, "reason"))};
        } else if (!found) {
            found = PluginState{};
        }
    }
    return found;
}

}  // namespace narratoria::command::story
