// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pack of a project, and the checks that concern only the pack.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tool/project/bindings_file.hpp"
#include "tool/project/pack_files.hpp"
#include "tool/project/settings_file.hpp"

namespace narratoria::tool::project {

struct PackOfProject {
    Manifest manifest;
    std::string folder;                        // absolute
    std::string text;                          // of pack.yaml
    std::optional<std::string> text_of_tools;  // of tools.yaml
    bool has_tools_file = false;               // also true if its tools.yaml cannot be read
    std::vector<Draft> drafts;
    std::map<std::string, Declared> capabilities;
};

// `pack`: NULL for a tool of the project itself.
RunnerKind runner_of(const Draft& draft, const Manifest* pack);

// The signature needs the signer's secret, so only the signed digest is checked.
// Returns false if the pack was changed.
bool check_digest(const PackOfProject& pack, Faults& faults);

// Checks that the pack's files agree. `packs`: id → pack.yaml, of the packs before; adds this one.
void check_pack(const PackOfProject& pack, std::map<std::string, std::string>& packs,
                Faults& faults);

// Returns why the policy refuses the pack; empty if it accepts it.
std::string refusal_of(const PackOfProject& pack, const Policy& policy);

}  // namespace narratoria::tool::project
