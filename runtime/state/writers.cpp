// SPDX-License-Identifier: Apache-2.0
#include "state/writers.hpp"

namespace narratoria::state {

Writer Writers::open(bool exclusive) {
    while (first_open_ < spans_.size() && spans_[first_open_].last_peer != kOpen) ++first_open_;
    spans_.push_back({first_ + static_cast<Writer>(first_open_), kOpen, exclusive});
    ++open_;
    return ++last_;
}

void Writers::close(Writer writer) {
    spans_[writer - first_].last_peer = last_;
    if (--open_ > 0) return;
    // No writer that opens from now on overlaps one of these.
    spans_.clear();
    first_open_ = 0;
    first_ = last_ + 1;
}

bool Writers::overlap(Writer other, Writer writer) const {
    if (other < first_ || other == writer) return false;
    // The later of two opened while `writer` was open, which it still is.
    return other > writer || of(other).last_peer >= writer;
}

}  // namespace narratoria::state
