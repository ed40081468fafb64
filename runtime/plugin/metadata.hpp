// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plugin says of itself without being loaded: a note in the library, or a file beside it
// (abi/schemas/plugin-1.schema.json). Nothing of the library is run for it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Of the library at `path`. Nothing, and why, for a file that is no plugin for this machine.
std::optional<Metadata> read_metadata(const std::string& path, std::string& reason);

// Of the text of a note or a file.
std::optional<Metadata> parse_metadata(std::string_view json, std::string& reason);

// The note in the bytes of a section: the text of the first one whose owner we are.
std::optional<std::string_view> find_note(std::string_view section);

}  // namespace narratoria::plugin
