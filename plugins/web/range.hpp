// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header Range of a request (RFC 9110, 14.2), for one range.

#include <cstdint>
#include <string_view>

namespace narratoria::web {

struct Range {
    enum class Kind {
        Whole,          // nothing that is understood was asked for: all of it is sent
        Part,           // from `first`, `count` bytes
        Unsatisfiable,  // nothing of the file lies there
    };
    Kind kind = Kind::Whole;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// `text`: the header's value; `size`: of the whole. Several ranges, other units and what is
// malformed are ignored, as a server may.
Range read_range(std::string_view text, std::uint64_t size) noexcept;

}  // namespace narratoria::web
