// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plugin says of itself without being loaded: a note in the library, or a file beside it
// (abi/schemas/plugin-1.schema.json). Nothing of the library is run for it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"

namespace narratoria::plugin {

struct Metadata {
    std::string id;
    std::string name;
    std::string version;
    uint32_t abi_major = 0;
    uint32_t abi_minor = 0;
    std::vector<std::string> extensions;
};

// The id that no file may have.
inline constexpr const char* kBuiltInNarrator = "template";

// Whether a text may be a plugin's id: a-z 0-9 . _ -, beginning with a letter or digit.
bool is_id(std::string_view text);

// The metadata document of a library, unparsed.
struct MetadataText {
    std::string text;
    std::string file;  // the file beside the library; empty: a note in the library
    size_t notes = 0;  // of ours in the library; the first one counts
};

// Of the library at `path`. Nothing, and why, for a file that is not a plugin for this machine.
std::optional<MetadataText> find_metadata(const std::string& path, std::string& reason);

// The rules of plugin/1. Nothing if the text has faults; warnings are added to `faults` in any case.
std::optional<Metadata> parse_metadata(std::string_view json, Faults& faults);

// Both of them. Nothing, and the first reason.
std::optional<Metadata> read_metadata(const std::string& path, std::string& reason);

// The notes in the bytes of a section whose owner we are.
std::vector<std::string_view> find_notes(std::string_view section);

}  // namespace narratoria::plugin
