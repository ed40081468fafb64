// SPDX-License-Identifier: Apache-2.0
#include "state/writers.hpp"

namespace narratoria::state {

Writer Writers::open(bool exclusive) {
    while (first_open_ < spans_.size() && spans_[first_open_].last_peer != kOpen) ++first_open_;
    // The oldest writer still open is the oldest that can overlap the new one.
    spans_.push_back({first_ + static_cast<Writer>(first_open_), kOpen, exclusive});
    ++open_;
    return ++last_;
}

void Writers::close(Writer writer) {
    spans_[writer - first_].last_peer = last_;
    if (--open_ > 0) return;
    // Later writers cannot overlap any writer closed by now.
    spans_.clear();
    first_open_ = 0;
    first_ = last_ + 1;
}

bool Writers::overlap(Writer other, Writer writer) const {
    if (other < first_ || other == writer) return false;
    // `writer` is still open. If `other` is later, it opened while `writer` was open.
    return other > writer || of(other).last_peer >= writer;
}

}  // namespace narratoria::state
