// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits a byte stream into lines (spec 000 §2.2). Lines that lie entirely in one read buffer are
// not copied.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"

namespace narratoria::event {

struct Line {
    std::string_view text;  // without its end (\n or \r\n); json::kPadding readable bytes follow
                            // it, the first of them zero
    uint64_t number;        // from 1; blank lines count
    uint64_t offset;        // offset of its first byte in the stream
};

// A blank line is ignored and is not a fault.
inline bool is_blank(std::string_view text) {
    for (const char c : text) {
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return false;
    }
    return true;
}

// One per stream. Not thread-safe. Keeps an incomplete line until the next read.
class LineFramer {
public:
    explicit LineFramer(uint64_t limit) : limit_(limit) {}

    // Calls `take(const Line&)` for each complete line. If `take` returns false, stops and returns
    // false. Also returns false if a line exceeds the limit; over_limit() is then true. Modifies
    // `data` and may read json::kPadding bytes after it.
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
                // The carriage return of a CRLF is not part of the line, and the line feed may
                // arrive with the next read.
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
            // `take` may destroy this framer. It must then return false, and no member is used
            // afterwards.
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

    // Ends the stream. A last line without a line end is delivered as well.
    template <typename Take>
    bool finish(Take&& take) {
        return partial_.empty() || give_partial(offset_, take);
    }

    // Drops an incomplete line that is no longer needed.
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
        // Reuses the memory for the next line, but frees that of a rare long line.
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
