// SPDX-License-Identifier: Apache-2.0
// What lines begin with alike is learned here; json_plain.cpp reads from behind it.

#include <algorithm>
#include <cstring>

#include "base/json.hpp"

namespace narratoria::json {

void Beginning::take(const Tape& tape) {
    if (lines_++ < next_) return;
    if (lines_ == next_ + 1) {
        // The first of two; the second is read whole.
        kept_ = static_cast<uint32_t>(std::min(tape.source().size(), kMaxBytes));
        std::memcpy(bytes_, tape.source().data(), kept_);
        size_ = 0;
        return;
    }
    learn(tape);
    next_ = lines_ + std::min(lines_, kMaxLinesPerGeneration);
}

void Beginning::learn(const Tape& tape) {
    const char* const text = tape.source().data();
    const size_t most = std::min<size_t>(kept_, tape.source().size());
    const auto same = static_cast<size_t>(std::mismatch(text, text + most, bytes_).first - text);
    const Node* const nodes = tape.nodes();
    size_ = node_count_ = 0;
    ++generation_;
    if (nodes[0].type != Type::Object) return;
    // The last key whose quote and all in front of it is the same.
    for (uint32_t key = 1; key < nodes[0].size && key <= kMaxNodes; key = tape.next(key + 1)) {
        const auto place = static_cast<size_t>(nodes[key].begin - 1 - text);
        if (place > same) break;
        node_count_ = key;
        size_ = static_cast<uint32_t>(place);
    }
    if (node_count_ <= 1) size_ = 0;  // nothing is gained by a brace
    for (uint32_t i = 0; i < node_count_; ++i) {
        nodes_[i] = nodes[i];
        nodes_[i].begin = bytes_ + (nodes[i].begin - text);
    }
}

}  // namespace narratoria::json
