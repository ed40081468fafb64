// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/same_value.hpp"

#include <algorithm>
#include <vector>

#include "base/hash.hpp"
#include "tool/schema/decimal.hpp"

namespace narratoria::tool {
namespace {

bool spend(uint64_t& steps) {
    if (steps == 0) return false;
    --steps;
    return true;
}

bool same_members(json::Value one, json::Value other, uint64_t& steps) {
    uint64_t left = 0;
    for ([[maybe_unused]] const json::Member member : other.members()) ++left;
    auto hint = other.members().begin();
    const auto end = other.members().end();
    for (const json::Member member : one.members()) {
        if (left-- == 0) return false;
        json::Value twin;
        // Usually both are in the same order.
        if (hint != end && (*hint).key == member.key) {
            twin = (*hint).value;
            ++hint;
        } else {
            for (const json::Member each : other.members()) {
                if (!spend(steps)) return false;
                if (each.key == member.key) twin = each.value;
            }
        }
        if (!twin || !same_value(member.value, twin, steps)) return false;
    }
    return left == 0;
}

}  // namespace

bool same_value(json::Value one, json::Value other, uint64_t& steps) {
    if (!spend(steps) || one.type() != other.type()) return false;
    switch (one.type()) {
        case json::Type::Null:
        case json::Type::False:
        case json::Type::True: return true;
        case json::Type::String: return one.text() == other.text();
        case json::Type::Number:
            return one.text() == other.text() ||
                   Decimal(one.text()).compare(Decimal(other.text())) == 0;
        case json::Type::Object: return same_members(one, other, steps);
        case json::Type::Array: break;
    }
    auto twin = other.elements().begin();
    const auto end = other.elements().end();
    for (const json::Value element : one.elements()) {
        if (!(twin != end) || !same_value(element, *twin, steps)) return false;
        ++twin;
    }
    return !(twin != end);
}

uint64_t hash_value(json::Value value, uint64_t& steps) {
    static const uint64_t seed = hash_seed();
    if (!spend(steps)) return 0;
    uint64_t out = static_cast<uint64_t>(value.type()) + 1;
    switch (value.type()) {
        case json::Type::String: return hash_text(value.text(), seed);
        case json::Type::Number: return Decimal(value.text()).hash(seed);
        case json::Type::Array:
            for (const json::Value element : value.elements()) {
                out = (out ^ hash_value(element, steps)) * 0x9E3779B97F4A7C15ull;
                out ^= out >> 29;
            }
            return out ^ seed;
        case json::Type::Object:
            // A sum, because the order of members does not matter.
            for (const json::Member member : value.members()) {
                uint64_t one = hash_text(member.key, seed) ^ hash_value(member.value, steps);
                one *= 0xFF51AFD7ED558CCDull;
                out += one ^ (one >> 32);
            }
            return out ^ seed;
        default: return out * 0x9E3779B97F4A7C15ull ^ seed;
    }
}

std::optional<std::pair<size_t, size_t>> find_repeated(json::Value array, uint64_t count,
                                                       uint64_t& steps) {
    struct Hashed {
        uint64_t hash;
        size_t at;
        json::Value value;
    };
    std::vector<Hashed> all;
    all.reserve(count);
    for (const json::Value element : array.elements()) {
        all.push_back({hash_value(element, steps), all.size(), element});
        if (steps == 0) return std::nullopt;
    }
    std::sort(all.begin(), all.end(), [](const Hashed& a, const Hashed& b) {
        return a.hash != b.hash ? a.hash < b.hash : a.at < b.at;
    });
    for (size_t i = 1; i < all.size(); ++i) {
        for (size_t j = i; j-- > 0 && all[j].hash == all[i].hash;) {
            if (same_value(all[j].value, all[i].value, steps)) return {{all[j].at, all[i].at}};
            if (steps == 0) return std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace narratoria::tool
