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
    std::optional<Fault> url_place;
    std::optional<Fault> image_place;
    std::optional<Fault> entrypoints_place;
    std::optional<std::vector<Draft>> entrypoints;
    Fault place;  // of the whole file
    // Of a pack that was signed.
    std::string signer;
    std::string digest;  // "sha256:‹64 digits›", or empty
    std::optional<Fault> digest_place;
};

// The digest with which a pack is signed: of its pack.yaml without signer_id, signed_at and digest, and
// of its tools.yaml, if it has one.
std::string digest_of(std::string_view manifest, const std::optional<std::string>& tools);

// Reads pack.yaml.
std::optional<Manifest> read_manifest(File& file);

// What a tool is kept from, because its pack declares that it does not need it.
struct Declared {
    Guarantees guarantees;
    Fault place;
};

// Reads capabilities.yaml, by the names of the tools.
std::map<std::string, Declared> read_capabilities(File& file);

// Adds what `levels`, a table of filesystem, network, env and subprocess, keeps a tool from.
void require_levels(File& file, const Node& levels, const std::string& whose,
                    const std::string& pointer, bool all_are_required, GuaranteeSource source,
                    Guarantees& guarantees);

}  // namespace narratoria::tool::project
