// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts a stream of bytes into lines (spec 000 §2.2), without copying those that lie whole in a
// read buffer.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"

namespace narratoria::event {

struct Line {
    std::string_view text;  // without its end (\n or \r\n); json::kPadding readable bytes behind
                            // it, the first of them zero
    uint64_t number;        // from 1, blank lines counted
    uint64_t offset;        // of its first byte in the stream
};

// A line of white space says nothing and is no fault.
inline bool is_blank(std::string_view text) {
    for (const char c : text) {
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return false;
    }
    return true;
}

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
            auto* newline =
                static_cast<char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
            const auto length = static_cast<size_t>((newline ? newline : end) - at);
            const size_t whole = partial_.size() + length;
            if (whole > limit_) {
                // The \r of a \r\n is no part of the line, and its \n may come with the next read.
                const char last = length > 0 ? at[length - 1] : partial_.back();
                if (whole != limit_ + 1 || last != '\r') {
                    over_limit_ = true;
                    ++number_;
                    return false;
                }
            }
            if (newline == nullptr) {
                partial_.append(at, length);
                return true;
            }
            const uint64_t start = offset_;
            offset_ += whole + 1;
            // Whoever takes the line may destroy this framer, and then says false.
            if (partial_.empty()) {
                *newline = '\0';
                if (!give(at, length, start, take)) return false;
            } else {
                partial_.append(at, length);
                if (!give_partial(start, take)) return false;
            }
            at = newline + 1;
        }
        return true;
    }

    // The stream has ended: a last line without an end of its own is a line.
    template <typename Take>
    bool finish(Take&& take) {
        return partial_.empty() || give_partial(offset_, take);
    }

    // What follows is of no interest as lines.
    void drop_partial() { partial_ = std::string(); }

    bool over_limit() const { return over_limit_; }
    uint64_t line_number() const { return number_; }
    uint64_t limit() const { return limit_; }
    std::string_view partial() const { return partial_; }

private:
    template <typename Take>
    bool give(char* text, size_t length, uint64_t start, Take&& take) {
        ++number_;
        if (length > 0 && text[length - 1] == '\r') text[--length] = '\0';
        return take(Line{{text, length}, number_, start});
    }

    template <typename Take>
    bool give_partial(uint64_t start, Take&& take) {
        std::string line;
        line.swap(partial_);
        const size_t length = line.size();
        line.append(json::kPadding, '\0');
        if (!give(line.data(), length, start, take)) return false;
        // Most lines are short: their memory is used again, a rare long one's is given back.
        if (line.capacity() <= 64 * 1024) {
            line.clear();
            partial_.swap(line);
        }
        return true;
    }

    uint64_t limit_;
    uint64_t number_ = 0;
    uint64_t offset_ = 0;
    std::string partial_;
    bool over_limit_ = false;
};

}  // namespace narratoria::event
