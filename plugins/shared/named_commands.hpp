// SPDX-License-Identifier: Apache-2.0
#pragma once
// A setting that is a table of commands by name, which a toolPath selects with "NAME:".

#include <narratoria/plugin.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "shared/settings.hpp"

namespace narratoria::plugins {

class NamedCommands {
public:
    NamedCommands() = default;
    // Reads the table `setting`. `name` and `command` are a valid entry, for messages. Throws SettingError.
    NamedCommands(const Settings& settings, std::string_view plugin_id, std::string setting,
                  const std::string& name, std::string command)
        : plugin_id_(plugin_id), setting_(std::move(setting)), example_(std::move(command)) {
        const std::string example = setting_ + "." + name + " = " + example_;
        for (auto& [given, texts] : settings.commands(setting_, example)) {
            if (given.empty() || given.find_first_of(":/") != std::string::npos) {
                throw settings.wrong(setting_, "a table of names without colon and slash", example);
            }
            commands_[given] = std::move(texts);
        }
    }

    // Throws CannotStart if there is no such name.
    const Settings::Texts& of(const std::string& name) const {
        const auto found = commands_.find(name);
        if (found != commands_.end()) return found->second;
        std::string known;
        for (const auto& [one, command] : commands_) known += (known.empty() ? "" : ", ") + one;
        throw plugin::CannotStart("the setting \"" + setting_ + "\" has no \"" + name +
                                  "\" (it has: " + (known.empty() ? "none" : known) +
                                  "); write in story.toml under [plugins.\"" + plugin_id_ +
                                  "\"]: " + setting_ + "." + name + " = " + example_ +
                                  "; write a file with a colon in its name as ./a:b");
    }

private:
    std::string plugin_id_;
    std::string setting_;
    std::string example_;
    std::map<std::string, Settings::Texts> commands_;
};

}  // namespace narratoria::plugins
