// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads JSON into a Tape: a flat array of nodes that point into the source text. Nothing is copied,
// and the source bytes of every value stay available.

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/json/error.hpp"

namespace narratoria::json {

// Deeper documents are rejected, so that recursive code has a known maximum depth. The limit for
// the runtime's own documents is larger, because they contain other documents a few levels down.
inline constexpr uint32_t kMaximumDepth = 512;
inline constexpr uint32_t kDepthOfOwn = kMaximumDepth + 16;

// RapidJSON's reader and string_scan.hpp may read this many bytes after a text.
inline constexpr size_t kPadding = 16;

enum class Type : uint8_t { Null, False, True, Number, String, Array, Object };

// A string with escapes is decoded into the tape's arena. Its offset in the text is stored before
// it, so that raw() finds the source bytes without a search. Such a string decodes to at least one
// byte less than its source, and has two quotes and a separator around it, so the arena needs at
// most one byte more than the text.
inline constexpr size_t kPlaceSize = sizeof(uint32_t);

const char* type_name(Type type);

// One value, or the end of a container. In an object, a String node for the key precedes each
// value.
struct Node {
    const char* begin;  // String: the decoded content; otherwise the first byte of the value
    uint32_t size;      // String, Number: size of the text; container: index of its end
    Type type;
    uint8_t escaped;  // String: the content is in the arena, not in the text
    uint16_t reserved;
};
static_assert(sizeof(Node) == 16);

class Tape;

// A value on a tape. Two words, cheap to copy. Valid while the tape and its text are alive and no
// other text is parsed.
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

    // The content of a string, or the text of a number.
    std::string_view text() const { return {node().begin, node().size}; }

    // The value if it is a whole number in range. 2.0 and 2e3 are whole numbers, 2.5 is not.
    std::optional<int64_t> integer() const;
    std::optional<double> number() const;

    // The source bytes of the value.
    std::string_view raw() const;

    // The index on the tape, for code that walks the tape itself.
    uint32_t index() const { return index_; }
    const Tape& tape() const { return *tape_; }

    // The member with that name, or an empty Value. The last of duplicate keys wins. Linear search.
    Value find(std::string_view key) const;

    bool empty() const;

    class Members;
    class Elements;
    Members members() const;    // of an object: pairs of key and value, in source order
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

// Owns the nodes and the arena, not the text. Not thread-safe.
class Tape {
public:
    // Parses one document. kPadding readable bytes must follow `text`, the first of them zero, and
    // the text must outlive the tape's content. The tape reuses its memory for the next text.
    bool parse(std::string_view text, ParseError& error, uint32_t depth = kMaximumDepth);

    Tape() = default;
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;
    ~Tape();

    Value root() const { return Value(this, 0); }
    std::string_view source() const { return text_; }

    const Node* nodes() const { return nodes_; }
    uint32_t node_count() const { return count_; }

    // The index of the node that follows the value at `index`.
    uint32_t next(uint32_t index) const {
        const Node& node = nodes_[index];
        return node.type >= Type::Array ? node.size + 1 : index + 1;
    }

    // Frees the memory that an unusually large text required.
    void shrink();

private:
    friend class Builder;
    friend class Value;
    bool begin(std::string_view text, ParseError& error);
    // False if the text is not plain JSON, or not valid (plain_reader.cpp).
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
    // The decoded content of strings with escapes. At most as long as the text, so it is reserved
    // once and never moves while nodes point into it.
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

// A tape together with a copy of its text.
class Document {
public:
    Document() = default;
    ~Document();
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    // Copies the text; it need not outlive the call.
    bool parse(std::string_view text, ParseError& error, uint32_t depth = kMaximumDepth);
    Value root() const { return tape_.root(); }
    std::string_view text() const { return tape_.source(); }

private:
    char* block_ = nullptr;
    size_t room_ = 0;
    Tape tape_;
};

}  // namespace narratoria::json
