// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.hpp"

namespace narratoria::script {

// The distinct names and strings of one script, numbered from 0 in order of appearance. The texts
// are views into the source, or copies of strings with escapes.
class Symbols {
public:
    uint32_t intern(std::string_view text) {
        const uint32_t symbol =
            index_.find_or_add(text, size(), [this](uint32_t at) { return texts_[at]; });
        if (symbol == size()) texts_.push_back(text);
        return symbol;
    }
    // Like intern(), for text that does not outlive the call.
    uint32_t intern_copy(std::string_view text) {
        const auto before = texts_.size();
        const uint32_t symbol = intern(text);
        if (texts_.size() > before) texts_[symbol] = copies_.emplace_back(text);
        return symbol;
    }

    std::string_view text(uint32_t symbol) const { return texts_[symbol]; }
    uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }

private:
    std::vector<std::string_view> texts_;
    NameIndex index_;
    std::deque<std::string> copies_;
};

}  // namespace narratoria::script
