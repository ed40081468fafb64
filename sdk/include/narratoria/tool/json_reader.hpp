// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading JSON.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "json_value.hpp"

namespace narratoria::tool::json {

/// Arrays and objects nested deeper than this are refused, as by the runtime.
inline constexpr std::size_t kDeepestNesting = 512;

/// The text is not JSON (RFC 8259). `offset()` is the byte where the error was detected, from 0.
class ParseError : public std::runtime_error {
public:
    ParseError(std::size_t offset, const std::string& what)
        : std::runtime_error(what + " at byte " + std::to_string(offset)), offset_(offset) {}

    std::size_t offset() const noexcept { return offset_; }

private:
    std::size_t offset_;
};

/// Reads one JSON document strictly: RFC 8259, UTF-8, no lone surrogates, nothing after the value. Of
/// a repeated name in an object, the last value is kept. Use `json::parse`.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    /// Also records the bytes of the value of this member of the outermost object.
    Reader(std::string_view text, std::string_view captured_member)
        : text_(text), captured_member_(captured_member) {}

    Value document() {
        Value value = read_value(0);
        skip_blanks();
        if (at_ != text_.size()) {
            fail("extra content follows the JSON value");
        }
        return value;
    }

    /// The recorded member's text, verbatim; empty if the document has no such member.
    std::string_view captured() const noexcept { return captured_; }

private:
    [[noreturn]] void fail(const std::string& what) const { throw ParseError(at_, what); }

    bool next_is(char expected) const noexcept {
        return at_ < text_.size() && text_[at_] == expected;
    }

    bool take(char expected) noexcept {
        if (!next_is(expected)) {
            return false;
        }
        ++at_;
        return true;
    }

    bool next_is_digit() const noexcept {
        return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
    }

    void skip_blanks() noexcept {
        while (next_is(' ') || next_is('\t') || next_is('\n') || next_is('\r')) {
            ++at_;
        }
    }

    Value read_value(std::size_t depth) {
        skip_blanks();
        if (at_ == text_.size()) {
            fail("the text ends where a JSON value is expected");
        }
        switch (text_[at_]) {
            case '{': return read_object(depth + 1);
            case '[': return read_array(depth + 1);
            case '"': return Value(read_string());
            case 't': return read_word("true", Value(true));
            case 'f': return read_word("false", Value(false));
            case 'n': return read_word("null", Value());
            default: return read_number();
        }
    }

    Value read_word(std::string_view word, Value value) {
        if (text_.substr(at_, word.size()) != word) {
            fail("expected a JSON value");
        }
        at_ += word.size();
        return value;
    }

    void enter(std::size_t depth) {
        if (depth > kDeepestNesting) {
            fail("arrays and objects are nested deeper than " + std::to_string(kDeepestNesting));
        }
        ++at_;
    }

    Value read_array(std::size_t depth) {
        enter(depth);
        Value array;
        auto& elements = array.held_.emplace<std::vector<Value>>();
        skip_blanks();
        if (take(']')) {
            return array;
        }
        do {
            elements.push_back(read_value(depth));
            skip_blanks();
        } while (take(','));
        if (!take(']')) {
            fail("expected a comma or ]");
        }
        return array;
    }

    Value read_object(std::size_t depth) {
        enter(depth);
        Value object;
        auto& members = object.held_.emplace<Value::Members>();
        skip_blanks();
        if (take('}')) {
            return object;
        }
        do {
            skip_blanks();
            if (!next_is('"')) {
                fail("expected the name of a member in quotes");
            }
            members.names.push_back(read_string());
            skip_blanks();
            if (!take(':')) {
                fail("expected a colon after the name of a member");
            }
            skip_blanks();
            const std::size_t begin = at_;
            members.values.push_back(read_value(depth));
            if (depth == 1 && !captured_member_.empty() &&
                members.names.back() == captured_member_) {
                captured_ = text_.substr(begin, at_ - begin);
            }
            skip_blanks();
        } while (take(','));
        if (!take('}')) {
            fail("expected a comma or }");
        }
        drop_repeated(members);
        return object;
    }

    /// Sorts once at the end, so that a large object costs n log n instead of n².
    static void drop_repeated(Value::Members& members) {
        if (members.names.size() < 2) {
            return;
        }
        std::vector<std::size_t> order(members.names.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
            return members.names[left] < members.names[right];
        });
        std::vector<bool> dropped(order.size(), false);
        bool any = false;
        for (std::size_t index = 1; index < order.size(); ++index) {
            if (members.names[order[index - 1]] == members.names[order[index]]) {
                // Keep the position of the first and the value of the last.
                members.values[order[index - 1]] = std::move(members.values[order[index]]);
                dropped[order[index]] = true;
                order[index] = order[index - 1];
                any = true;
            }
        }
        if (!any) {
            return;
        }
        std::size_t count = 0;
        for (std::size_t index = 0; index < dropped.size(); ++index) {
            if (dropped[index]) {
                continue;
            }
            if (count != index) {
                members.names[count] = std::move(members.names[index]);
                members.values[count] = std::move(members.values[index]);
            }
            ++count;
        }
        members.names.resize(count);
        members.values.resize(count);
    }

    Value read_number() {
        const std::size_t begin = at_;
        bool whole = true;
        take('-');
        if (!next_is_digit()) {
            fail("expected a JSON value");
        }
        if (!take('0')) {
            skip_digits();
        }
        if (take('.')) {
            whole = false;
            require_digits();
        }
        if (take('e') || take('E')) {
            whole = false;
            if (!take('+')) {
                take('-');
            }
            require_digits();
        }
        const std::string_view token = text_.substr(begin, at_ - begin);
        const char* const first = token.data();
        const char* const last = first + token.size();
        // "-0" is not stored as an integer, which would lose its sign.
        if (whole && token != "-0") {
            std::int64_t number = 0;
            if (std::from_chars(first, last, number).ec == std::errc{}) {
                return Value(number);
            }
            std::uint64_t large = 0;
            if (token.front() != '-' && std::from_chars(first, last, large).ec == std::errc{}) {
                return Value(large);
            }
        }
        return real_number(begin, token);
    }

    Value real_number(std::size_t begin, std::string_view token) const {
        double number = 0;
#if defined(__cpp_lib_to_chars)
        const auto read = std::from_chars(token.data(), token.data() + token.size(), number);
        const bool in_range = read.ec == std::errc{};
#else
        std::istringstream digits{std::string(token)};
        digits.imbue(std::locale::classic());
        digits >> number;
        const bool in_range = !digits.fail();
#endif
        if (in_range) {
            return Value(number);
        }
        if (is_tiny(token)) {
            return Value(token.front() == '-' ? -0.0 : 0.0);
        }
        throw ParseError(begin, "the number is too large for a double");
    }

    /// True if a number outside the range of double is too close to zero, false if it is too large.
    static bool is_tiny(std::string_view token) {
        const std::size_t mark = std::min(token.find_first_of("eE"), token.size());
        const std::string_view digits = token.substr(0, mark);
        const std::size_t significant = digits.find_first_of("123456789");
        if (significant == std::string_view::npos) {
            return true;
        }
        const std::size_t point = std::min(digits.find('.'), digits.size());
        const double scale = static_cast<double>(point) - static_cast<double>(significant);
        double exponent = 0;
        for (const char digit : token.substr(mark)) {
            if (digit >= '0' && digit <= '9') {
                exponent = exponent * 10 + (digit - '0');
            }
        }
        const bool negative = mark + 1 < token.size() && token[mark + 1] == '-';
        return scale + (negative ? -exponent : exponent) < 0;
    }

    void skip_digits() noexcept {
        while (next_is_digit()) {
            ++at_;
        }
    }

    void require_digits() {
        if (!next_is_digit()) {
            fail("expected a digit");
        }
        skip_digits();
    }

    std::string read_string() {
        std::string out;
        ++at_;
        for (;;) {
            if (at_ == text_.size()) {
                fail("the text ends inside a string");
            }
            const auto byte = static_cast<unsigned char>(text_[at_]);
            if (byte == '"') {
                ++at_;
                return out;
            }
            if (byte == '\\') {
                ++at_;
                read_escape(out);
                continue;
            }
            if (byte < 0x20) {
                fail("a control character must be escaped in a string");
            }
            const Utf8Step step = utf8_step(text_, at_);
            if (!step.well_formed) {
                fail("a string is not valid UTF-8");
            }
            out.append(text_, at_, step.length);
            at_ += step.length;
        }
    }

    void read_escape(std::string& out) {
        static constexpr std::string_view kNames = "\"\\/bfnrt";
        static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        if (take('u')) {
            append_utf8(out, read_code_point());
            return;
        }
        const std::size_t which =
            at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
        if (which == std::string_view::npos) {
            fail("a string has an unknown escape");
        }
        out += kMeanings[which];
        ++at_;
    }

    std::uint32_t read_code_point() {
        const std::size_t begin = at_;
        const std::uint32_t unit = read_four_digits();
        if (unit < 0xD800 || unit > 0xDFFF) {
            return unit;
        }
        if (unit <= 0xDBFF && take('\\') && take('u')) {
            const std::uint32_t second = read_four_digits();
            if (second >= 0xDC00 && second <= 0xDFFF) {
                return 0x10000 + ((unit - 0xD800) << 10U) + (second - 0xDC00);
            }
        }
        throw ParseError(begin, "a string has a lone surrogate");
    }

    std::uint32_t read_four_digits() {
        std::uint32_t unit = 0;
        const std::string_view digits = text_.substr(at_, 4);
        const char* const end = digits.data() + digits.size();
        const auto read = std::from_chars(digits.data(), end, unit, 16);
        if (digits.size() != 4 || read.ec != std::errc{} || read.ptr != end) {
            fail("\\u needs four hexadecimal digits");
        }
        at_ += 4;
        return unit;
    }

    static void append_utf8(std::string& out, std::uint32_t code) {
        const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
        if (code < 0x80) {
            put(code);
        } else if (code < 0x800) {
            put(0xC0U | (code >> 6U));
            put(0x80U | (code & 0x3FU));
        } else if (code < 0x10000) {
            put(0xE0U | (code >> 12U));
            put(0x80U | ((code >> 6U) & 0x3FU));
            put(0x80U | (code & 0x3FU));
        } else {
            put(0xF0U | (code >> 18U));
            put(0x80U | ((code >> 12U) & 0x3FU));
            put(0x80U | ((code >> 6U) & 0x3FU));
            put(0x80U | (code & 0x3FU));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string_view captured_member_;
    std::string_view captured_;
};

/// Parses `text` as one JSON value. Throws `ParseError`.
inline Value parse(std::string_view text) { return Reader(text).document(); }

}  // namespace narratoria::tool::json
