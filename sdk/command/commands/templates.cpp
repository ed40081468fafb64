// SPDX-License-Identifier: Apache-2.0
#include "commands/templates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"

namespace narratoria::command {
namespace {

std::string substitute(std::string_view text, const Replacements& replacements) {
    std::string out;
    while (!text.empty()) {
        const std::size_t mark = text.find('@');
        out += text.substr(0, mark);
        if (mark == std::string_view::npos) break;
        text.remove_prefix(mark);
        const auto word =
            std::find_if(replacements.begin(), replacements.end(), [text](const auto& one) {
                return text.substr(1, one.first.size() + 1) == std::string(one.first) + '@';
            });
        if (word == replacements.end()) {
            out += '@';
            text.remove_prefix(1);
        } else {
            out += word->second;
            text.remove_prefix(word->first.size() + 2);
        }
    }
    return out;
}

void write_file(const std::filesystem::path& path, const std::string& text, bool is_program) {
    using std::filesystem::perms;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
        throw Failed(fmt::format("cannot create the folder {}: {}; nothing was created",
                                 printable(path.parent_path().string()), reason(error.value())));
    }
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
        throw Failed(fmt::format("cannot write {}: {}; nothing was created",
                                 printable(path.string()), reason(errno)));
    }
    if (!is_program) return;
    // Whoever may read it may also run it.
    perms allowed = std::filesystem::status(path, error).permissions();
    if ((allowed & perms::owner_read) != perms::none) allowed |= perms::owner_exec;
    if ((allowed & perms::group_read) != perms::none) allowed |= perms::group_exec;
    if ((allowed & perms::others_read) != perms::none) allowed |= perms::others_exec;
    if (!error) std::filesystem::permissions(path, allowed, error);
    if (error) {
        throw Failed(fmt::format("cannot make {} executable: {}; nothing was created",
                                 printable(path.string()), reason(error.value())));
    }
}

}  // namespace

void create_from_templates(const std::filesystem::path& folder,
                           const std::vector<TemplateFile>& files,
                           const Replacements& replacements) {
    const std::string shown = printable(folder.string());
    std::error_code error;
    // create_directory fails if the name exists, so nothing existing is changed.
    if (!std::filesystem::create_directory(folder, error)) {
        if (error) {
            throw Refused(
                fmt::format("cannot create the folder {}: {}", shown, reason(error.value())));
        }
        throw Refused(fmt::format(
            "the folder {} already exists; nothing was written; use a different name, or move it",
            shown));
    }
    try {
        for (const TemplateFile& file : files) {
            write_file(folder / file.to, substitute(template_text(file.from), replacements),
                       file.is_program);
        }
    } catch (const Failed&) {
        // Every file in it was created here. An incomplete folder would block the next attempt.
        std::filesystem::remove_all(folder, error);
        throw;
    }
}

}  // namespace narratoria::command
