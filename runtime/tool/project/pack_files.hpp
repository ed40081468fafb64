// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tool/project/binding.hpp"
#include "tool/project/bindings_file.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

struct Manifest {
    Pack pack;
    std::vector<std::pair<std::string, Fault>> tools;  // with their places
    std::optional<RunnerKind> runner;                  // of tools that name none
    std::string url;
    std::string image;
    std::optional<std::vector<Draft>> entrypoints;
    Fault place;  // of the whole file
};

// Reads pack.yaml.
std::optional<Manifest> read_manifest(File& file);

// Reads capabilities.yaml: what each tool is kept from, because it declares not to need it.
std::map<std::string, Guarantees> read_capabilities(File& file);

// Adds what `levels`, a table of filesystem, network, env and subprocess, keeps a tool from.
void require_levels(File& file, const Node& levels, const std::string& whose,
                    const std::string& pointer, bool all_are_required, GuaranteeSource source,
                    Guarantees& guarantees);

}  // namespace narratoria::tool::project
