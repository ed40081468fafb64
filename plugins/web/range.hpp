// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header Range of a request (RFC 9110, 14.2), for one range.

#include <cstdint>
#include <string_view>

namespace narratoria::web {

struct Range {
    enum class Kind {
        Whole,          // the header is ignored; the whole file is sent
        Part,           // `count` bytes from `first`
        Unsatisfiable,  // the range contains no byte of the file
    };
    Kind kind = Kind::Whole;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// `text`: the header's value; `size`: the size of the file. Multiple ranges, other units and
// malformed values are ignored, as RFC 9110 allows.
Range read_range(std::string_view text, std::uint64_t size) noexcept;

}  // namespace narratoria::web
