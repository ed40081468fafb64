// SPDX-License-Identifier: Apache-2.0
#include "io/output_check.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "io/file.hpp"
#include "io/message.hpp"

namespace narratoria::command {
namespace {

// Folders and files that a project or a story is read from. They need not exist.
constexpr std::string_view kOwnFolders[] = {".namel3ss", "packs", ".venv"};
constexpr std::string_view kOwnFiles[] = {"namel3ss.toml", "pyproject.toml", "requirements.txt",
                                          "story.toml",    "prompts.json",   ".namel3ss",
                                          "packs",         ".venv"};

std::string real_path(const std::string& path) {
    char* real = realpath(path.c_str(), nullptr);
    const std::string text = real != nullptr ? real : "";
    std::free(real);
    return text;
}

bool is_own(std::string_view path) {
    if (path.ends_with(".py")) return true;
    if (std::find(std::begin(kOwnFiles), std::end(kOwnFiles), path) != std::end(kOwnFiles)) {
        return true;
    }
    const std::string_view first = path.substr(0, path.find('/'));
    return first.size() < path.size() && std::find(std::begin(kOwnFolders), std::end(kOwnFolders),
                                                   first) != std::end(kOwnFolders);
}

// True for a file that does not exist, is empty, or begins like one of `earlier`. Also true for a
// file that is not regular: it cannot be overwritten, and opening a FIFO would block.
bool is_earlier(const std::string& path, Beginnings earlier) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return errno == ENOENT;
    if (!S_ISREG(status.st_mode)) return true;
    std::ifstream file(path, std::ios::binary);
    if (!file) return false;
    char buffer[64] = {};
    file.read(buffer, sizeof buffer);
    const std::string_view begin(buffer, static_cast<std::size_t>(file.gcount()));
    return begin.empty() || std::any_of(earlier.begin(), earlier.end(), [&](std::string_view each) {
               return begin.starts_with(each);
           });
}

}  // namespace

void OutputCheck::add_input(const std::string& path, std::string_view name) {
    if (std::string identity = identity_of_input(path); !identity.empty()) {
        used_files_.push_back(
            {std::move(identity), std::string(path == "-" ? "standard input" : name)});
    }
}

void OutputCheck::add_folder(const std::string& folder) {
    if (folder.empty()) return;
    const std::string shown = display_path(folder);
    const auto add = [&](const std::string& path, bool is_read_only) {
        std::string real = real_path(path);
        if (real.empty()) return;
        if (real != "/") real += '/';
        folders_.push_back({std::move(real), shown, is_read_only});
    };
    add(folder, false);
    // Add these folders separately, because links may lead out of `folder`.
    for (const std::string_view own : kOwnFolders) add(fmt::format("{}/{}", folder, own), true);
    const char* const packs = std::getenv("NARRATORIA_PACK_PATH");
    std::istringstream folders_of_packs(packs != nullptr ? packs : "");
    for (std::string pack; std::getline(folders_of_packs, pack, ':');) add(pack, true);
    for (const char* file : {"/.namel3ss/tools.yaml", "/namel3ss.toml", "/story.toml"}) {
        add_input(folder + file, display_path(folder + file));
    }
}

void OutputCheck::add_output(std::string_view option, const std::string& path,
                             const std::string& identity, Beginnings earlier) {
    if (identity.empty()) return;
    claim(identity, option, display_path(path));
    const std::string real = real_path_of_output(path, option);
    for (const Folder& folder : folders_) {
        if (!real.starts_with(folder.path)) continue;
        if (!folder.is_read_only && !is_own(real.substr(folder.path.size())) &&
            is_earlier(real, earlier)) {
            continue;
        }
        throw Refused(fmt::format("{} would overwrite {}, a file of {}; give {} a different file",
                                  option, display_path(path), folder.shown, option));
    }
}

void OutputCheck::add_standard_output() {
    claim(identity_of_input("/dev/stdout"), "standard output", "which the shell redirected");
}

void OutputCheck::claim(const std::string& identity, std::string_view name,
                        std::string_view shown) {
    if (identity.empty()) return;
    for (const UsedFile& other : used_files_) {
        if (other.identity != identity) continue;
        throw Refused(fmt::format("{} and {} are the same file, {}; give {} a different file",
                                  other.name, name, shown, name));
    }
    used_files_.push_back({identity, std::string(name)});
}

}  // namespace narratoria::command
