// SPDX-License-Identifier: Apache-2.0
#include "base/json/writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/bytes/utf8.hpp"

namespace narratoria::json {

namespace {

// True if the text is printable ASCII without '"' and '\\', like nearly all keys and names. Tests
// eight bytes at a time.
bool is_plain(std::string_view text) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    const auto zeros = [](uint64_t x) { return (x - kOnes) & ~x; };
    uint64_t found = 0;
    while (!text.empty()) {
        uint64_t x = kOnes * 'a';
        const size_t count = std::min(text.size(), sizeof x);
        std::memcpy(&x, text.data(), count);
        text.remove_prefix(count);
        const uint64_t beyond_7e = x | (x + kOnes);
        const uint64_t below_20 = (x - kOnes * 0x20) & ~x;
        found |= beyond_7e | below_20 | zeros(x ^ kOnes * '"') | zeros(x ^ kOnes * '\\');
    }
    return (found & (kOnes << 7)) == 0;
}

void append_escape(std::string& out, unsigned char c) {
    static constexpr const char* kHex = "0123456789abcdef";
    switch (c) {
        case '"': out += "\\\""; return;
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        case '\b': out += "\\b"; return;
        case '\f': out += "\\f"; return;
        default:
            out += "\\u00";
            out += kHex[c >> 4];
            out += kHex[c & 15];
    }
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
    if (is_plain(text)) {
        out += '"';
        out.append(text);
        out += '"';
        return;
    }
    if (!utf8::is_valid(text)) {
        append_string(out, utf8::repaired(text));
        return;
    }
    out += '"';
    size_t plain = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) continue;
        out.append(text.substr(plain, i - plain));
        append_escape(out, c);
        plain = i + 1;
    }
    out.append(text.substr(plain));
    out += '"';
}

std::string quoted(std::string_view text) {
    std::string out;
    append_string(out, text);
    return out;
}

void append_number(std::string& out, int64_t value) {
    char digits[24];
    const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
    (void)failure;
    out.append(digits, static_cast<size_t>(end - digits));
}

void append_compact(std::string& out, std::string_view json) {
    bool in_string = false;
    size_t begin = 0;  // of the part that is not copied yet
    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"') {
            in_string = !in_string;
        } else if (in_string) {
            if (c == '\\') ++i;
        } else if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            out.append(json, begin, i - begin);
            begin = i + 1;
        }
    }
    out.append(json, begin);
}

ObjectWriter& ObjectWriter::key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_string(out_, name);
    out_ += ':';
    return *this;
}

ObjectWriter& ObjectWriter::string(std::string_view name, std::string_view value) {
    key(name);
    append_string(out_, value);
    return *this;
}

ObjectWriter& ObjectWriter::number(std::string_view name, int64_t value) {
    key(name);
    append_number(out_, value);
    return *this;
}

ObjectWriter& ObjectWriter::boolean(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
    return *this;
}

ObjectWriter& ObjectWriter::raw(std::string_view name, std::string_view json) {
    key(name);
    out_.append(json);
    return *this;
}

}  // namespace narratoria::json
