// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything a tool written in C++ needs, in one header: read the invocation, emit events, end well.
///
/// A tool is a program. The runtime starts it, writes one JSON object (the *invocation*, spec 000 §6)
/// to its standard input, and reads *events* from its standard output, one JSON object a line
/// (spec 000 §2–§4). The last event is `done`. A complete tool:
///
/// ```cpp
/// #include <narratoria/tool.hpp>
///
/// namespace tool = narratoria::tool;
/// namespace json = narratoria::tool::json;
///
/// int main() {
///     return tool::run([](const tool::Invocation& invocation, tool::Events& events) {
///         const std::string who = invocation.string_or("/who", "stranger");
///         events.log(tool::Level::info, "Greeting " + who);
///         events.patch(json::object({{"greeted", json::object({{"name", who}, {"times", 1}})}}));
///         events.done(true, "Greeted " + who + ".");
///     });
/// }
/// ```
///
/// It needs a POSIX system and C++17 or later, and nothing is linked: copy the file, or add the
/// include folder of the SDK. It does not include, and is not tied to, any other header of the SDK.
///
/// **Text** is UTF-8 on both sides. What a tool hands over need not be: each ill-formed sequence
/// leaves as U+FFFD, so that no file name and no foreign message can break the protocol. What
/// arrives is checked strictly.
///
/// **Errors.** Every function throws on failure; `run` turns what is thrown into an `error` event and
/// `done` with `ok: false`. Throw a `Failure` to choose the error's code. What can be thrown:
///
/// | exception             | thrown by                                          | code of the error event |
/// |-----------------------|----------------------------------------------------|-------------------------|
/// | `Failure`             | the tool itself                                    | its own                 |
/// | `InvalidInput`        | reading the invocation or a member of its `input`  | `INVALID_INPUT`         |
/// | anything else         | the tool; an event that breaks the rules           | `TOOL_EXCEPTION`        |
/// | `OutputLost`          | emitting, when the runtime cannot be written to    | none can be sent        |
///
/// **Ownership.** All types own what they hold; references and pointers that accessors return live as
/// long as the object they came from, and until it is changed.
///
/// **Threads.** Events may be emitted from several threads at once, each arrives as a whole line.
/// Everything else follows the usual rule: shared reading is fine, writing is not.

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <limits>
#include <locale>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

namespace narratoria::tool {

// -------------------------------------------------------------------------------------------------
// JSON
// -------------------------------------------------------------------------------------------------

namespace json {

/// Arrays and objects inside one another beyond this depth are refused, as the runtime refuses them.
inline constexpr std::size_t kDeepestNesting = 512;

/// The text is not JSON (RFC 8259). `offset()` is the byte at which that became clear, from 0.
class ParseError : public std::runtime_error {
public:
    ParseError(std::size_t offset, const std::string& what)
        : std::runtime_error(what + " at byte " + std::to_string(offset)), offset_(offset) {}

    std::size_t offset() const noexcept { return offset_; }

private:
    std::size_t offset_;
};

enum class Kind { null, boolean, number, string, array, object };

/// The name of a kind as a person would say it, with its article: "a string", "an object", "null".
inline const char* name_of(Kind kind) noexcept {
    switch (kind) {
        case Kind::boolean: return "a boolean";
        case Kind::number: return "a number";
        case Kind::string: return "a string";
        case Kind::array: return "an array";
        case Kind::object: return "an object";
        case Kind::null: break;
    }
    return "null";
}

/// One JSON value. Implicitly made from `nullptr`, booleans, numbers and strings; arrays and objects
/// come from `json::array` and `json::object`. Objects keep the order in which members were added.
/// Integers of 64 bits, signed or not, keep every digit.
class Value {
public:
    Value() noexcept : held_(nullptr) {}
    Value(std::nullptr_t) noexcept : held_(nullptr) {}
    Value(const char* text) : held_(std::string(text)) {}
    Value(std::string text) : held_(std::move(text)) {}
    Value(std::string_view text) : held_(std::string(text)) {}

    /// Any number or `bool`. Infinities and NaN have no JSON form and become null.
    template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
    Value(Number number) {
        if constexpr (std::is_same_v<Number, bool>) {
            held_ = number;
        } else if constexpr (std::is_floating_point_v<Number>) {
            if (std::isfinite(number)) {
                held_ = static_cast<double>(number);
            }
        } else if constexpr (std::is_signed_v<Number>) {
            held_ = static_cast<std::int64_t>(number);
        } else if (static_cast<std::uint64_t>(number) <= kLargestSigned) {
            held_ = static_cast<std::int64_t>(number);
        } else {
            held_ = static_cast<std::uint64_t>(number);
        }
    }

    /// A pointer is no JSON value; without this it would quietly become `true`.
    template <class Pointee>
    Value(Pointee*) = delete;

    Kind kind() const noexcept {
        switch (held_.index()) {
            case 1: return Kind::boolean;
            case 2:
            case 3:
            case 4: return Kind::number;
            case 5: return Kind::string;
            case 6: return Kind::array;
            case 7: return Kind::object;
            default: return Kind::null;
        }
    }

    bool is_null() const noexcept { return kind() == Kind::null; }

    /// The value, or null when this is of another kind.
    const bool* if_boolean() const noexcept { return std::get_if<bool>(&held_); }
    const std::string* if_string() const noexcept { return std::get_if<std::string>(&held_); }

    /// Puts the number into `number` and returns true; false when this is no number.
    bool get_number(double& number) const noexcept {
        if (const auto* whole = std::get_if<std::int64_t>(&held_)) {
            number = static_cast<double>(*whole);
        } else if (const auto* large = std::get_if<std::uint64_t>(&held_)) {
            number = static_cast<double>(*large);
        } else if (const auto* real = std::get_if<double>(&held_)) {
            number = *real;
        } else {
            return false;
        }
        return true;
    }

    /// As `get_number`, for numbers that are whole and fit (`3`, `3.0` and `3e2` are whole).
    bool get_integer(std::int64_t& number) const noexcept {
        if (const auto* whole = std::get_if<std::int64_t>(&held_)) {
            number = *whole;
            return true;
        }
        const auto* real = std::get_if<double>(&held_);
        // 2^63 itself does not fit, and it is the first double above the largest that does.
        if (real == nullptr ||
            !(*real >= -9223372036854775808.0 && *real < 9223372036854775808.0) ||
            std::trunc(*real) != *real) {
            return false;
        }
        number = static_cast<std::int64_t>(*real);
        return true;
    }

    /// The elements of an array, or the values of an object in order; empty for other kinds.
    const std::vector<Value>& elements() const noexcept {
        static const std::vector<Value> none;
        if (const auto* array = std::get_if<std::vector<Value>>(&held_)) {
            return *array;
        }
        const auto* object = std::get_if<Members>(&held_);
        return object != nullptr ? object->values : none;
    }

    /// The names of an object's members; `names()[i]` belongs to `elements()[i]`.
    const std::vector<std::string>& names() const noexcept {
        static const std::vector<std::string> none;
        const auto* object = std::get_if<Members>(&held_);
        return object != nullptr ? object->names : none;
    }

    /// The value that a JSON Pointer (RFC 6901) names, counted from this value: `""` is this value,
    /// `"/a/0"` the first element of its member `a`. Null when there is none.
    const Value* find(std::string_view pointer) const {
        const Value* value = this;
        while (!pointer.empty()) {
            if (pointer.front() != '/') {
                throw std::invalid_argument("JSON Pointer \"" + std::string(pointer) +
                                            "\" must be empty or begin with a slash (RFC 6901)");
            }
            pointer.remove_prefix(1);
            const std::string_view token = pointer.substr(0, pointer.find('/'));
            pointer.remove_prefix(token.size());
            value = value->kind() == Kind::array ? value->element_named(token)
                                                 : value->member(unescaped(token));
            if (value == nullptr) {
                return nullptr;
            }
        }
        return value;
    }

    /// The member of that name; null when there is none or this is no object.
    const Value* member(std::string_view name) const noexcept {
        const std::vector<std::string>& all = names();
        const auto found = std::find(all.begin(), all.end(), name);
        return found == all.end() ? nullptr : &elements()[index_of(all, found)];
    }

    /// Adds a member or replaces the one of that name; its cost grows with the number of members.
    /// Null becomes an object; other kinds throw.
    Value& set(std::string name, Value value) {
        if (is_null()) {
            held_ = Members{};
        }
        auto* object = std::get_if<Members>(&held_);
        if (object == nullptr) {
            throw std::logic_error(std::string("a member was set on ") + name_of(kind()));
        }
        const auto found = std::find(object->names.begin(), object->names.end(), name);
        if (found != object->names.end()) {
            object->values[index_of(object->names, found)] = std::move(value);
        } else {
            object->names.push_back(std::move(name));
            object->values.push_back(std::move(value));
        }
        return *this;
    }

    /// Adds an element at the end. Null becomes an array; other kinds throw.
    Value& append(Value value) {
        if (is_null()) {
            held_ = std::vector<Value>{};
        }
        auto* array = std::get_if<std::vector<Value>>(&held_);
        if (array == nullptr) {
            throw std::logic_error(std::string("an element was appended to ") + name_of(kind()));
        }
        array->push_back(std::move(value));
        return *this;
    }

    /// The value as JSON on one line, without blanks, valid UTF-8 whatever the strings hold.
    std::string text() const {
        std::string out;
        append_text(out);
        return out;
    }

    /// As `text`, added to the end of `out`.
    void append_text(std::string& out) const;

private:
    friend class Reader;
    friend Value array(std::initializer_list<Value>);
    friend Value object(std::initializer_list<std::pair<std::string, Value>>);

    /// Two vectors rather than one of pairs: `Value` is not complete yet, and only a vector of it
    /// may be named here.
    struct Members {
        std::vector<std::string> names;
        std::vector<Value> values;
    };

    static constexpr std::uint64_t kLargestSigned =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

    static std::size_t index_of(const std::vector<std::string>& all,
                                std::vector<std::string>::const_iterator position) noexcept {
        return static_cast<std::size_t>(position - all.begin());
    }

    static std::string unescaped(std::string_view token) {
        std::string name;
        for (std::size_t at = 0; at < token.size(); ++at) {
            if (token[at] != '~') {
                name += token[at];
                continue;
            }
            const char code = at + 1 < token.size() ? token[at + 1] : '\0';
            if (code != '0' && code != '1') {
                throw std::invalid_argument("JSON Pointer token \"" + std::string(token) +
                                            "\": ~ must be followed by 0 or 1 (RFC 6901)");
            }
            name += code == '0' ? '~' : '/';
            ++at;
        }
        return name;
    }

    const Value* element_named(std::string_view token) const noexcept {
        std::size_t index = 0;
        const char* const end = token.data() + token.size();
        const auto [rest, fault] = std::from_chars(token.data(), end, index);
        const bool leading_zero = token.size() > 1 && token.front() == '0';
        if (fault != std::errc{} || rest != end || leading_zero || index >= elements().size()) {
            return nullptr;
        }
        return &elements()[index];
    }

    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                 std::vector<Value>, Members>
        held_;
};

/// `object({{"name", "torch"}, {"lit", true}})`; a name that comes twice keeps the last value.
inline Value object(std::initializer_list<std::pair<std::string, Value>> members = {}) {
    Value made;
    made.held_ = Value::Members{};
    for (const auto& [name, value] : members) {
        made.set(name, value);
    }
    return made;
}

/// `array({"Open", "Leave"})`.
inline Value array(std::initializer_list<Value> elements = {}) {
    Value made;
    made.held_ = std::vector<Value>(elements);
    return made;
}

/// What stands at one place of a UTF-8 text: a character of `length` bytes, or, when not
/// `well_formed`, that many bytes which one U+FFFD replaces (Unicode 15 §3.9, "maximal subparts").
struct Utf8Step {
    std::size_t length;
    bool well_formed;
};

inline Utf8Step utf8_step(std::string_view text, std::size_t at) noexcept {
    const auto byte = [text](std::size_t index) {
        return static_cast<unsigned>(static_cast<unsigned char>(text[index]));
    };
    const unsigned lead = byte(at);
    if (lead < 0x80) {
        return {1, true};
    }
    // The second byte's range excludes overlong forms, surrogates and what is above U+10FFFF.
    std::size_t following = 0;
    unsigned lowest = 0x80;
    unsigned highest = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
        following = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        following = 2;
        lowest = lead == 0xE0 ? 0xA0 : lowest;
        highest = lead == 0xED ? 0x9F : highest;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        following = 3;
        lowest = lead == 0xF0 ? 0x90 : lowest;
        highest = lead == 0xF4 ? 0x8F : highest;
    } else {
        return {1, false};
    }
    for (std::size_t index = 1; index <= following; ++index) {
        if (at + index >= text.size() || byte(at + index) < lowest || byte(at + index) > highest) {
            return {index, false};
        }
        lowest = 0x80;
        highest = 0xBF;
    }
    return {following + 1, true};
}

/// Adds `text` to `out` as a JSON string with its quotes, ill-formed UTF-8 replaced by U+FFFD.
inline void append_quoted(std::string& out, std::string_view text) {
    static constexpr char kDigits[] = "0123456789abcdef";
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Step step = utf8_step(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        if (!step.well_formed) {
            out += "\xEF\xBF\xBD";
        } else if (byte == '"' || byte == '\\') {
            out += '\\';
            out += text[at];
        } else if (byte == '\n') {
            out += "\\n";
        } else if (byte == '\t') {
            out += "\\t";
        } else if (byte == '\r') {
            out += "\\r";
        } else if (byte < 0x20) {
            out += "\\u00";
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 0xFU];
        } else {
            out.append(text, at, step.length);
        }
        at += step.length;
    }
    out += '"';
}

/// The shortest text that reads back as the same number, in every locale.
inline void append_number(std::string& out, double number) {
#if defined(__cpp_lib_to_chars)
    char digits[32];
    const auto written = std::to_chars(digits, digits + sizeof digits, number);
    out.append(digits, written.ptr);
#else
    std::ostringstream digits;
    digits.imbue(std::locale::classic());
    digits.precision(std::numeric_limits<double>::max_digits10);
    digits << number;
    out += digits.str();
#endif
}

inline void Value::append_text(std::string& out) const {
    if (const auto* flag = std::get_if<bool>(&held_)) {
        out += *flag ? "true" : "false";
    } else if (const auto* whole = std::get_if<std::int64_t>(&held_)) {
        out += std::to_string(*whole);
    } else if (const auto* large = std::get_if<std::uint64_t>(&held_)) {
        out += std::to_string(*large);
    } else if (const auto* real = std::get_if<double>(&held_)) {
        append_number(out, *real);
    } else if (const auto* string = std::get_if<std::string>(&held_)) {
        append_quoted(out, *string);
    } else if (const auto* array = std::get_if<std::vector<Value>>(&held_)) {
        out += '[';
        for (std::size_t index = 0; index < array->size(); ++index) {
            out += index == 0 ? "" : ",";
            (*array)[index].append_text(out);
        }
        out += ']';
    } else if (const auto* object = std::get_if<Members>(&held_)) {
        out += '{';
        for (std::size_t index = 0; index < object->names.size(); ++index) {
            out += index == 0 ? "" : ",";
            append_quoted(out, object->names[index]);
            out += ':';
            object->values[index].append_text(out);
        }
        out += '}';
    } else {
        out += "null";
    }
}

/// Reads one JSON document, strictly: RFC 8259, UTF-8, no lone surrogates, nothing after the value.
/// A name that comes twice in an object keeps its last value. Use `json::parse`.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    /// Also notes which bytes hold the value of that member of the outermost object.
    Reader(std::string_view text, std::string_view noted_member)
        : text_(text), noted_member_(noted_member) {}

    Value document() {
        Value value = read_value(0);
        skip_blanks();
        if (at_ != text_.size()) {
            fail("there is more text after the JSON value");
        }
        return value;
    }

    /// The noted member's text, verbatim; empty when the document has no such member.
    std::string_view noted() const noexcept { return noted_; }

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
            fail("the text ends where a JSON value should stand");
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
            fail("no JSON value begins like this");
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
            fail("an array needs a comma or ] here");
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
                fail("an object needs the name of a member, in quotes, here");
            }
            members.names.push_back(read_string());
            skip_blanks();
            if (!take(':')) {
                fail("the name of a member needs a colon after it");
            }
            skip_blanks();
            const std::size_t begin = at_;
            members.values.push_back(read_value(depth));
            if (depth == 1 && !noted_member_.empty() && members.names.back() == noted_member_) {
                noted_ = text_.substr(begin, at_ - begin);
            }
            skip_blanks();
        } while (take(','));
        if (!take('}')) {
            fail("an object needs a comma or } here");
        }
        drop_repeated(members);
        return object;
    }

    /// Sorted once at the end, so that a huge object costs n log n and not n².
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
                // The first keeps its place in the order, the last its value.
                members.values[order[index - 1]] = std::move(members.values[order[index]]);
                dropped[order[index]] = true;
                order[index] = order[index - 1];
                any = true;
            }
        }
        if (!any) {
            return;
        }
        std::size_t kept = 0;
        for (std::size_t index = 0; index < dropped.size(); ++index) {
            if (dropped[index]) {
                continue;
            }
            if (kept != index) {
                members.names[kept] = std::move(members.names[index]);
                members.values[kept] = std::move(members.values[index]);
            }
            ++kept;
        }
        members.names.resize(kept);
        members.values.resize(kept);
    }

    Value read_number() {
        const std::size_t begin = at_;
        bool whole = true;
        take('-');
        if (!next_is_digit()) {
            fail("no JSON value begins like this");
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
        // "-0" is no integer: its sign would be lost.
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

    /// Whether a number that no double holds is too near to zero, and not too far from it.
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
            fail("a number needs a digit here");
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
    std::string_view noted_member_;
    std::string_view noted_;
};

/// The value that `text` holds. Throws `ParseError`.
inline Value parse(std::string_view text) { return Reader(text).document(); }

}  // namespace json

// -------------------------------------------------------------------------------------------------
// Failures
// -------------------------------------------------------------------------------------------------

/// Thrown by a tool that cannot do what it was asked: `run` emits it as an `error` event (spec 000
/// §4.5) and ends with `done`, `ok: false`. The code is for programs (`TORCH_WET`), the message for
/// people; `details` may be an object.
class Failure : public std::runtime_error {
public:
    Failure(std::string code, const std::string& message, json::Value details = {})
        : std::runtime_error(message), code_(std::move(code)), details_(std::move(details)) {}

    const std::string& code() const noexcept { return code_; }
    const json::Value& details() const noexcept { return details_; }

private:
    std::string code_;
    json::Value details_;
};

/// The invocation, or a member of its `input`, is not what the tool needs; its `details` hold the
/// JSON Pointer. Tools may throw it themselves: `throw InvalidInput("/sides", "must be at least 2")`.
class InvalidInput : public Failure {
public:
    explicit InvalidInput(const std::string& what) : Failure("INVALID_INPUT", what) {}

    InvalidInput(std::string_view pointer, const std::string& what)
        : Failure("INVALID_INPUT", "input " + std::string(pointer) + ": " + what,
                  json::object({{"pointer", pointer}})) {}
};

/// An event could not be written: the runtime has gone, or closed its end. Let it pass through; there
/// is nobody left to tell. (Usually the signal SIGPIPE ends the process before.)
class OutputLost : public std::system_error {
public:
    explicit OutputLost(int error_number)
        : std::system_error(error_number, std::generic_category(),
                            "the event cannot be written to the runtime") {}
};

// -------------------------------------------------------------------------------------------------
// The invocation
// -------------------------------------------------------------------------------------------------

/// What the runtime asks of the tool (spec 000 §6). The accessors take JSON Pointers into `input`,
/// `"/door/name"`. Those that end in `_or` answer the fallback for a member that is missing or
/// null; all throw `InvalidInput`, naming the pointer, for a member of another kind.
class Invocation {
public:
    /// From the text the runtime wrote to standard input. Text without anything but blanks is an
    /// invocation with an empty `input`, so that a tool can be started by hand. Throws `InvalidInput`.
    static Invocation parse(std::string text) {
        Invocation invocation;
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
            return invocation;
        }
        try {
            json::Reader reader(text, "input");
            const json::Value document = reader.document();
            if (document.kind() != json::Kind::object) {
                throw InvalidInput(std::string("the invocation on standard input is ") +
                                   json::name_of(document.kind()) + ", not an object");
            }
            invocation.request_id_ = text_member(document, "requestId");
            invocation.tool_ = text_member(document, "tool");
            invocation.operation_ = text_member(document, "operation");
            invocation.dependencies_ = object_member(document, "dependencies");
            invocation.results_ = object_member(document, "results");
            if (document.member("input") != nullptr) {
                invocation.input_ = object_member(document, "input");
                invocation.input_text_ = std::string(reader.noted());
            }
        } catch (const json::ParseError& fault) {
            throw InvalidInput(std::string("the invocation on standard input is not JSON: ") +
                               fault.what());
        }
        return invocation;
    }

    /// Reads the descriptor to its end. A terminal is not waited for: it counts as empty.
    static Invocation read(int descriptor = STDIN_FILENO) {
        std::string text;
        if (::isatty(descriptor) != 0) {
            return {};
        }
        char buffer[65536];
        for (;;) {
            const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
            if (got > 0) {
                text.append(buffer, static_cast<std::size_t>(got));
            } else if (got < 0 && errno == EAGAIN) {
                pollfd readable{descriptor, POLLIN, 0};
                ::poll(&readable, 1, -1);
            } else if (got < 0 && errno != EINTR) {
                throw InvalidInput("standard input cannot be read: " +
                                   std::generic_category().message(errno));
            } else if (got == 0) {
                break;
            }
        }
        return parse(std::move(text));
    }

    /// Names this invocation; empty when the runtime gave none.
    const std::string& request_id() const noexcept { return request_id_; }
    /// The name under which the tool was called; empty when the runtime gave none.
    const std::string& tool() const noexcept { return tool_; }
    /// Which of the tool's abilities is asked for; empty when the runtime gave none.
    const std::string& operation() const noexcept { return operation_; }
    /// The input, always an object.
    const json::Value& input() const noexcept { return input_; }
    /// The input's own bytes as they came, for a JSON library of the tool's choice.
    const std::string& input_text() const noexcept { return input_text_; }
    /// By toolId, what the tools before this one patched; null for an optional one that failed.
    const json::Value& dependencies() const noexcept { return dependencies_; }
    /// By toolId, the `result` of those tools' `done` events, where they had one.
    const json::Value& results() const noexcept { return results_; }

    bool has(std::string_view pointer) const {
        const json::Value* value = input_.find(pointer);
        return value != nullptr && !value->is_null();
    }

    std::string string(std::string_view pointer) const {
        const std::string* text = required(pointer, json::Kind::string).if_string();
        return *text;
    }
    std::string string_or(std::string_view pointer, std::string fallback) const {
        return has(pointer) ? string(pointer) : std::move(fallback);
    }

    double number(std::string_view pointer) const {
        double number = 0;
        required(pointer, json::Kind::number).get_number(number);
        return number;
    }
    double number_or(std::string_view pointer, double fallback) const {
        return has(pointer) ? number(pointer) : fallback;
    }

    /// A whole number (`2` and `2.0` are); others throw.
    std::int64_t integer(std::string_view pointer) const {
        std::int64_t number = 0;
        const json::Value& value = required(pointer, json::Kind::number);
        if (!value.get_integer(number)) {
            throw InvalidInput(pointer, "must be a whole number of 64 bits, is " + value.text());
        }
        return number;
    }
    std::int64_t integer_or(std::string_view pointer, std::int64_t fallback) const {
        return has(pointer) ? integer(pointer) : fallback;
    }

    bool boolean(std::string_view pointer) const {
        return *required(pointer, json::Kind::boolean).if_boolean();
    }
    bool boolean_or(std::string_view pointer, bool fallback) const {
        return has(pointer) ? boolean(pointer) : fallback;
    }

private:
    const json::Value& required(std::string_view pointer, json::Kind kind) const {
        const json::Value* value = input_.find(pointer);
        if (value == nullptr) {
            throw InvalidInput(pointer, std::string("is missing, must be ") + json::name_of(kind));
        }
        if (value->kind() != kind) {
            throw InvalidInput(pointer, std::string("must be ") + json::name_of(kind) + ", is " +
                                            json::name_of(value->kind()));
        }
        return *value;
    }

    static std::string text_member(const json::Value& document, const char* name) {
        const json::Value* value = document.member(name);
        if (value == nullptr || value->is_null()) {
            return {};
        }
        if (value->if_string() == nullptr) {
            throw InvalidInput(std::string("the invocation's ") + name + " must be a string, is " +
                               json::name_of(value->kind()));
        }
        return *value->if_string();
    }

    static json::Value object_member(const json::Value& document, const char* name) {
        const json::Value* value = document.member(name);
        if (value == nullptr || value->is_null()) {
            return json::object();
        }
        if (value->kind() != json::Kind::object) {
            throw InvalidInput(std::string("the invocation's ") + name + " must be an object, is " +
                               json::name_of(value->kind()));
        }
        return *value;
    }

    std::string request_id_;
    std::string tool_;
    std::string operation_;
    std::string input_text_ = "{}";
    json::Value input_ = json::object();
    json::Value dependencies_ = json::object();
    json::Value results_ = json::object();
};

// -------------------------------------------------------------------------------------------------
// The events
// -------------------------------------------------------------------------------------------------

enum class Level { debug, info, warn, error };

/// The stream of events of one invocation. Each call writes one whole line at once, so an event is
/// with the runtime when the call returns. `fields`, `metadata`, `payload` and `details` are left out
/// when null and must be objects otherwise.
///
/// What the protocol forbids is not sent: an empty message, name or path, something other than an
/// object where one is due, or an event after `done` throws `std::logic_error`.
class Events {
public:
    /// The descriptor stays the caller's, who closes it after this object is gone.
    explicit Events(int descriptor = STDOUT_FILENO) noexcept : descriptor_(descriptor) {}

    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    /// Tells what the tool is doing (spec 000 §4.1).
    void log(Level level, std::string_view message, const json::Value& fields = {}) {
        Line line("log");
        line.string("level", name_of(level));
        line.required("message", message);
        line.object("fields", fields);
        send(line);
    }

    /// A log event whose `fields.progress` says how much is done, from 0 to 1; a fraction outside is
    /// taken as the nearer end.
    void progress(double fraction, std::string_view message, Level level = Level::info) {
        const double shown = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
        log(level, message, json::object({{"progress", shown}}));
    }

    /// Changes the session's state (spec 000 §4.2): objects merge, arrays and other values replace,
    /// null removes.
    void patch(const json::Value& patch) {
        if (patch.kind() != json::Kind::object) {
            throw std::invalid_argument(
                std::string("a state_patch event's patch must be an object, is ") +
                json::name_of(patch.kind()));
        }
        Line line("state_patch");
        line.object("patch", patch);
        send(line);
    }

    /// Announces a file (spec 000 §4.3), which must be complete and readable by now; it stays the
    /// tool's, nobody else deletes it. `id` is unique within the invocation; `kind` a broad category
    /// ("image", "audio"); `media_type` a MIME type ("image/png"); `path` best absolute.
    void asset(std::string_view id, std::string_view kind, std::string_view media_type,
               std::string_view path, const json::Value& metadata = {}) {
        Line line("asset");
        line.required("assetId", id);
        line.required("kind", kind);
        line.required("mediaType", media_type);
        line.required("path", path);
        line.object("metadata", metadata);
        send(line);
    }

    /// Asks the user interface for something (spec 000 §4.4), which may not know it:
    /// `ui_event("narrative_choice", json::object({{"choices", json::array({"Open", "Leave"})}}))`.
    void ui_event(std::string_view event, const json::Value& payload = {}) {
        Line line("ui_event");
        line.required("event", event);
        line.object("payload", payload);
        send(line);
    }

    /// Reports an error (spec 000 §4.5). The invocation goes on; end it with `done(false)`, or throw
    /// a `Failure`, which does both.
    void error(std::string_view code, std::string_view message, const json::Value& details = {}) {
        Line line("error");
        line.required("errorCode", code);
        line.required("errorMessage", message);
        line.object("details", details);
        send(line);
        const std::lock_guard<std::mutex> lock(mutex_);
        had_error_ = true;
    }

    /// Ends the invocation (spec 000 §4.6), once. `result`, of any kind, is what the tool returns to
    /// its caller and to the tools that depend on it; null leaves it out.
    void done(bool ok, std::string_view summary = {}, const json::Value& result = {}) {
        Line line("done");
        line.boolean("ok", ok);
        if (!summary.empty()) {
            line.string("summary", summary);
        }
        if (!result.is_null()) {
            line.value("result", result);
        }
        send(line, true);
    }

    bool is_done() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return done_;
    }

    bool had_error() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return had_error_;
    }

private:
    /// One event while it is put together.
    class Line {
    public:
        explicit Line(std::string_view type) : type_(type) {
            text_ = R"({"version":"0")";
            string("type", type);
        }

        void string(std::string_view name, std::string_view value) {
            begin(name);
            json::append_quoted(text_, value);
        }

        void required(std::string_view name, std::string_view value) {
            if (value.empty()) {
                throw std::invalid_argument(field(name) + " must not be empty");
            }
            string(name, value);
        }

        void object(std::string_view name, const json::Value& value_or_null) {
            if (value_or_null.is_null()) {
                return;
            }
            if (value_or_null.kind() != json::Kind::object) {
                throw std::invalid_argument(field(name) + " must be an object, is " +
                                            json::name_of(value_or_null.kind()));
            }
            value(name, value_or_null);
        }

        void boolean(std::string_view name, bool flag) {
            begin(name);
            text_ += flag ? "true" : "false";
        }

        void value(std::string_view name, const json::Value& any) {
            begin(name);
            any.append_text(text_);
        }

        std::string_view type() const noexcept { return type_; }

        std::string_view finish() {
            text_ += "}\n";
            return text_;
        }

    private:
        void begin(std::string_view name) {
            text_ += ",\"";
            text_ += name;
            text_ += "\":";
        }

        std::string field(std::string_view name) const {
            return "the " + std::string(name) + " of an event of type " + std::string(type_);
        }

        std::string_view type_;
        std::string text_;
    };

    static std::string_view name_of(Level level) noexcept {
        switch (level) {
            case Level::debug: return "debug";
            case Level::warn: return "warn";
            case Level::error: return "error";
            case Level::info: break;
        }
        return "info";
    }

    void send(Line& line, bool last = false) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (done_) {
            throw std::logic_error("an event of type " + std::string(line.type()) +
                                   " was emitted after done, which ends the invocation");
        }
        write_whole(line.finish());
        done_ = last;
    }

    void write_whole(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t written = ::write(descriptor_, text.data(), text.size());
            if (written >= 0) {
                text.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno == EAGAIN) {
                pollfd writable{descriptor_, POLLOUT, 0};
                ::poll(&writable, 1, -1);
            } else if (errno != EINTR) {
                throw OutputLost(errno);
            }
        }
    }

    int descriptor_;
    mutable std::mutex mutex_;
    bool done_ = false;
    bool had_error_ = false;
};

// -------------------------------------------------------------------------------------------------
// Running
// -------------------------------------------------------------------------------------------------

namespace detail {

/// Keeps standard output for events alone: the stream moves to a descriptor of its own that children
/// do not inherit, and what a library or a child prints to standard output lands in the diagnostics
/// on standard error instead of breaking the protocol. Not undone: buffered output may still come
/// when the process exits. Negative when the process has no standard error to move it to.
inline int reserve_standard_output() noexcept {
    const int events = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (events >= 0 && ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        ::close(events);
        return -1;
    }
    return events;
}

template <class Function>
void call(Function& function, int input, Events& events) {
    const auto fail = [&events](std::string_view code, std::string_view message,
                                const json::Value& details) {
        if (events.is_done()) {
            throw std::runtime_error(std::string(message) + " (after done)");
        }
        const std::string_view said = message.empty() ? "no message was given" : message;
        events.error(code.empty() ? "TOOL_FAILURE" : code, said,
                     details.kind() == json::Kind::object ? details : json::Value());
        events.done(false, said);
    };
    try {
        function(Invocation::read(input), events);
        if (!events.is_done()) {
            events.done(!events.had_error());
        }
    } catch (const Failure& failure) {
        fail(failure.code(), failure.what(), failure.details());
    } catch (const OutputLost&) {
        throw;
    } catch (const std::exception& exception) {
        fail("TOOL_EXCEPTION", exception.what(), {});
    } catch (...) {
        fail("TOOL_EXCEPTION", "the tool threw something that is no std::exception", {});
    }
}

}  // namespace detail

/// Runs a tool: reads the invocation, calls `function(const Invocation&, Events&)`, and ends with
/// `done` in every case. A function that returns without `done` gets one, `ok` unless it emitted an
/// error. What it throws becomes an `error` event and `done` with `ok: false`.
///
/// Return the answer from `main`: 0 when the runtime has been told how it ended, 1 when that was not
/// possible (the stream is broken, or the function threw after `done`); standard error says why.
///
/// While it runs, and after, standard output belongs to the events: other output to it, of this
/// process or its children, goes to standard error. Other descriptors can be given for tests.
template <class Function>
int run(Function&& function, int input = STDIN_FILENO, int output = STDOUT_FILENO) {
    const int reserved = output == STDOUT_FILENO ? detail::reserve_standard_output() : -1;
    int status = 0;
    {
        Events events(reserved >= 0 ? reserved : output);
        try {
            detail::call(function, input, events);
        } catch (const std::exception& exception) {
            std::fprintf(stderr, "tool failed: %s\n", exception.what());
            status = 1;
        }
    }
    if (reserved >= 0) {
        ::close(reserved);
    }
    return status;
}

}  // namespace narratoria::tool
