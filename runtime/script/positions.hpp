// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/json/error.hpp"

namespace narratoria::script {

// Like json::position_of(), for many positions in one text. The cost of a position does not grow
// with the length of its line.
class Positions {
public:
    // The text must outlive this object and be shorter than 4 GiB.
    explicit Positions(std::string_view text) : text_(text), lines_{0} {
        uint32_t continuing = 0;
        for (uint32_t at = 0; at < text.size(); ++at) {
            if (at % kStride == 0) continuing_.push_back(continuing);
            continuing += utf8::continues(text[at]);
            if (text[at] == '\n') lines_.push_back(at + 1);
        }
        continuing_.push_back(continuing);
    }

    json::Position of(uint32_t byte) const {
        const auto line = static_cast<size_t>(std::upper_bound(lines_.begin(), lines_.end(), byte) -
                                              lines_.begin());
        const uint32_t first = lines_[line - 1];
        return {line, byte - first - (continuing(byte) - continuing(first)) + 1};
    }

private:
    static constexpr uint32_t kStride = 256;

    // The number of bytes before `byte` that continue a character.
    uint32_t continuing(uint32_t byte) const {
        uint32_t count = continuing_[byte / kStride];
        for (uint32_t at = byte / kStride * kStride; at < byte; ++at)
            count += utf8::continues(text_[at]);
        return count;
    }

    std::string_view text_;
    std::vector<uint32_t> lines_;       // first byte of each line
    std::vector<uint32_t> continuing_;  // continuing() of every kStride-th byte
};

}  // namespace narratoria::script
