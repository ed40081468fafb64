// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/guarantees.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

// What the user requires of one tool, over what the tool and its pack say.
struct Override {
    Guarantees guarantees;
    bool allow_unsafe = false;
    std::string enforcement;  // what the user says of a container, or of a pack's service; or empty
    Fault place;
    std::map<std::string, Fault> fields;  // the places of its fields
};

// namel3ss.toml, as far as it is about tools.
struct Settings {
    std::optional<uint32_t> timeout_ms;
    std::string service_url;
    std::optional<Fault> python_place;
    bool handshake_required = false;
    std::string python;
    bool warm = true;
    std::map<std::string, Override> overrides;  // by the tools' names
    // Ids of installed packs.
    std::optional<std::vector<std::string>> enabled_packs;
    std::vector<std::string> disabled_packs;
    std::map<std::string, std::string> pinned_tools;  // name → the pack whose tool it is
    // What the three name.
    struct Mention {
        std::string pack;
        std::string tool;  // of pinned_tools
        Fault place;
    };
    std::vector<Mention> mentions;
};

// What all packs are kept from.
struct Policy {
    Guarantees guarantees;
    std::optional<Fault> place;  // if it keeps them from something
};

Settings read_settings(File& file);

// Reads .namel3ss/trust/policy.toml.
Policy read_policy(File& file);

}  // namespace narratoria::tool::project
