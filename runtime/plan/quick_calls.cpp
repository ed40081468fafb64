// SPDX-License-Identifier: Apache-2.0
#include "plan/quick_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

namespace narratoria::plan {

static_assert(std::has_unique_object_representations_v<QuickCalls::Call>);

std::string QuickCalls::done_event(std::string_view result) {
    std::string done = R"({"version":"0","type":"done","ok":true)";
    if (!result.empty()) (done += R"(,"result":)") += result;
    return done += '}';
}

uint32_t QuickCalls::number_of(std::string_view skill) {
    const auto found = std::find(skills_.begin(), skills_.end(), skill);
    const auto number = static_cast<uint32_t>(found - skills_.begin());
    if (found == skills_.end()) skills_.emplace_back(skill);
    return number;
}

void QuickCalls::add(const Call& call, std::string_view result) {
    if (last_.empty()) last_.reserve(kBlock + 256);
    last_.append(reinterpret_cast<const char*>(&call), sizeof call);
    last_.append(result);
    ++count_;
    results_ += result.size();
    if (last_.size() >= kBlock) end_block();
}

void QuickCalls::end_block() {
    spool_.in_memory_ += last_.size();
    blocks_.push_back(std::move(last_));
    last_.clear();
    if (!spool_.over_limit()) return;
    size_t moved = 0;
    for (; moved < blocks_.size(); ++moved) {
        Extent extent{0, blocks_[moved].size()};
        if (!spool_.append(blocks_[moved], extent.offset)) break;
        extents_.push_back(extent);
        spool_.in_memory_ -= extent.size;
    }
    // Reuse the memory of a block for the next one.
    if (moved > 0 && blocks_[moved - 1].capacity() <= 2 * kBlock) {
        last_ = std::move(blocks_[moved - 1]);
        last_.clear();
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(moved));
}

uint64_t QuickCalls::memory() const {
    uint64_t bytes = last_.capacity() + extents_.capacity() * sizeof(Extent);
    for (const std::string& block : blocks_) bytes += block.capacity();
    return bytes;
}

bool QuickCalls::Reader::next_block() {
    const size_t block = block_++;
    const size_t in_file = calls_.extents_.size();
    if (block >= in_file) {
        const size_t in_memory = calls_.blocks_.size();
        if (block - in_file > in_memory) return false;
        rest_ = block - in_file == in_memory ? std::string_view(calls_.last_)
                                             : std::string_view(calls_.blocks_[block - in_file]);
        return true;
    }
    const Extent& extent = calls_.extents_[block];
    from_file_.resize(extent.size);
    for (uint64_t read = 0; read < extent.size;) {
        const ssize_t count = ::pread(calls_.spool_.file_.get(), from_file_.data() + read,
                                      extent.size - read, static_cast<off_t>(extent.offset + read));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            has_failed_ = true;
            return false;
        }
        read += static_cast<uint64_t>(count);
    }
    rest_ = from_file_;
    return true;
}

bool QuickCalls::Reader::next(Call& call, std::string_view& result) {
    while (rest_.empty()) {
        if (!next_block()) return false;
    }
    std::memcpy(&call, rest_.data(), sizeof call);
    result = rest_.substr(sizeof call, call.result_size);
    rest_.remove_prefix(sizeof call + call.result_size);
    return true;
}

}  // namespace narratoria::plan
