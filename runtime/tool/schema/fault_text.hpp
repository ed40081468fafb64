// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values, lists and counts in the message of a fault.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"

namespace narratoria::tool {

inline constexpr size_t kExcerpt = 60;
inline constexpr size_t kListed = 12;

// Returns at most `most` bytes of the text, and no part of a character.
std::string cut(std::string_view text, size_t most);
std::string excerpt(json::Value value);
std::string counted(uint64_t count, const char* one, const char* many);

template <typename List, typename Name>
std::string listed(const List& list, Name name) {
    std::string out;
    size_t count = 0;
    for (const auto& each : list) {
        if (count > 0) out += ", ";
        if (count++ == kListed) return out + "…";
        out += name(each);
    }
    return out;
}

}  // namespace narratoria::tool
