// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace narratoria::script {

// The distinct names and strings of one script, numbered from 0 in order of appearance. The texts
// are views into the source, or copies of strings with escapes.
class Symbols {
public:
    Symbols() : slots_(64), seed_(hash_seed()) {}

    uint32_t intern(std::string_view text) {
        const uint64_t hash = hash_text(text, seed_);
        const size_t mask = slots_.size() - 1;
        for (size_t at = hash;; ++at) {
            Slot& slot = slots_[at & mask];
            if (slot.number == 0) return add(text, hash, slot);
            if (slot.hash == static_cast<uint32_t>(hash) && texts_[slot.number - 1] == text) {
                return slot.number - 1;
            }
        }
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
    struct Slot {
        uint32_t number = 0;  // the symbol plus one; 0: empty
        uint32_t hash = 0;
    };

    uint32_t add(std::string_view text, uint64_t hash, Slot& slot) {
        texts_.push_back(text);
        slot = {static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(hash)};
        if (texts_.size() * 2 > slots_.size()) grow();
        return static_cast<uint32_t>(texts_.size() - 1);
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 4);
        old.swap(slots_);
        const size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.number == 0) continue;
            size_t at = hash_text(texts_[slot.number - 1], seed_);
            while (slots_[at & mask].number != 0) ++at;
            slots_[at & mask] = slot;
        }
    }

    std::vector<std::string_view> texts_;
    std::vector<Slot> slots_;
    std::deque<std::string> copies_;
    uint64_t seed_;
};

}  // namespace narratoria::script
