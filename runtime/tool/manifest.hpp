// SPDX-License-Identifier: Apache-2.0
#pragma once
// Manifests of tools that are files: NAME.tool.json beside the tool NAME or NAME.py describes it
// (abi/schemas/tool-1.schema.json).

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fault.hpp"
#include "tool/definition.hpp"

namespace narratoria::tool {

struct Manifest {
    std::string description;
    std::shared_ptr<const Schema> input;   // NULL: any object
    std::shared_ptr<const Schema> result;  // NULL: any value
    bool result_is_advice = false;         // given as 002's "returns"
    std::optional<uint32_t> try_ms;
    bool repeatable = true;
    LimitOverrides limits;

    static constexpr size_t kMaxBytes = size_t{2} << 20;

    // False with all faults; the manifest must then not be used. `stem`: the NAME of the file
    // NAME.tool.json, which a name in it must be; empty: not known.
    bool parse(std::string_view text, Faults& faults, std::string_view stem = {});
};

// The ending of a manifest's file name.
inline constexpr std::string_view kManifestEnding = ".tool.json";

// The file name of a path without its extension, as skills are named (spec 003 §13.3).
std::string_view stem_of(std::string_view path);

// The path of the manifest of a tool, which need not exist.
std::string manifest_path(std::string_view tool);

// Reads a manifest's file. False with the reason: only a regular file of at most kMaxBytes is read.
bool read_manifest(const std::string& path, std::string& text, std::string& problem);

// Definitions of executable files, with their manifests. A manifest is read again when the file has
// changed. Engine thread only.
class ManifestFiles {
public:
    // `tool` must be an absolute path. Sets `problem`, for people, if there is a manifest that
    // cannot be used; the definition then is that of a tool without one.
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
