// SPDX-License-Identifier: Apache-2.0
#include "process/redactor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/json/writer.hpp"

namespace narratoria::process {
namespace {

// As json.dumps of Python writes it: every character outside of ASCII as \uXXXX. Bytes that are no
// UTF-8 end the conversion; then the text is of no use and empty.
std::string with_ascii_only(std::string_view text) {
    std::string escaped;
    const auto append = [&](uint32_t unit) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "\\u%04x", unit);
        escaped += digits;
    };
    for (size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        if (i + length > text.size()) return {};
        if (length == 1) {
            escaped += text[i++];
            continue;
        }
        uint32_t code = byte & (0xFFU >> (length + 1));
        for (size_t k = 1; k < length; ++k) {
            code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
        }
        if (code >= 0x10000) {
            append(0xD800 + ((code - 0x10000) >> 10));
            append(0xDC00 + ((code - 0x10000) & 0x3FF));
        } else {
            append(code);
        }
        i += length;
    }
    return escaped;
}

}  // namespace

Redactor::Redactor(const std::vector<std::string>& secrets) {
    for (const std::string& secret : secrets) {
        if (secret.size() < kShortest || secret == "true" || secret == "false" ||
            secret == "null") {
            continue;
        }
        std::string quoted;
        json::append_string(quoted, secret);
        const std::string inside = quoted.substr(1, quoted.size() - 2);
        for (std::string form : {secret, inside, with_ascii_only(inside)}) {
            if (!form.empty()) patterns_.push_back(std::move(form));
        }
    }
    std::sort(patterns_.begin(), patterns_.end(), [](const auto& a, const auto& b) {
        return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    patterns_.erase(std::unique(patterns_.begin(), patterns_.end()), patterns_.end());
}

std::string& Redactor::pass(std::string_view data) {
    held_ += data;
    out_.clear();
    size_t at = 0;
    while (at < held_.size()) {
        const std::string_view rest = std::string_view(held_).substr(at);
        bool may_start = false;
        size_t found = 0;
        for (const std::string& pattern : patterns_) {
            if (rest.starts_with(pattern)) {
                found = pattern.size();
                break;
            }
            // A longer pattern may still come, so a shorter one must wait.
            if (rest.size() < pattern.size() && std::string_view(pattern).starts_with(rest)) {
                may_start = true;
                break;
            }
        }
        if (may_start) break;
        if (found > 0) {
            out_ += kRedacted;
            at += found;
        } else {
            out_ += held_[at++];
        }
    }
    held_.erase(0, at);
    return out_;
}

std::string& Redactor::finish() {
    // What was held for a longer secret may have a shorter one in it.
    std::string rest = std::move(held_);
    held_.clear();
    std::string all;
    while (!rest.empty()) {
        const auto whole =
            std::find_if(patterns_.begin(), patterns_.end(),
                         [&](const std::string& pattern) { return rest.starts_with(pattern); });
        if (whole == patterns_.end()) {
            all += rest.front();
            rest.erase(0, 1);
        } else {
            all += kRedacted;
            rest.erase(0, whole->size());
        }
    }
    return out_ = std::move(all);
}

}  // namespace narratoria::process
