// SPDX-License-Identifier: Apache-2.0
#pragma once
// Creates a folder from the files of templates/, which the build embeds in the command.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::command {

// The text of a template. `path` is relative to templates/, without ".in". Empty if unknown.
std::string_view template_text(std::string_view path);

struct TemplateFile {
    std::string from;  // as for template_text()
    std::string to;    // relative to the new folder; subfolders are created
    bool is_program = false;
};
// "@WORD@" in a template becomes the text of WORD.
using Replacements = std::vector<std::pair<std::string_view, std::string>>;

// Creates the folder with these files. Throws Refused if it exists or cannot be created, and Failed
// if a file cannot be written; nothing is left then.
void create_from_templates(const std::filesystem::path& folder,
                           const std::vector<TemplateFile>& files,
                           const Replacements& replacements);

}  // namespace narratoria::command
