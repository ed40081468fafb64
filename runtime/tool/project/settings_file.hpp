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
    Fault place;
};

// namel3ss.toml, as far as it is about tools.
struct Settings {
    std::optional<uint32_t> timeout_ms;
    std::string service_url;
    bool handshake_required = false;
    std::string python;
    bool warm = true;
    std::map<std::string, Override> overrides;  // by the tools' names
    // Ids of installed packs.
    std::optional<std::vector<std::string>> enabled_packs;
    std::vector<std::string> disabled_packs;
    std::map<std::string, std::string> pinned_tools;  // name → the pack whose tool it is
};

Settings read_settings(File& file);

// Reads .namel3ss/trust/policy.toml: what all packs are kept from.
Guarantees read_policy(File& file);

}  // namespace narratoria::tool::project
