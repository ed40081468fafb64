// SPDX-License-Identifier: Apache-2.0
#pragma once
// Manifests of tools that are files: NAME.tool.json next to the tool NAME or NAME.py
// (abi/schemas/tool-1.schema.json).

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fault.hpp"
#include "tool/definition.hpp"

namespace narratoria::tool {

struct Manifest {
    std::string description;
    std::shared_ptr<const Schema> input;   // NULL: any object
    std::shared_ptr<const Schema> result;  // NULL: any value
    bool result_is_advice = false;         // the result type comes from "returns" of spec 002
    std::optional<uint32_t> try_ms;
    bool repeatable = true;
    LimitOverrides limits;
    std::string resources;           // a JSON object; empty: none
    std::vector<std::string> state;  // JSON Pointers
    Faults warnings;

    static constexpr size_t kMaxBytes = size_t{2} << 20;

    // Returns false and appends all faults if the text is invalid; the manifest must not be used
    // then. `stem`: the NAME of the file NAME.tool.json, which "name" must equal; empty: unknown.
    bool parse(std::string_view text, Faults& faults, std::string_view stem = {});
};

// The extension of manifest files.
inline constexpr std::string_view kManifestEnding = ".tool.json";

// Returns the file name of a path without its extension, the name of a skill (spec 003 §13.3).
std::string_view stem_of(std::string_view path);

// Returns the path of a tool's manifest. The file may not exist.
std::string manifest_path(std::string_view tool);

// Reads a manifest's file. Returns false and sets `problem` on failure, or if it is not a regular
// file of at most kMaxBytes.
bool read_manifest(const std::string& path, std::string& text, std::string& problem);

// Cache of the definitions of executable files with their manifests. A manifest is read again when
// its file has changed. Engine thread only.
class ManifestFiles {
public:
    // `tool` must be an absolute path. If the manifest cannot be used, sets `problem` to a message
    // and returns the definition of a tool without a manifest.
    std::shared_ptr<const Definition> definition_of(const std::string& tool, std::string& problem);

private:
    struct Entry {
        dev_t device;
        ino_t number;
        off_t size;
        int64_t changed_ns;
        std::shared_ptr<const Definition> definition;
        std::string problem;
    };
    std::unordered_map<std::string, Entry> entries_;  // by the tool's path
};

}  // namespace narratoria::tool
