// SPDX-License-Identifier: Apache-2.0
#include "process/redactor.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>

#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"

namespace narratoria::process {
namespace {

// Escapes every non-ASCII character as \uXXXX, like json.dumps of Python. Returns an empty string
// if the text is not valid UTF-8.
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

// A character of a JSON string: its decoded text and its encoded size. Size 0: no character begins
// here, or the escape is incomplete.
struct Character {
    std::string text;
    size_t size = 0;
};

// A surrogate pair: two times \uXXXX.
constexpr size_t kLongestEscape = 12;

std::optional<uint32_t> code_unit_at(std::string_view text) {
    if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
    uint32_t unit = 0;
    const char* const end = text.data() + 6;
    const auto read = std::from_chars(text.data() + 2, end, unit, 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return unit;
}

Character character_at(std::string_view text) {
    if (text.front() == '"' || text.front() == '\n') return {};
    if (text.front() != '\\') return {std::string(1, text.front()), 1};
    if (text.size() < 2) return {};
    if (text[1] != 'u') {
        constexpr std::string_view kEscapes = "bfnrt";
        constexpr std::string_view kMeanings = "\b\f\n\r\t";
        const size_t at = kEscapes.find(text[1]);
        return {std::string(1, at == std::string_view::npos ? text[1] : kMeanings[at]), 2};
    }
    const auto first = code_unit_at(text);
    if (!first) return {};
    std::string out;
    if (*first < 0xD800 || *first > 0xDFFF) {
        utf8::append(out, *first);
        return {out, 6};
    }
    const auto second = code_unit_at(text.substr(6));
    if (*first > 0xDBFF || !second || *second < 0xDC00 || *second > 0xDFFF) return {};
    utf8::append(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
    return {out, kLongestEscape};
}

// The top-level members of events and replies. Their values may be anything.
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
// Members with words of the protocol as values, and these words.
constexpr std::string_view kNamesOfWords[] = {"version", "type", "level", "requestId", "timestamp"};
constexpr std::string_view kWords[] = {
    "0",    "log",   "state_patch", "asset", "ui_event", "error", "narrative_choice",
    "done", "debug", "info",        "warn"};
// Longer than any of these words, a time or an id.
constexpr size_t kLongestWord = 64;
constexpr size_t kLongestNumber = 256;
// The replacement outside of a string, in the place of a value.
constexpr std::string_view kQuotedRedacted = "\"***\"";
// The shortest id that is not redacted.
constexpr size_t kShortestId = 20;
// A shorter secret, such as 2026, may be part of a time by chance.
constexpr size_t kShortestInTime = 8;

template <size_t kCount>
bool is_one_of(const std::string_view (&list)[kCount], std::string_view text) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

bool is_id(std::string_view text) {
    return text.size() >= kShortestId &&
           text.find_first_not_of("0123456789abcdefABCDEF-") == std::string_view::npos;
}

// 2026-11-23T09:00:00, a fraction of at most nine digits, and Z or +01:00.
bool is_time(std::string_view text) {
    constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
    constexpr std::string_view kOffset = "+dd:dd";
    constexpr size_t kMostDigits = 9;
    const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
    const auto fits = [&](std::string_view part, std::string_view form) {
        return part.size() == form.size() &&
               std::equal(part.begin(), part.end(), form.begin(), [&](char byte, char wanted) {
                   if (wanted == 'd') return is_digit(byte);
                   return byte == wanted || (wanted == '+' && byte == '-');
               });
    };
    if (!fits(text.substr(0, kForm.size()), kForm)) return false;
    text.remove_prefix(kForm.size());
    if (text.starts_with('.')) {
        size_t end = 1;
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end == 1 || end > kMostDigits + 1) return false;
        text.remove_prefix(end);
    }
    return text == "Z" || fits(text, kOffset);
}

// True for text that consists of JSON punctuation. Its replacement outside of strings would make
// most lines invalid.
bool is_punctuation(std::string_view text) {
    return text.find_first_not_of("{}[],:\" \t\r\n") == std::string_view::npos;
}

bool is_number(std::string_view word) {
    return (word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) &&
           word.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

}  // namespace

Redactor::Redactor(const std::vector<std::string>& secrets, Kind kind) : kind_(kind) {
    for (const std::string& secret : secrets) {
        if (!is_replaced(secret)) continue;
        secrets_.push_back(secret);
        std::string quoted;
        json::append_string(quoted, secret);
        const std::string inside = quoted.substr(1, quoted.size() - 2);
        for (std::string form : {inside, with_ascii_only(inside), secret}) {
            const bool is_new =
                std::none_of(patterns_.begin(), patterns_.end(),
                             [&](const Pattern& each) { return each.text == form; });
            if (!form.empty() && is_new) patterns_.push_back({form, is_punctuation(form)});
        }
    }
    std::stable_sort(secrets_.begin(), secrets_.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
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
        const Step step = kind_ == Kind::Text || is_text_line_ ? take_text()
                          : in_string_                         ? take_in_string()
                                                               : take_outside();
        if (step == Step::Wait) break;
    }
    held_.erase(0, at_);
}

void Redactor::take(size_t size) {
    out_.append(held_, at_, size);
    at_ += size;
}

void Redactor::begin_line() {
    in_string_ = is_text_line_ = top_is_object_ = expects_key_ = false;
    depth_ = 0;
    key_.clear();
}

Redactor::Found Redactor::find_at(size_t at, size_t longer_than) const {
    if (in_string_) return find_in_string(at);
    const std::string_view rest = std::string_view(held_).substr(at);
    if (rest.empty() || !starts_pattern_[static_cast<unsigned char>(rest.front())]) return {};
    const bool is_structure = kind_ == Kind::Json && !is_text_line_;
    for (const Pattern& pattern : patterns_) {
        if (pattern.text.size() <= longer_than) break;
        if (is_structure && pattern.is_punctuation) continue;
        if (rest.starts_with(pattern.text)) return {.size = pattern.text.size()};
        // A longer pattern may still be incomplete, so a shorter one must wait.
        if (!is_at_end_ && rest.size() < pattern.text.size() &&
            std::string_view(pattern.text).starts_with(rest)) {
            return {.may_come = true};
        }
    }
    return {};
}

Redactor::Found Redactor::find_in_string(size_t at) const {
    const std::string_view rest = std::string_view(held_).substr(at);
    const bool is_escape = rest.starts_with('\\');
    for (const std::string& secret : secrets_) {
        if (!is_escape && !rest.starts_with(secret.front())) continue;
        size_t compared = 0;  // bytes of the secret
        size_t read = 0;      // bytes of the string
        while (compared < secret.size() && read < rest.size()) {
            const Character next = character_at(rest.substr(read));
            if (next.size == 0) break;
            if (!std::string_view(secret).substr(compared).starts_with(next.text)) break;
            compared += next.text.size();
            read += next.size;
        }
        if (compared == secret.size()) return {.size = read};
        if (is_at_end_) continue;
        // A longer secret may still be incomplete, so a shorter one must wait.
        const std::string_view left = rest.substr(read);
        if (left.empty() || (left.front() == '\\' && left.size() < kLongestEscape &&
                             left.find_first_of("\"\n", 1) == std::string_view::npos &&
                             character_at(left).size == 0)) {
            return {.may_come = true};
        }
    }
    return {};
}

void Redactor::replace(size_t size, std::string_view text) {
    out_ += text;
    at_ += size;
}

// Consumes a secret or one byte.
Redactor::Step Redactor::take_text() {
    const Found found = find_at(at_, 0);
    if (found.may_come) return Step::Wait;
    if (found.size > 0) {
        replace(found.size, kRedacted);
        return Step::Done;
    }
    if (held_[at_] == '\n') begin_line();
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
        // A line feed is invalid in a JSON string. The next line may be valid again.
        begin_line();
        take(1);
        return Step::Done;
    }
    if (byte != '\\') return take_text();
    // An escape is consumed as a whole: a part of one would be invalid JSON.
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
    if (byte == '"') return take_string();
    if (std::string_view("{}[],: \t\r\n").find(byte) == std::string_view::npos) return take_word();
    // A secret that begins with such a byte and was printed verbatim.
    const Found found = find_at(at_, 0);
    if (found.may_come) return Step::Wait;
    if (found.size > 0) {
        replace(found.size, kQuotedRedacted);
        return Step::Done;
    }
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
        case '\n': begin_line(); break;
        default: break;
    }
    take(1);
    return Step::Done;
}

// Called at the start of a string.
Redactor::Step Redactor::take_string() {
    const bool is_name = depth_ == 1 && expects_key_;
    const bool is_word = depth_ == 1 && !expects_key_ && is_one_of(kNamesOfWords, key_);
    size_t size_of_word = 0;  // with the quotes; 0: the string may be redacted
    if (is_name || is_word) {
        const size_t end = held_.find('"', at_ + 1);
        const size_t size = std::min(end, held_.size()) - at_ - 1;
        if (end == std::string::npos && size < kLongestWord && !is_at_end_) return Step::Wait;
        const std::string_view text = std::string_view(held_).substr(at_ + 1, size);
        const bool stays = is_name ? is_one_of(kNames, text) : is_word_of_protocol(text);
        if (stays && end != std::string::npos) size_of_word = size + 2;
        if (is_name) key_ = stays ? text : std::string_view();
    }
    // A secret that begins with a quote and was printed verbatim.
    const Found found = find_at(at_, size_of_word);
    if (found.may_come) return Step::Wait;
    if (found.size > 0) {
        replace(found.size, kQuotedRedacted);
        return Step::Done;
    }
    if (size_of_word > 0) {
        take(size_of_word);
        return Step::Done;
    }
    in_string_ = true;
    take(1);
    return Step::Done;
}

bool Redactor::is_word_of_protocol(std::string_view text) const {
    if (is_one_of(kWords, text)) return true;
    if (!is_time(text)) return is_id(text) && !has_secret(text, 0);
    return !has_secret(text, kShortestInTime);
}

bool Redactor::has_secret(std::string_view text, size_t shortest) const {
    return std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& each) {
        return each.text.size() >= shortest && text.find(each.text) != std::string_view::npos;
    });
}

// Consumes a number, true, false or null. Any other word makes the rest of the line text.
Redactor::Step Redactor::take_word() {
    if (std::string_view("-0123456789tfn").find(held_[at_]) == std::string_view::npos) {
        is_text_line_ = true;
        return take_text();
    }
    std::string_view word = std::string_view(held_).substr(at_, kLongestNumber);
    const size_t end = word.find_first_of("{}[],:\" \t\r\n");
    if (end == std::string_view::npos && word.size() < kLongestNumber && !is_at_end_) {
        return Step::Wait;
    }
    word = word.substr(0, end);
    const bool is_literal = word == "true" || word == "false" || word == "null";
    if (!is_literal && !is_number(word)) {
        is_text_line_ = true;
        return take_text();
    }
    if (!is_literal && has_secret(word, 0)) {
        replace(word.size(), kQuotedRedacted);
        return Step::Done;
    }
    // A secret may begin in the word and continue after it.
    for (size_t before = 0; before < word.size(); ++before) {
        const Found found = find_at(at_ + before, word.size() - before);
        if (found.may_come) return Step::Wait;
        if (found.size == 0) continue;
        take(before);
        replace(found.size, kRedacted);
        return Step::Done;
    }
    take(word.size());
    return Step::Done;
}

}  // namespace narratoria::process
