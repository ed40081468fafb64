// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin's library as a file: what can be known of it without loading it. The file may hold
// anything; nothing of it is believed before it is compared with the file's size.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command::plugin_check {

// What plugin/1 says (abi/schemas/plugin-1.schema.json).
struct PluginMetadata {
    std::string source;  // "the section .note.narratoria", or the file's name
    std::string id;
    std::string name;
    std::string version;
    std::string abi;
    std::vector<std::string> extensions;
    std::vector<std::string> faults;  // what is wrong with it, for people
    double milliseconds = 0;          // what finding and reading it took
};

struct PluginFile {
    std::string path;                    // absolute
    std::vector<std::string> exported;   // defined global symbols
    std::vector<std::string> libraries;  // that it names (DT_NEEDED)
    bool has_text_relocations = false;
    bool has_executable_stack = false;
    bool stays_loaded = false;  // DF_1_NODELETE: unloading it does nothing
    PluginMetadata metadata;
};

// Throws Refused when there is no such file, or it is no whole shared library for this machine.
PluginFile read_plugin_file(const std::string& given);

// "a-z 0-9 . _ -", first a letter or digit, at most 128.
bool is_plugin_id(std::string_view id);

// "narratoria.ui_handler/1"
bool is_extension_id(std::string_view id);

// The text has no byte that is no UTF-8, and no NUL.
bool is_plain_utf8(std::string_view text);

}  // namespace narratoria::command::plugin_check
