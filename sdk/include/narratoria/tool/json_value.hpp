// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON values, and writing them.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace narratoria::tool::json {

enum class Kind { Null, Boolean, Number, String, Array, Object };

/// The name of a kind for messages, with its article: "a string", "an object", "null".
inline const char* name_of(Kind kind) noexcept {
    switch (kind) {
        case Kind::Boolean: return "a boolean";
        case Kind::Number: return "a number";
        case Kind::String: return "a string";
        case Kind::Array: return "an array";
        case Kind::Object: return "an object";
        case Kind::Null: break;
    }
    return "null";
}

/// One JSON value. Converts implicitly from `nullptr`, booleans, numbers and strings; `json::array`
/// and `json::object` create arrays and objects. Objects keep the order in which members were added.
/// 64-bit integers, signed and unsigned, are exact.
class Value {
public:
    Value() noexcept : held_(nullptr) {}
    Value(std::nullptr_t) noexcept : held_(nullptr) {}
    Value(const char* text) : held_(std::string(text)) {}
    Value(std::string text) : held_(std::move(text)) {}
    Value(std::string_view text) : held_(std::string(text)) {}

    /// Any number or `bool`. Infinities and NaN are not JSON and become null.
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

    /// A pointer is not a JSON value; without this it would convert to `true`.
    template <class Pointee>
    Value(Pointee*) = delete;

    Kind kind() const noexcept {
        switch (held_.index()) {
            case 1: return Kind::Boolean;
            case 2:
            case 3:
            case 4: return Kind::Number;
            case 5: return Kind::String;
            case 6: return Kind::Array;
            case 7: return Kind::Object;
            default: return Kind::Null;
        }
    }

    bool is_null() const noexcept { return kind() == Kind::Null; }

    /// The value, or null if it has a different kind.
    const bool* if_boolean() const noexcept { return std::get_if<bool>(&held_); }
    const std::string* if_string() const noexcept { return std::get_if<std::string>(&held_); }

    /// Stores the number in `number` and returns true; returns false if this is not a number.
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

    /// Like `get_number`, for whole numbers that fit (`3`, `3.0` and `3e2` are whole).
    bool get_integer(std::int64_t& number) const noexcept {
        if (const auto* whole = std::get_if<std::int64_t>(&held_)) {
            number = *whole;
            return true;
        }
        const auto* real = std::get_if<double>(&held_);
        // 2^63 does not fit; it is the smallest double above the largest integer that does.
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

    /// The value at a JSON Pointer (RFC 6901) relative to this value: `""` is this value, `"/a/0"`
    /// the first element of its member `a`. Null if the pointer leads nowhere.
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
            value = value->kind() == Kind::Array ? value->element_named(token)
                                                 : value->member(unescaped(token));
            if (value == nullptr) {
                return nullptr;
            }
        }
        return value;
    }

    /// The member with this name; null if there is none or this is not an object.
    const Value* member(std::string_view name) const noexcept {
        const std::vector<std::string>& all = names();
        const auto found = std::find(all.begin(), all.end(), name);
        return found == all.end() ? nullptr : &elements()[index_of(all, found)];
    }

    /// Adds a member or replaces the one with this name. The cost is linear in the number of members.
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

    /// The value as JSON on one line, without blanks. Always valid UTF-8.
    std::string text() const {
        std::string out;
        append_text(out);
        return out;
    }

    /// Like `text`, appended to `out`.
    void append_text(std::string& out) const;

private:
    friend class Reader;
    friend Value array(std::initializer_list<Value>);
    friend Value object(std::initializer_list<std::pair<std::string, Value>>);

    /// Two vectors instead of one of pairs, because `Value` is incomplete here, and only a vector may
    /// have an incomplete element type.
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

/// `object({{"name", "torch"}, {"lit", true}})`. Of a repeated name, the last value is kept.
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

/// One position of a UTF-8 text: a character of `length` bytes, or, if not `well_formed`, the number
/// of bytes that one U+FFFD replaces (Unicode 15 §3.9, "maximal subparts").
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
    // The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
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

/// Appends `text` to `out` as a JSON string with quotes. Invalid UTF-8 is replaced by U+FFFD.
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

}  // namespace narratoria::tool::json
