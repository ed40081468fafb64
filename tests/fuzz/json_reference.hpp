// SPDX-License-Identifier: Apache-2.0
#pragma once
// An independent reading of a JSON text: RapidJSON's own DOM with the strictest flags.

#define RAPIDJSON_ASSERT(x) REQUIRE(x)
#include "require.hpp"

// RapidJSON adds offsets to null pointers and counts the leading zeros of zero. These faults are
// the reference's, so the sanitizer ignores them.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("undefined"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

namespace narratoria::fuzz {

// Iterative: refusing depth is the tape's task, and a deep text must not overflow the stack here.
inline constexpr unsigned kStrictly =
    rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag;

inline bool read_reference(rapidjson::Document& document, std::string_view text) {
    rapidjson::MemoryStream stream(text.data(), text.size());
    document.ParseStream<kStrictly>(stream);
    return !document.HasParseError();
}

// Order and duplicates matter: neither reader may lose a member.
inline bool same(json::Value ours, const rapidjson::Value& theirs) {
    switch (ours.type()) {
        case json::Type::Null: return theirs.IsNull();
        case json::Type::False: return theirs.IsFalse();
        case json::Type::True: return theirs.IsTrue();
        case json::Type::Number:
            // RapidJSON's values are inexact at the limits of a double; the C library's are exact.
            if (!theirs.IsNumber()) return false;
            if (ours.number() != std::strtod(std::string(ours.text()).c_str(), nullptr))
                return false;
            return !theirs.IsInt64() || ours.integer() == theirs.GetInt64();
        case json::Type::String:
            return theirs.IsString() &&
                   ours.text() == std::string_view(theirs.GetString(), theirs.GetStringLength());
        case json::Type::Array: {
            if (!theirs.IsArray() || ours.empty() != theirs.Empty()) return false;
            auto next = theirs.Begin();
            for (const json::Value element : ours.elements()) {
                if (next == theirs.End() || !same(element, *next)) return false;
                ++next;
            }
            return next == theirs.End();
        }
        case json::Type::Object: {
            if (!theirs.IsObject() || ours.empty() != theirs.ObjectEmpty()) return false;
            auto next = theirs.MemberBegin();
            for (const json::Member member : ours.members()) {
                if (next == theirs.MemberEnd()) return false;
                if (member.key !=
                    std::string_view(next->name.GetString(), next->name.GetStringLength())) {
                    return false;
                }
                if (!same(member.value, next->value)) return false;
                ++next;
            }
            return next == theirs.MemberEnd();
        }
    }
    return false;
}

}  // namespace narratoria::fuzz
