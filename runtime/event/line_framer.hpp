// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts a stream of bytes into lines (spec 000 §2.2), without copying those that lie whole in a
// read buffer.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace narratoria::event {

struct Line {
    std::string_view text;  // without its end (\n or \r\n); json::kPadding readable bytes behind
                            // it, the first of them zero
    uint64_t number;        // from 1, blank lines counted
    uint64_t offset;        // of its first byte in the stream
};

class LineFramer {
public:
    explicit LineFramer(uint64_t limit) : limit_(limit) {}

    // Calls `take(const Line&)` for each whole line; it returns false to stop, and so does feed.
    // False too when a line grows over the limit: over_limit() then says so. The bytes of `data`
    // are changed, and json::kPadding more may be read.
    template <typename Take>
    bool feed(char* data, size_t size, Take&& take) {
        char* at = data;
        char* const end = data + size;
        while (at < end) {
            auto* newline = static_cast<char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
            const auto length = static_cast<size_t>((newline ? newline : end) - at);
            if (partial_.size() + length > limit_) {
                // A line may be exactly at the limit with \r before \n behind it.
                const bool only_return = newline != nullptr &&
                                         partial_.size() + length == limit_ + 1 && length > 0 &&
                                         newline[-1] == '\r';
                if (!only_return) {
                    over_limit_ = true;
                    ++number_;
                    return false;
                }
            }
            if (newline == nullptr) {
                partial_.append(at, length);
                return true;
            }
            const size_t whole = partial_.size() + length;
            bool go_on;
            if (partial_.empty()) {
                *newline = '\0';
                go_on = give(at, length, take);
            } else {
                partial_.append(at, length);
                go_on = give_partial(take);
            }
            offset_ += whole + 1;
            at = newline + 1;
            if (!go_on) return false;
        }
        return true;
    }

    // The stream has ended: a last line without an end of its own is a line.
    template <typename Take>
    bool finish(Take&& take) {
        return partial_.empty() || give_partial(take);
    }

    bool over_limit() const { return over_limit_; }
    uint64_t line_number() const { return number_; }
    uint64_t limit() const { return limit_; }
    std::string_view partial() const { return partial_; }

private:
    template <typename Take>
    bool give(char* text, size_t length, Take&& take) {
        ++number_;
        if (length > 0 && text[length - 1] == '\r') text[--length] = '\0';
        return take(Line{{text, length}, number_, offset_});
    }

    template <typename Take>
    bool give_partial(Take&& take) {
        std::string line;
        line.swap(partial_);
        const size_t length = line.size();
        line.append(json::kPadding, '\0');
        const bool go_on = give(line.data(), length, take);
        // Most lines are short: their memory is used again, a rare long one's is given back.
        if (line.capacity() <= 64 * 1024) {
            line.clear();
            partial_.swap(line);
        }
        return go_on;
    }

    uint64_t limit_;
    uint64_t number_ = 0;
    uint64_t offset_ = 0;
    std::string partial_;
    bool over_limit_ = false;
};

}  // namespace narratoria::event
