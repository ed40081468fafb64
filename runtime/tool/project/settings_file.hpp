// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarantees.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

// Additional requirements of the user for one tool, from [capability_overrides].
struct Override {
    Guarantees guarantees;
    bool allow_unsafe = false;
    std::string enforcement;  // the user vouches for a container or a pack's service; or empty
    Fault place;
    std::map<std::string, Fault> fields;  // the places of its fields
};

// The settings of namel3ss.toml that concern tools.
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
    std::map<std::string, std::string> pinned_tools;  // tool → pack
    // A pack or tool named in the three fields above.
    struct Mention {
        std::string pack;
        std::string tool;  // only from pinned_tools
        Fault place;
    };
    std::vector<Mention> mentions;
};

enum class Risk : uint8_t { Low, Medium, High };
constexpr std::string_view name_of(Risk risk) {
    constexpr std::string_view kNames[] = {"low", "medium", "high"};
    return kNames[static_cast<size_t>(risk)];
}

// The restrictions of all packs.
struct Policy {
    Guarantees guarantees;
    std::optional<Fault> place;  // of "allowed_capabilities", if the file has it
    Risk max_risk = Risk::High;
    // Absent: all.
    std::optional<std::vector<std::string>> allowed_packs;
    std::optional<std::vector<std::string>> allowed_signers;
};

Settings read_settings(File& file);

inline constexpr const char* kPolicyFile = ".namel3ss/trust/policy.toml";
Policy read_policy(File& file);

}  // namespace narratoria::tool::project
