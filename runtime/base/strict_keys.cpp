// SPDX-License-Identifier: Apache-2.0
#include "base/strict_keys.hpp"

#include "base/json/writer.hpp"
#include "base/near_name.hpp"

namespace narratoria {

std::string did_you_mean(std::string_view name) {
    return name.empty() ? std::string() : "; did you mean " + json::quoted(name) + "?";
}

std::string_view KnownKeys::near(std::string_view key) const { return near_name(key, names_); }

std::string KnownKeys::suggestion(std::string_view key) const { return did_you_mean(near(key)); }

std::string KnownKeys::suggestion_or_list(std::string_view key) const {
    std::string out = suggestion(key);
    if (!out.empty()) return out;
    for (const std::string_view name : names_) (out += out.empty() ? "; there are " : ", ") += name;
    return out;
}

}  // namespace narratoria
