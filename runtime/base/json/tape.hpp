// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading JSON. A document is read into a Tape: a flat list of nodes that point into the text they
// came from, so that nothing is copied and every value's own bytes stay at hand.

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/json/error.hpp"

namespace narratoria::json {

// Deeper documents are refused: a reader that recurses must know how far it can go. The runtime's
// own documents have those of others in them, a few levels down.
inline constexpr uint32_t kMaximumDepth = 512;
inline constexpr uint32_t kDepthOfOwn = kMaximumDepth + 16;

// RapidJSON's reader and our string scan may look this many bytes past the end of a text.
inline constexpr size_t kPadding = 16;

enum class Type : uint8_t { Null, False, True, Number, String, Array, Object };

// A string with escapes is decoded into the tape's arena, where its place in the text stands in front
// of it, so that its own bytes are found without a search. Such a string decodes to at least one byte
// less than it was, and quotes and a separator stand around it: the arena never needs more than the
// text's size and one byte.
inline constexpr size_t kPlaceSize = sizeof(uint32_t);

const char* type_name(Type type);

// One value, or the end of a container. A key is a String node in front of its value.
struct Node {
    const char* begin;  // String: the decoded content; others: the first byte of the value
    uint32_t size;      // String: of the content; Number: of the text; container: index of its end
    Type type;
    uint8_t escaped;  // String: the content stands in the arena, not in the text
    uint16_t reserved;
};
static_assert(sizeof(Node) == 16);

class Tape;

// A value on a tape; two words, copied freely, alive as long as the tape and its text are.
class Value {
public:
    Value() = default;
    Value(const Tape* tape, uint32_t index) : tape_(tape), index_(index) {}

    explicit operator bool() const { return tape_ != nullptr; }
    Type type() const { return node().type; }
    bool is_object() const { return type() == Type::Object; }
    bool is_array() const { return type() == Type::Array; }
    bool is_string() const { return type() == Type::String; }
    bool is_number() const { return type() == Type::Number; }
    bool is_null() const { return type() == Type::Null; }
    bool is_boolean() const { return type() == Type::True || type() == Type::False; }
    bool boolean() const { return type() == Type::True; }

    // The content of a string, the text of a number.
    std::string_view text() const { return {node().begin, node().size}; }

    // The value when it is a whole number that fits; 2.0 and 2e3 are whole numbers, 2.5 is not.
    std::optional<int64_t> integer() const;
    std::optional<double> number() const;

    // The value's own bytes, as they were written.
    std::string_view raw() const;

    // The index on the tape, for those who walk it themselves.
    uint32_t index() const { return index_; }
    const Tape& tape() const { return *tape_; }

    // The last member of that name (of duplicate keys the last one counts), or nothing.
    Value find(std::string_view key) const;

    bool empty() const;

    class Members;
    class Elements;
    Members members() const;    // of an object: pairs of key and value, in the text's order
    Elements elements() const;  // of an array

private:
    const Node& node() const;
    const Tape* tape_ = nullptr;
    uint32_t index_ = 0;
};

struct Member {
    std::string_view key;
    Value value;
};

class Tape {
public:
    // Reads one document. `text` must be followed by kPadding readable bytes, the first of them
    // zero, and must outlive the tape. The tape's memory is kept from one text to the next.
    bool parse(std::string_view text, ParseError& error, uint32_t depth = kMaximumDepth);

    Tape() = default;
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;
    ~Tape();

    Value root() const { return Value(this, 0); }
    std::string_view source() const { return text_; }

    const Node* nodes() const { return nodes_; }
    uint32_t node_count() const { return count_; }

    // The index behind the value at `index`.
    uint32_t next(uint32_t index) const {
        const Node& node = nodes_[index];
        return node.type >= Type::Array ? node.size + 1 : index + 1;
    }

    // Gives back what an unusually large text made it take.
    void shrink();

private:
    friend class Builder;
    friend class Value;
    bool begin(std::string_view text, ParseError& error);
    // False: not plain JSON (plain_reader.cpp).
    bool read_plain(uint32_t depth);
    bool read_any(uint32_t depth, ParseError& error);  // rapidjson_reader.cpp
    void reserve(uint32_t nodes) {
        if (nodes > capacity_) grow(nodes);
    }
    void grow(uint32_t nodes);

    std::string_view text_;
    Node* nodes_ = nullptr;
    uint32_t count_ = 0;
    uint32_t capacity_ = 0;
    // The decoded content of strings with escapes: at most as long as the text itself, so that it
    // is reserved once and never moves while nodes point into it.
    std::unique_ptr<char[]> arena_;
    size_t arena_capacity_ = 0;
};

class Value::Members {
public:
    class Iterator {
    public:
        Iterator(const Tape* tape, uint32_t index) : tape_(tape), index_(index) {}
        Member operator*() const {
            const Node& key = tape_->nodes()[index_];
            return {{key.begin, key.size}, Value(tape_, index_ + 1)};
        }
        Iterator& operator++() {
            index_ = tape_->next(index_ + 1);
            return *this;
        }
        bool operator!=(const Iterator& other) const { return index_ != other.index_; }

    private:
        const Tape* tape_;
        uint32_t index_;
    };
    Members(const Tape* tape, uint32_t first, uint32_t end)
        : tape_(tape), first_(first), end_(end) {}
    Iterator begin() const { return {tape_, first_}; }
    Iterator end() const { return {tape_, end_}; }

private:
    const Tape* tape_;
    uint32_t first_, end_;
};

class Value::Elements {
public:
    class Iterator {
    public:
        Iterator(const Tape* tape, uint32_t index) : tape_(tape), index_(index) {}
        Value operator*() const { return {tape_, index_}; }
        Iterator& operator++() {
            index_ = tape_->next(index_);
            return *this;
        }
        bool operator!=(const Iterator& other) const { return index_ != other.index_; }

    private:
        const Tape* tape_;
        uint32_t index_;
    };
    Elements(const Tape* tape, uint32_t first, uint32_t end)
        : tape_(tape), first_(first), end_(end) {}
    Iterator begin() const { return {tape_, first_}; }
    Iterator end() const { return {tape_, end_}; }

private:
    const Tape* tape_;
    uint32_t first_, end_;
};

inline const Node& Value::node() const { return tape_->nodes()[index_]; }
inline Value::Members Value::members() const { return {tape_, index_ + 1, node().size}; }
inline Value::Elements Value::elements() const { return {tape_, index_ + 1, node().size}; }
inline bool Value::empty() const { return node().size == index_ + 1; }

// A tape together with the text it points into.
class Document {
public:
    Document() = default;
    ~Document();
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    // Copies the text.
    bool parse(std::string_view text, ParseError& error, uint32_t depth = kMaximumDepth);
    Value root() const { return tape_.root(); }
    std::string_view text() const { return tape_.source(); }

private:
    char* block_ = nullptr;
    size_t room_ = 0;
    Tape tape_;
};

}  // namespace narratoria::json
