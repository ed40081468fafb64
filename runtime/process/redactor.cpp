// SPDX-License-Identifier: Apache-2.0
#include "process/redactor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

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

// The members of events and replies at the top. Their values may be anything.
constexpr std::string_view kNames[] = {"version",
                                       "type",
                                       "requestId",
                                       "timestamp",
                                       "level",
                                       "message",
                                       "fields",
                                       "patch",
                                       "assetId",
                                       "kind",
                                       "mediaType",
                                       "path",
                                       "metadata",
                                       "event",
                                       "payload",
                                       "errorCode",
                                       "errorMessage",
                                       "details",
                                       "ok",
                                       "summary",
                                       "result",
                                       "retry",
                                       "output",
                                       "error",
                                       "trace_id",
                                       "code",
                                       "protocol_version",
                                       "capability_checks"};
// Those whose values are words of the protocol, and these words.
constexpr std::string_view kNamesOfWords[] = {"version", "type", "level", "requestId", "timestamp"};
constexpr std::string_view kWords[] = {
    "0",    "log",   "state_patch", "asset", "ui_event", "error", "narrative_choice",
    "done", "debug", "info",        "warn"};
// Longer than any of them, and than a time or an id.
constexpr size_t kLongestWord = 64;
constexpr size_t kLongestNumber = 256;
// As short as the shortest id; a secret in its place is none of these characters alone, or is it whole.
constexpr size_t kShortestId = 20;

template <size_t kCount>
bool is_one_of(const std::string_view (&list)[kCount], std::string_view text) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

bool is_time_or_id(std::string_view text) {
    return text.size() >= kShortestId &&
           text.find_first_not_of("0123456789abcdefABCDEF-:.+TZ") == std::string_view::npos;
}

bool is_number(std::string_view word) {
    return (word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) &&
           word.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

}  // namespace

Redactor::Redactor(const std::vector<std::string>& secrets, Kind kind) : kind_(kind) {
    for (const std::string& secret : secrets) {
        if (!is_replaced(secret)) continue;
        std::string quoted;
        json::append_string(quoted, secret);
        const std::string inside = quoted.substr(1, quoted.size() - 2);
        for (std::string form : {inside, with_ascii_only(inside), secret}) {
            const bool is_new =
                std::none_of(patterns_.begin(), patterns_.end(),
                             [&](const Pattern& each) { return each.text == form; });
            if (!form.empty() && is_new)
                patterns_.push_back({form, form != secret || form == inside});
        }
    }
    std::stable_sort(patterns_.begin(), patterns_.end(),
                     [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); });
    for (const Pattern& each : patterns_) {
        starts_pattern_[static_cast<unsigned char>(each.text.front())] = true;
    }
}

std::string& Redactor::pass(std::string_view data) {
    held_ += data;
    run();
    return out_;
}

std::string& Redactor::finish() {
    is_at_end_ = true;
    run();
    return out_;
}

void Redactor::run() {
    out_.clear();
    at_ = 0;
    while (at_ < held_.size()) {
        const Step step = kind_ == Kind::Text ? take_text()
                          : in_string_        ? take_in_string()
                                              : take_outside();
        if (step == Step::Wait) break;
    }
    held_.erase(0, at_);
}

void Redactor::take(size_t size) {
    out_.append(held_, at_, size);
    at_ += size;
}

// A secret, or one byte.
Redactor::Step Redactor::take_text() {
    const std::string_view rest = std::string_view(held_).substr(at_);
    if (starts_pattern_[static_cast<unsigned char>(rest.front())]) {
        for (const auto& [pattern, fits_string] : patterns_) {
            if (in_string_ && !fits_string) continue;
            if (rest.starts_with(pattern)) {
                out_ += kRedacted;
                at_ += pattern.size();
                return Step::Done;
            }
            // A longer pattern may still come, so a shorter one must wait.
            if (!is_at_end_ && rest.size() < pattern.size() &&
                std::string_view(pattern).starts_with(rest)) {
                return Step::Wait;
            }
        }
    }
    take(1);
    return Step::Done;
}

Redactor::Step Redactor::take_in_string() {
    const char byte = held_[at_];
    if (byte == '"') {
        in_string_ = false;
        take(1);
        return Step::Done;
    }
    if (byte == '\n') {
        // No JSON has it there. The next line may be right again.
        in_string_ = false;
        depth_ = 0;
        take(1);
        return Step::Done;
    }
    if (byte != '\\') return take_text();
    // An escape is taken as a whole: what would be left of one is no JSON.
    if (held_.size() < at_ + 2 && !is_at_end_) return Step::Wait;
    const size_t wanted = held_.size() >= at_ + 2 && held_[at_ + 1] == 'u' ? 6 : 2;
    if (held_.size() < at_ + wanted && !is_at_end_) return Step::Wait;
    const size_t before = at_;
    const Step step = take_text();
    if (step == Step::Done && at_ == before + 1) {
        take(std::min(wanted - 1, held_.size() - at_));
    }
    return step;
}

Redactor::Step Redactor::take_outside() {
    const char byte = held_[at_];
    switch (byte) {
        case '{':
        case '[':
            if (depth_++ == 0) top_is_object_ = expects_key_ = byte == '{';
            break;
        case '}':
        case ']':
            if (depth_ > 0) --depth_;
            break;
        case ',':
            if (depth_ == 1) expects_key_ = top_is_object_;
            break;
        case ':':
            if (depth_ == 1) expects_key_ = false;
            break;
        case ' ':
        case '\t':
        case '\r':
        case '\n': break;
        case '"': return take_string();
        default: return take_word();
    }
    take(1);
    return Step::Done;
}

// At the start of one.
Redactor::Step Redactor::take_string() {
    const bool is_name = depth_ == 1 && expects_key_;
    const bool is_word = depth_ == 1 && !expects_key_ && is_one_of(kNamesOfWords, key_);
    if (is_name || is_word) {
        const size_t end = held_.find('"', at_ + 1);
        const size_t size = std::min(end, held_.size()) - at_ - 1;
        if (end == std::string::npos && size < kLongestWord && !is_at_end_) return Step::Wait;
        const std::string_view text = std::string_view(held_).substr(at_ + 1, size);
        const bool is_secret = std::any_of(patterns_.begin(), patterns_.end(),
                                           [&](const Pattern& each) { return each.text == text; });
        const bool stays = is_name ? is_one_of(kNames, text)
                                   : is_one_of(kWords, text) || (is_time_or_id(text) && !is_secret);
        if (is_name) key_ = stays ? text : std::string_view();
        if (stays && end != std::string::npos) {
            take(size + 2);
            return Step::Done;
        }
    }
    in_string_ = true;
    take(1);
    return Step::Done;
}

// A number, true, false, null, or what is no JSON.
Redactor::Step Redactor::take_word() {
    if (std::string_view("-0123456789tfn").find(held_[at_]) == std::string_view::npos) {
        return take_text();
    }
    std::string_view word = std::string_view(held_).substr(at_, kLongestNumber);
    const size_t end = word.find_first_of("{}[],:\" \t\r\n");
    if (end == std::string_view::npos && word.size() < kLongestNumber && !is_at_end_) {
        return Step::Wait;
    }
    word = word.substr(0, end);
    if (word == "true" || word == "false" || word == "null") {
        take(word.size());
        return Step::Done;
    }
    if (is_number(word)) {
        const bool has_secret =
            std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
                return word.find(pattern.text) != std::string_view::npos;
            });
        if (has_secret) {
            (out_ += '"') += kRedacted;
            out_ += '"';
            at_ += word.size();
            return Step::Done;
        }
        const size_t before = at_;
        const Step step = take_text();
        if (step == Step::Done && at_ == before + 1) take(word.size() - 1);
        return step;
    }
    return take_text();
}

}  // namespace narratoria::process
