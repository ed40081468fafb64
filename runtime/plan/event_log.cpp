// SPDX-License-Identifier: Apache-2.0
#include "plan/event_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace narratoria::plan {
namespace {

// Size of one preallocation.
constexpr uint64_t kReserve = 16u * 1024 * 1024;

}  // namespace

// Preallocates many blocks at once, which costs the file system half as much as single allocations.
// Ignores errors: without preallocation, writes allocate as usual.
void EventSpool::reserve(uint64_t size) {
    if (!file_ || size <= reserved_) return;
    const uint64_t more = std::max(kReserve, size - reserved_);
    ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(reserved_),
                static_cast<off_t>(more));
    reserved_ += more;
}

bool EventSpool::append(std::string_view bytes, uint64_t& offset) {
    if (refused_) return false;
    if (!file_) file_ = unlinked_file();
    offset = file_size_;
    reserve(file_size_ + bytes.size());
    while (file_ && !bytes.empty()) {
        const ssize_t written =
            ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(file_size_));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        bytes.remove_prefix(static_cast<size_t>(written));
        file_size_ += static_cast<uint64_t>(written);
    }
    if (bytes.empty()) return true;
    // Do not retry: on a full disk each event would cause a failing write. No extent refers to
    // partially written bytes.
    refused_ = true;
    file_size_ = offset;
    return false;
}

void EventLog::add(std::string_view event) {
    if (count_++ > 0) tail_ += ',';
    tail_ += event;
    spool_->in_memory_ += event.size() + 1;
    // Small logs stay in memory, and writes to the file are large.
    if (tail_.size() < kChunk) return;
    if (spool_->over_limit() || (spool_->file_ && tail_.size() >= kBlock)) {
        spill();
    } else if (!spool_->file_) {
        chunks_.push_back(std::move(tail_));
        tail_.clear();
    }
}

// Moves all events from memory to the file, in order. Stops at the first failure and keeps the rest
// in memory.
void EventLog::spill() {
    chunks_.push_back(std::move(tail_));
    tail_.clear();
    size_t moved = 0;
    for (; moved < chunks_.size(); ++moved) {
        std::string& chunk = chunks_[moved];
        uint64_t offset = 0;
        if (!spool_->append(chunk, offset)) break;
        // Merge adjacent ranges, so that a log written without interleaving needs one extent.
        if (!extents_.empty() && extents_.back().offset + extents_.back().size == offset) {
            extents_.back().size += chunk.size();
        } else {
            extents_.push_back({offset, chunk.size()});
        }
        spool_->in_memory_ -= std::min<uint64_t>(spool_->in_memory_, chunk.size());
    }
    if (moved == chunks_.size() && moved > 0 && chunks_.back().capacity() <= 2 * kBlock) {
        // Reuse the memory of the last chunk for the next events.
        tail_.swap(chunks_.back());
        tail_.clear();
    }
    chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(moved));
}

void EventLog::settle() {
    if (spool_->over_limit() && (!tail_.empty() || !chunks_.empty())) spill();
    tail_.shrink_to_fit();
}

void EventLog::drop() {
    spool_->in_memory_ -= tail_.size();
    tail_.clear();
    count_ = 0;
}

uint64_t EventLog::allocated() const {
    uint64_t bytes = tail_.capacity();
    for (const std::string& chunk : chunks_) bytes += chunk.capacity();
    return bytes;
}

bool EventLog::write(Output& output) const {
    for (const Extent& extent : extents_) {
        if (!output.write_file(spool_->file_.get(), extent.offset, extent.size)) return false;
    }
    for (const std::string& chunk : chunks_) {
        if (!output.write(chunk)) return false;
    }
    return output.write(tail_);
}

}  // namespace narratoria::plan
