// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values of a script: immutable JSON values. Strings, lists and objects are blocks with a
// reference count, so copies are cheap. Immutable values cannot form cycles. Not thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/tape.hpp"
#include "script/limits.hpp"

namespace narratoria::script {

// Undefined is not a value of the language: it marks a variable without a value, or a refused
// value.
enum class Type : uint8_t { Undefined, Null, Boolean, Number, String, List, Object };

// The type's name in error messages: number, string, boolean, and object for everything else.
const char* type_name(Type type);

class Memory;
struct Member;

// The head of a string, list or object; its content follows in the same allocation.
struct Block {
    uint32_t references;  // kImmortal: belongs to a Program and is not counted
    uint32_t count;       // bytes, elements or members
    uint64_t bytes;       // approximate length as JSON; shared parts count each time
    Memory* memory;
    uint16_t depth;
    Type type;

    static constexpr uint32_t kImmortal = 1u << 31;
};

class Value {
public:
    Value() = default;
    Value(double number) : type_(Type::Number), number_(number) {}
    static Value null() { return Value(Type::Null); }
    static Value boolean(bool value) {
        Value out(Type::Boolean);
        out.boolean_ = value;
        return out;
    }
    // Takes over one reference.
    explicit Value(Block* block) : type_(block->type), block_(block) {}

    Value(const Value& other) : type_(other.type_), bits_(other.bits_) {
        if (is_block()) retain();
    }
    Value(Value&& other) noexcept : type_(other.type_), bits_(other.bits_) {
        other.type_ = Type::Undefined;
    }
    Value& operator=(const Value& other) {
        if (other.is_block()) other.retain();
        if (is_block()) release();
        type_ = other.type_;
        bits_ = other.bits_;
        return *this;
    }
    Value& operator=(Value&& other) noexcept {
        const Type type = other.type_;
        const uint64_t bits = other.bits_;
        other.type_ = Type::Undefined;
        if (is_block()) release();
        type_ = type;
        bits_ = bits;
        return *this;
    }
    ~Value() {
        if (is_block()) release();
    }

    void set_number(double number) {
        if (is_block()) release();
        type_ = Type::Number;
        number_ = number;
    }
    void set_boolean(bool value) {
        if (is_block()) release();
        type_ = Type::Boolean;
        boolean_ = value;
    }

    Type type() const { return type_; }
    bool is_defined() const { return type_ != Type::Undefined; }
    bool is_null() const { return type_ == Type::Null; }
    bool is_boolean() const { return type_ == Type::Boolean; }
    bool is_number() const { return type_ == Type::Number; }
    bool is_string() const { return type_ == Type::String; }
    bool is_list() const { return type_ == Type::List; }
    bool is_object() const { return type_ == Type::Object; }

    double number() const { return number_; }
    bool boolean() const { return boolean_; }
    std::string_view text() const {
        return {reinterpret_cast<const char*>(block_ + 1), block_->count};
    }
    std::span<const Value> elements() const;
    // In the order of the language: integer-like keys first, in ascending order. Keys are unique.
    std::span<const Member> members() const;
    // The member of an object, or nullptr.
    const Value* find(std::string_view key) const;

    // The approximate length of the value as JSON.
    uint64_t bytes() const { return is_block() ? block_->bytes : 8; }
    // The nesting of lists and objects; 0 for other values.
    uint32_t depth() const { return is_block() ? block_->depth : 0; }

    bool is_block() const { return type_ >= Type::String; }
    const Block* block() const { return block_; }

private:
    friend class Memory;
    explicit Value(Type type) : type_(type) {}
    void retain() const {
        if (!(block_->references & Block::kImmortal)) ++block_->references;
    }
    void release() const {
        if (!(block_->references & Block::kImmortal) && --block_->references == 0) destroy(block_);
    }
    static void destroy(Block* block);

    Type type_ = Type::Undefined;
    union {
        uint64_t bits_ = 0;
        double number_;
        bool boolean_;
        Block* block_;
    };
};

struct Member {
    Value key;
    Value value;
};

// Creates values and counts their memory. Must outlive them. If a limit forbids a value, the result
// is Undefined, and refusal() has the reason.
class Memory {
public:
    enum class Refusal : uint8_t { None, Size, Depth, Total };

    explicit Memory(const Limits& limits);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    Value string(std::string_view text);
    // element(i) is called once for each i in ascending order and returns a Value.
    template <class Element>
    Value list(uint32_t count, Element&& element) {
        Block* block = allocate(Type::List, count);
        if (block == nullptr) return {};
        auto* slots = reinterpret_cast<Value*>(block + 1);
        for (uint32_t i = 0; i < count; ++i) new (slots + i) Value(element(i));
        return finish_list(block);
    }
    // The keys must be unique and in the order of the language.
    template <class KeyOf, class ValueOf>
    Value ordered_object(uint32_t count, KeyOf&& key, ValueOf&& value) {
        Block* block = allocate(Type::Object, count);
        if (block == nullptr) return {};
        auto* slots = reinterpret_cast<Member*>(block + 1);
        for (uint32_t i = 0; i < count; ++i) new (slots + i) Member{Value(key(i)), Value(value(i))};
        return finish_object(block);
    }
    // The members may be in any order. A repeated key keeps its first place and its last value.
    Value object(std::vector<Member> members);

    // Copies a JSON value.
    Value from_json(json::Value value);

    // A string that lives until free_immortal(), for the constants of a Program.
    static Value immortal_string(std::string_view text);
    static void free_immortal(const Block* string);

    Refusal refusal() const { return refusal_; }
    uint64_t used() const { return used_; }

private:
    friend class Value;
    Block* allocate(Type type, uint32_t count);
    Value finish_list(Block* block);
    Value finish_object(Block* block);
    Value finish(Block* block);

    uint64_t value_limit_;
    uint64_t total_limit_;
    uint32_t depth_limit_;
    Refusal refusal_ = Refusal::None;
    uint64_t used_ = 0;
};

// Deep equality. Values of different types are not equal.
bool equal(const Value& a, const Value& b);

// Appends the value in the format of PRINT.
void append_text(std::string& out, const Value& value);

// Appends the value as JSON. Returns false if a number is not finite; it is then written as null.
bool append_json(std::string& out, const Value& value);

// True for a key that ECMAScript orders as an array index: "0", "17", but not "01". Sets its
// number.
bool is_integer_key(std::string_view key, uint32_t& number);

// ---------------------------------------------------------------- implementation

inline std::span<const Value> Value::elements() const {
    return {reinterpret_cast<const Value*>(block_ + 1), block_->count};
}

inline std::span<const Member> Value::members() const {
    return {reinterpret_cast<const Member*>(block_ + 1), block_->count};
}

}  // namespace narratoria::script
