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
    std::optional<RunnerKind> runner;                  // default for tools without a "runner"
    std::string url;
    std::string image;
    std::optional<Fault> url_place;
    std::optional<Fault> image_place;
    std::optional<Fault> entrypoints_place;
    std::optional<std::vector<Draft>> entrypoints;
    Fault place;  // of the whole file
    // Set for a signed pack.
    std::string signer;
    std::string digest;  // "sha256:‹64 digits›", or empty
    std::optional<Fault> digest_place;
};

// Returns the digest that a pack's signature covers: its pack.yaml without signer_id, signed_at and
// digest, and its tools.yaml, if it has one.
std::string digest_of(std::string_view manifest, const std::optional<std::string>& tools);

// Reads pack.yaml.
std::optional<Manifest> read_manifest(File& file);

// The guarantees of a tool that follow from its pack's declared capabilities.
struct Declared {
    Guarantees guarantees;
    Fault place;
};

// Reads capabilities.yaml. The keys are the names of the tools.
std::map<std::string, Declared> read_capabilities(File& file);

// Adds the guarantees that `levels` implies, a table with filesystem, network, env and subprocess.
void require_levels(File& file, const Node& levels, const std::string& subject,
                    const std::string& pointer, bool all_are_required, GuaranteeSource source,
                    Guarantees& guarantees);

}  // namespace narratoria::tool::project
