// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys that a table may have. Readers of stories, prompts, manifests, projects and plans use this
// to find other keys and to name the known one that was probably meant.

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace narratoria {

class KnownKeys {
public:
    // The names must outlive it. In a call, f({"a", "b"}), they do.
    template <typename Names>
    requires std::convertible_to<const Names&, std::span<const std::string_view>> KnownKeys(
        const Names& names)
        : names_(names) {}
    KnownKeys(std::initializer_list<std::string_view> names)
        : names_(names.begin(), names.size()) {}

    bool has(std::string_view key) const {
        return std::find(names_.begin(), names_.end(), key) != names_.end();
    }

    // The known name that `key` is probably a misspelling of (base/near_name.hpp), or empty.
    std::string_view near(std::string_view key) const;
    // `; did you mean "limits"?`, or empty.
    std::string suggestion(std::string_view key) const;
    // The same, or "; there are limits, times" if no name is near.
    std::string suggestion_or_list(std::string_view key) const;

private:
    std::span<const std::string_view> names_;
};

// `; did you mean "limits"?`, or empty if `name` is.
std::string did_you_mean(std::string_view name);

}  // namespace narratoria
