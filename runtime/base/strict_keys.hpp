// SPDX-License-Identifier: Apache-2.0
#pragma once
// The known keys of a table. Readers of stories, prompts, manifests, projects and plans use this to
// find unknown keys and to suggest the known key that was probably meant.

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace narratoria {

class KnownKeys {
public:
    // The names must outlive this object. In a call f({"a", "b"}) they do.
    template <typename Names>
    requires std::convertible_to<const Names&, std::span<const std::string_view>> KnownKeys(
        const Names& names)
        : names_(names) {}
    KnownKeys(std::initializer_list<std::string_view> names)
        : names_(names.begin(), names.size()) {}

    bool has(std::string_view key) const {
        return std::find(names_.begin(), names_.end(), key) != names_.end();
    }

    // The known name that `key` probably misspells (base/near_name.hpp), or empty.
    std::string_view near(std::string_view key) const;
    // `; did you mean "limits"?`, or empty.
    std::string suggestion(std::string_view key) const;
    // Like suggestion(), or "; there are limits, times" if no name is similar.
    std::string suggestion_or_list(std::string_view key) const;

private:
    std::span<const std::string_view> names_;
};

// `; did you mean "limits"?`, or empty if `name` is.
std::string did_you_mean(std::string_view name);

}  // namespace narratoria
