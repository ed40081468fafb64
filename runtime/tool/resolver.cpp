// SPDX-License-Identifier: Apache-2.0
#include "tool/resolver.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace narratoria::tool {
namespace {

std::string resolved(const std::string& path) {
    std::error_code failure;
    const std::filesystem::path result = std::filesystem::weakly_canonical(path, failure);
    return failure ? std::string() : result.string();
}

bool exists(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

// "scheme:rest", as opposed to a path with a colon in a later part.
std::string_view scheme_of(std::string_view tool_path) {
    const size_t colon = tool_path.find(':');
    if (colon == std::string_view::npos || colon == 0) return {};
    const std::string_view scheme = tool_path.substr(0, colon);
    const bool well_formed = std::all_of(scheme.begin(), scheme.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '-' || c == '.' || c == '_';
    });
    return well_formed ? scheme : std::string_view();
}

bool lies_below(const std::string& program, const std::vector<std::string>& roots) {
    const std::string real = resolved(program);
    if (real.empty()) return false;
    return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
        if (root.empty()) return false;
        if (root == "/" || real == root) return true;
        return real.size() > root.size() && real.compare(0, root.size(), root) == 0 &&
               real[root.size()] == '/';
    });
}

}  // namespace

void Resolver::restrict_to(const std::vector<std::string>& allow_paths) {
    restrictions_.emplace_back();
    for (std::string root : allow_paths) {
        root = resolved(root);
        while (root.size() > 1 && root.back() == '/') root.pop_back();
        restrictions_.back().push_back(std::move(root));
    }
}

Resolution Resolver::resolve(std::string_view tool_path, const std::string& folder) const {
    if (tool_path.find('\0') != std::string_view::npos) {
        return {"", "its path holds a NUL character", false};
    }
    const std::string path(tool_path);
    if (const std::string_view scheme = scheme_of(tool_path); !scheme.empty()) {
        return {"",
                "no tool runner knows the scheme \"" + std::string(scheme) + "\" of \"" + path +
                    "\"; a file whose name has a colon is written \"./" + path + "\"",
                false};
    }
    std::string program;
    if (path.front() == '/') {
        program = path;
    } else {
        program = folder + "/" + path;
        if (!story_tools_.empty() && !exists(program)) {
            std::string in_story = story_tools_ + "/" + path;
            if (exists(in_story)) program = std::move(in_story);
        }
    }
    for (const std::vector<std::string>& roots : restrictions_) {
        if (lies_below(program, roots)) continue;
        std::string listed;
        for (const std::string& root : roots) listed += (listed.empty() ? "" : ", ") + root;
        return {"", "\"" + program + "\" lies outside of the allowed paths (" + listed + ")", true};
    }
    return {std::move(program), "", false};
}

}  // namespace narratoria::tool
