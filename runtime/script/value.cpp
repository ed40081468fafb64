// SPDX-License-Identifier: Apache-2.0
#include "script/value.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <unordered_map>

#include "base/hash.hpp"
#include "base/json/writer.hpp"
#include "script/number_text.hpp"

namespace narratoria::script {

namespace {

static_assert(sizeof(Block) == 32 && sizeof(Value) == 16 && sizeof(Member) == 32);

// Objects with more members have a hash index after their members. A slot holds the number of a
// member plus one.
constexpr uint32_t kSearchedMembers = 8;

uint32_t index_slots(uint32_t members) {
    return members <= kSearchedMembers ? 0 : std::bit_ceil(members * 2);
}

size_t size_of(Type type, uint32_t count) {
    switch (type) {
        case Type::String: return sizeof(Block) + count;
        case Type::List: return sizeof(Block) + size_t{count} * sizeof(Value);
        default:
            return sizeof(Block) + size_t{count} * sizeof(Member) +
                   size_t{index_slots(count)} * sizeof(uint32_t);
    }
}

Member* members_of(Block* block) { return reinterpret_cast<Member*>(block + 1); }

uint32_t* index_of(const Block* block) {
    auto* members = reinterpret_cast<Member*>(const_cast<Block*>(block) + 1);
    return reinterpret_cast<uint32_t*>(members + block->count);
}

}  // namespace

const char* type_name(Type type) {
    switch (type) {
        case Type::Boolean: return "boolean";
        case Type::Number: return "number";
        case Type::String: return "string";
        default: return "object";
    }
}

// Recursion is bounded: no value is nested deeper than Limits::kMaximumDepth.
void Value::destroy(Block* block) {
    if (block->type == Type::List) {
        auto* elements = reinterpret_cast<Value*>(block + 1);
        for (uint32_t i = 0; i < block->count; ++i) elements[i].~Value();
    } else if (block->type == Type::Object) {
        for (uint32_t i = 0; i < block->count; ++i) members_of(block)[i].~Member();
    }
    block->memory->used_ -= size_of(block->type, block->count);
    ::operator delete(block);
}

const Value* Value::find(std::string_view key) const {
    const std::span<const Member> all = members();
    if (all.size() <= kSearchedMembers) {
        for (const Member& member : all) {
            if (member.key.text() == key) return &member.value;
        }
        return nullptr;
    }
    const uint32_t* index = index_of(block_);
    const uint32_t mask = index_slots(block_->count) - 1;
    for (auto at = static_cast<uint32_t>(hash_text(key, hash_seed()));; ++at) {
        const uint32_t number = index[at & mask];
        if (number == 0) return nullptr;
        if (all[number - 1].key.text() == key) return &all[number - 1].value;
    }
}

Memory::Memory(const Limits& limits)
    : value_limit_(value_limit(limits)),
      total_limit_(limits.memory_bytes == 0 ? UINT64_MAX : limits.memory_bytes),
      depth_limit_(std::min(limits.depth == 0 ? Limits::kMaximumDepth : limits.depth,
                            Limits::kMaximumDepth)) {}

Block* Memory::allocate(Type type, uint32_t count) {
    // Check before the allocation: each byte or element adds at least 1 to `bytes`.
    if (count > value_limit_) {
        refusal_ = Refusal::Size;
        return nullptr;
    }
    const size_t size = size_of(type, count);
    if (used_ + size > total_limit_) {
        refusal_ = Refusal::Total;
        return nullptr;
    }
    used_ += size;
    auto* block = static_cast<Block*>(::operator new(size));
    *block = Block{1, count, 2, this, 0, type};
    return block;
}

Value Memory::finish(Block* block) {
    Value out(block);
    if (block->bytes > value_limit_) refusal_ = Refusal::Size;
    else if (block->depth > depth_limit_) refusal_ = Refusal::Depth;
    else return out;
    return {};
}

Value Memory::string(std::string_view text) {
    if (text.size() > value_limit_) {
        refusal_ = Refusal::Size;
        return {};
    }
    Block* block = allocate(Type::String, static_cast<uint32_t>(text.size()));
    if (block == nullptr) return {};
    if (!text.empty()) std::memcpy(block + 1, text.data(), text.size());
    block->bytes += text.size();
    return finish(block);
}

Value Memory::finish_list(Block* block) {
    uint32_t depth = 0;
    const auto* elements = reinterpret_cast<const Value*>(block + 1);
    for (uint32_t i = 0; i < block->count; ++i) {
        block->bytes += elements[i].bytes() + 1;
        depth = std::max(depth, elements[i].depth());
    }
    // Not checked yet, so at most one level deeper than the limit.
    block->depth = static_cast<uint16_t>(depth + 1);
    return finish(block);
}

Value Memory::finish_object(Block* block) {
    uint32_t depth = 0;
    const Member* members = members_of(block);
    for (uint32_t i = 0; i < block->count; ++i) {
        block->bytes += members[i].key.bytes() + members[i].value.bytes() + 2;
        depth = std::max(depth, members[i].value.depth());
    }
    block->depth = static_cast<uint16_t>(depth + 1);
    if (const uint32_t slots = index_slots(block->count); slots > 0) {
        uint32_t* index = index_of(block);
        std::memset(index, 0, slots * sizeof(uint32_t));
        for (uint32_t i = 0; i < block->count; ++i) {
            auto at = static_cast<uint32_t>(hash_text(members[i].key.text(), hash_seed()));
            while (index[at & (slots - 1)] != 0) ++at;
            index[at & (slots - 1)] = i + 1;
        }
    }
    return finish(block);
}

Value Memory::object(std::vector<Member> members) {
    std::unordered_map<std::string_view, size_t> places;
    bool has_integer_keys = false;
    size_t kept = 0;
    for (size_t i = 0; i < members.size(); ++i) {
        const std::string_view key = members[i].key.text();
        uint32_t number;
        has_integer_keys |= is_integer_key(key, number);
        size_t place = kept;
        if (members.size() <= kSearchedMembers) {
            for (place = 0; place < kept && members[place].key.text() != key;) ++place;
        } else {
            // The key's text is in a block, which does not move with the member.
            place = places.emplace(key, kept).first->second;
        }
        if (place < kept) {
            members[place].value = std::move(members[i].value);
        } else {
            if (i != kept) members[kept] = std::move(members[i]);
            ++kept;
        }
    }
    members.resize(kept);
    if (has_integer_keys) {
        std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
            uint32_t x = 0, y = 0;
            const bool first = is_integer_key(a.key.text(), x);
            const bool second = is_integer_key(b.key.text(), y);
            return first && (!second || x < y);
        });
    }
    return ordered_object(
        static_cast<uint32_t>(kept), [&](uint32_t i) { return std::move(members[i].key); },
        [&](uint32_t i) { return std::move(members[i].value); });
}

// Recursion is bounded by the depth that the reader accepts.
Value Memory::from_json(json::Value value) {
    switch (value.type()) {
        case json::Type::Null: return Value::null();
        case json::Type::False: return Value::boolean(false);
        case json::Type::True: return Value::boolean(true);
        case json::Type::Number: return Value(value.number().value_or(0));
        case json::Type::String: return string(value.text());
        case json::Type::Array: {
            std::vector<Value> elements;
            for (const json::Value element : value.elements()) {
                elements.push_back(from_json(element));
                if (!elements.back().is_defined()) return {};
            }
            return list(static_cast<uint32_t>(elements.size()),
                        [&](uint32_t i) { return std::move(elements[i]); });
        }
        case json::Type::Object: {
            std::vector<Member> members;
            for (const json::Member member : value.members()) {
                members.push_back({string(member.key), from_json(member.value)});
                if (!members.back().key.is_defined() || !members.back().value.is_defined()) {
                    return {};
                }
            }
            return object(std::move(members));
        }
    }
    return {};
}

Value Memory::immortal_string(std::string_view text) {
    auto* block = static_cast<Block*>(::operator new(sizeof(Block) + text.size()));
    *block =
        Block{Block::kImmortal, static_cast<uint32_t>(text.size()), text.size() + 2, nullptr, 0,
              Type::String};
    if (!text.empty()) std::memcpy(block + 1, text.data(), text.size());
    return Value(block);
}

void Memory::free_immortal(const Block* string) { ::operator delete(const_cast<Block*>(string)); }

// Recursion is bounded like that of destroy(). Value::bytes() bounds the work.
bool equal(const Value& a, const Value& b) {
    if (a.type() != b.type()) return false;
    switch (a.type()) {
        case Type::Undefined:
        case Type::Null: return true;
        case Type::Boolean: return a.boolean() == b.boolean();
        case Type::Number: return a.number() == b.number();
        default: break;
    }
    if (a.block() == b.block()) return true;
    if (a.block()->count != b.block()->count) return false;
    if (a.is_string()) return a.text() == b.text();
    if (a.is_list()) {
        for (uint32_t i = 0; i < a.block()->count; ++i) {
            if (!equal(a.elements()[i], b.elements()[i])) return false;
        }
        return true;
    }
    for (const Member& member : a.members()) {
        const Value* other = b.find(member.key.text());
        if (other == nullptr || !equal(member.value, *other)) return false;
    }
    return true;
}

void append_text(std::string& out, const Value& value) {
    switch (value.type()) {
        case Type::Undefined:
        case Type::Null: out += "null"; break;
        case Type::Boolean: out += value.boolean() ? "true" : "false"; break;
        case Type::Number: append_number_text(out, value.number()); break;
        case Type::String: out += value.text(); break;
        case Type::List: {
            out += '[';
            const char* separator = "";
            for (const Value& element : value.elements()) {
                out += separator;
                append_text(out, element);
                separator = ", ";
            }
            out += ']';
            break;
        }
        case Type::Object: {
            out += '{';
            const char* separator = "";
            for (const Member& member : value.members()) {
                out += separator;
                out += member.key.text();
                out += ": ";
                append_text(out, member.value);
                separator = ", ";
            }
            out += '}';
            break;
        }
    }
}

bool append_json(std::string& out, const Value& value) {
    bool is_exact = true;
    switch (value.type()) {
        case Type::Number:
            is_exact = std::isfinite(value.number());
            if (is_exact) append_number_text(out, value.number());
            else out += "null";
            break;
        case Type::String: json::append_string(out, value.text()); break;
        case Type::List: {
            out += '[';
            const char* separator = "";
            for (const Value& element : value.elements()) {
                out += separator;
                is_exact &= append_json(out, element);
                separator = ",";
            }
            out += ']';
            break;
        }
        case Type::Object: {
            out += '{';
            const char* separator = "";
            for (const Member& member : value.members()) {
                out += separator;
                json::append_string(out, member.key.text());
                out += ':';
                is_exact &= append_json(out, member.value);
                separator = ",";
            }
            out += '}';
            break;
        }
        default: append_text(out, value);
    }
    return is_exact;
}

bool is_integer_key(std::string_view key, uint32_t& number) {
    if (key.empty() || key.size() > 10 || (key[0] == '0' && key.size() > 1)) return false;
    uint64_t value = 0;
    for (const char c : key) {
        if (c < '0' || c > '9') return false;
        value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    number = static_cast<uint32_t>(value);
    return value < UINT32_MAX;
}

}  // namespace narratoria::script
