// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin's metadata, from a note in the library or from a file next to it
// (abi/schemas/plugin-1.schema.json). Reading it never runs code of the library. The functions here
// are thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::plugin {

struct Metadata {
    std::string id;
    std::string name;
    std::string version;
    uint32_t abi_major = 0;
    uint32_t abi_minor = 0;
    std::vector<std::string> extensions;
    std::shared_ptr<const tool::Schema> settings;  // NULL: it does not describe them
};

// The ids of the built-in narrators. No plugin file may use one.
inline constexpr const char* kBuiltInIds[] = {"template", "script"};
bool is_built_in(std::string_view id);

// True for a valid plugin id: a-z 0-9 . _ -, beginning with a letter or digit.
bool is_id(std::string_view text);

// The metadata document of a library, unparsed.
struct MetadataText {
    std::string text;
    std::string file;  // the file next to the library; empty: a note in the library
    size_t notes = 0;  // number of Narratoria notes in the library; the first one is used
};

// Finds the metadata of the library at `path`. Returns nothing and a reason if the file is not a
// plugin for this machine.
std::optional<MetadataText> find_metadata(const std::string& path, std::string& reason);

// Parses and validates a plugin/1 document. Returns nothing if it has faults. `faults` receives
// faults and warnings.
std::optional<Metadata> parse_metadata(std::string_view json, Faults& faults);

// Returns how the settings, a JSON object, violate the schema in the metadata.
tool::SchemaFaults check_settings(const Metadata& metadata, std::string_view settings);
// Returns a sentence, such as `"rooms/0/name" is missing`.
std::string describe_setting(const tool::SchemaFault& fault);

// Finds and parses. On failure returns nothing and the first reason. `id` receives the id, even of
// metadata that is not valid.
std::optional<Metadata> read_metadata(const std::string& path, std::string& reason,
                                      std::string* id = nullptr);

// The Narratoria notes in the bytes of an ELF note section.
std::vector<std::string_view> find_notes(std::string_view section);

}  // namespace narratoria::plugin
