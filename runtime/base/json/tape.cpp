// SPDX-License-Identifier: Apache-2.0
#include "base/json/tape.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/bytes/block.hpp"

namespace narratoria::json {
namespace {

// A double represents every whole number with this many digits exactly.
constexpr size_t kExactDigits = 15;

}  // namespace

const char* type_name(Type type) {
    switch (type) {
        case Type::Null: return "null";
        case Type::False:
        case Type::True: return "boolean";
        case Type::Number: return "number";
        case Type::String: return "string";
        case Type::Array: return "array";
        case Type::Object: return "object";
    }
    return "unknown";
}

bool Tape::parse(std::string_view text, ParseError& error, uint32_t depth) {
    assert(depth <= kDepthOfOwn);
    return begin(text, error) && (read_plain(depth) || read_any(depth, error));
}

bool Tape::begin(std::string_view text, ParseError& error) {
    text_ = text;
    count_ = 0;
    if (text.size() > (uint64_t{1} << 31)) {
        error = {ParseError::Kind::TooLarge, 0, "the document is larger than 2 GiB"};
        return false;
    }
    if (text.substr(0, 3) == "\xEF\xBB\xBF") {
        error = {ParseError::Kind::ByteOrderMark, 0,
                 "the text begins with a byte order mark; remove it"};
        return false;
    }
    return true;
}

Tape::~Tape() { free_block(nodes_, size_t{capacity_} * sizeof(Node)); }

void Tape::grow(uint32_t nodes) {
    const uint32_t capacity = std::bit_ceil(std::max(nodes, 64u));
    nodes_ = static_cast<Node*>(
        grow_block(nodes_, size_t{capacity_} * sizeof(Node), size_t{capacity} * sizeof(Node)));
    capacity_ = capacity;
}

void Tape::shrink() {
    constexpr uint32_t kKeptNodes = 4096;
    if (capacity_ > kKeptNodes) {
        free_block(nodes_, size_t{capacity_} * sizeof(Node));
        nodes_ = nullptr;
        count_ = capacity_ = 0;
    }
    if (arena_capacity_ > kKeptNodes * sizeof(Node)) {
        arena_.reset();
        arena_capacity_ = 0;
    }
}

Value Value::find(std::string_view key) const {
    Value found;
    for (const Member member : members()) {
        if (member.key == key) found = member.value;
    }
    return found;
}

std::string_view Value::raw() const {
    const Node& n = node();
    switch (n.type) {
        case Type::Object:
        case Type::Array:
            return {n.begin, static_cast<size_t>(tape_->nodes()[n.size].begin - n.begin)};
        case Type::String: {
            if (!n.escaped) return {n.begin - 1, n.size + 2};
            const std::string_view text = tape_->source();
            uint32_t place = 0;
            std::memcpy(&place, n.begin - kPlaceSize, kPlaceSize);
            const size_t open = place - 1;
            size_t close = place;
            while (text[close] != '"') close += text[close] == '\\' ? 2 : 1;
            return text.substr(open, close - open + 1);
        }
        default: return {n.begin, n.size};
    }
}

std::optional<int64_t> Value::integer() const {
    if (!is_number()) return std::nullopt;
    const std::string_view digits = text();
    int64_t value = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure == std::errc() && end == digits.data() + digits.size()) return value;
    const std::optional<double> real = number();
    if (!real || *real != std::floor(*real) || std::abs(*real) > 9007199254740992.0) {
        return std::nullopt;
    }
    return static_cast<int64_t>(*real);
}

std::optional<double> Value::number() const {
    if (!is_number()) return std::nullopt;
    const std::string_view digits = text();
    if (digits.size() <= kExactDigits) {
        int64_t whole = 0;
        for (const char c : digits) {
            if (c < '0' || c > '9') {
                whole = -1;
                break;
            }
            whole = whole * 10 + (c - '0');
        }
        if (whole >= 0) return static_cast<double>(whole);
    }
    double value = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end != digits.data() + digits.size()) return std::nullopt;
    // A number too small for a double is zero, as in other JSON parsers.
    if (failure == std::errc::result_out_of_range) return 0.0;
    return value;
}

Document::~Document() { free_block(block_, room_); }

bool Document::parse(std::string_view text, ParseError& error, uint32_t depth) {
    if (room_ < text.size() + kPadding) {
        free_block(block_, std::exchange(room_, 0));
        block_ = nullptr;
        block_ = static_cast<char*>(grow_block(nullptr, 0, text.size() + kPadding));
        room_ = text.size() + kPadding;
    }
    if (!text.empty()) std::memcpy(block_, text.data(), text.size());
    std::memset(block_ + text.size(), 0, kPadding);
    return tape_.parse({block_, text.size()}, error, depth);
}

}  // namespace narratoria::json
