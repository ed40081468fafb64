// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a plugin's library as a file, without loading it. The content is untrusted: every offset
// and size is checked against the file's size.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command::plugin_check {

// The plugin's metadata, plugin/1 (abi/schemas/plugin-1.schema.json).
struct PluginMetadata {
    std::string source;  // "the section .note.narratoria", or the file's name
    std::string id;
    std::string name;
    std::string version;
    std::string abi;
    std::vector<std::string> extensions;
    std::vector<std::string> faults;  // human-readable
    double milliseconds = 0;          // time to find and read it
};

struct PluginFile {
    std::string path;                    // absolute
    std::vector<std::string> exported;   // defined global symbols
    std::vector<std::string> libraries;  // DT_NEEDED
    bool has_text_relocations = false;
    bool has_executable_stack = false;
    bool stays_loaded = false;  // DF_1_NODELETE: unloading it does nothing
    PluginMetadata metadata;
};

// Throws Refused if the file does not exist or is not a complete shared library for this machine.
PluginFile read_plugin_file(const std::string& given);

// At most 128 characters of "a-z 0-9 . _ -", the first a letter or digit.
bool is_plugin_id(std::string_view id);

// "narratoria.ui_handler/1"
bool is_extension_id(std::string_view id);

// True if the text is valid UTF-8 without NUL.
bool is_plain_utf8(std::string_view text);

}  // namespace narratoria::command::plugin_check
