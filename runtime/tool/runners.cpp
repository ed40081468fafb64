// SPDX-License-Identifier: Apache-2.0
#include "tool/runners.hpp"
#include "base/near_name.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace narratoria::tool {

bool is_scheme(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '-' || c == '.' || c == '_';
    });
}

std::string_view scheme_of(std::string_view tool_path) {
    const size_t colon = tool_path.find(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view scheme = tool_path.substr(0, colon);
    return is_scheme(scheme) ? scheme : std::string_view();
}

void Runners::add(std::string name, std::shared_ptr<Runner> runner) {
    by_name_.insert_or_assign(std::move(name), std::move(runner));
}

bool Runners::add_scheme(std::string scheme, std::shared_ptr<Runner> runner, std::string origin,
                         bool waits) {
    return by_scheme_
        .try_emplace(std::move(scheme), Scheme{std::move(runner), std::move(origin), waits})
        .second;
}

void Runners::remove_scheme(std::string_view scheme) {
    const auto found = by_scheme_.find(scheme);
    if (found != by_scheme_.end()) by_scheme_.erase(found);
}

Runner* Runners::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
}

std::string_view Runners::near_scheme(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const auto& [scheme, ignored] : by_scheme_) names.push_back(scheme);
    return near_name(name, names);
}

const Runners::Scheme* Runners::find_scheme(std::string_view name) const {
    const auto found = by_scheme_.find(name);
    return found == by_scheme_.end() ? nullptr : &found->second;
}

}  // namespace narratoria::tool
