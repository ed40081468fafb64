// SPDX-License-Identifier: Apache-2.0
#include "tool/sandbox_rules.hpp"

#include <filesystem>
#include <set>

namespace narratoria::tool {
namespace {

// Returns an empty string if the file does not exist.
std::string real_path(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::canonical(path, error).string();
}

std::string_view without_extension(std::string_view name) {
    const size_t dot = name.rfind('.');
    return dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

void SandboxRules::require_of(const std::string& name, const std::string& folder,
                              const Guarantees& guarantees) {
    by_name_[name].tighten(guarantees);
    const std::filesystem::path base(folder);
    for (const auto& file : {base / name, base / "tools" / name}) {
        const std::string real = real_path(file);
        if (!real.empty()) by_name_[real].tighten(guarantees);
    }
}

Guarantees SandboxRules::guarantees_of(std::string_view name, std::string_view path,
                                       const std::string& file) const {
    Guarantees out;
    if (!by_name_.empty()) {
        const std::string real = file.empty() ? std::string() : real_path(file);
        const std::string_view its_name = std::string_view(file).substr(file.rfind('/') + 1);
        // A set, so that the rules of equal names are applied only once.
        for (const std::string_view each :
             std::set<std::string_view>{name, without_extension(name), path, its_name,
                                        without_extension(its_name), real}) {
            const auto found = by_name_.find(each);
            if (found != by_name_.end()) out.tighten(found->second);
        }
    }
    out.tighten(all_);
    return out;
}

}  // namespace narratoria::tool
