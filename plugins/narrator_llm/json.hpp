// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads members of JSON objects that other programs wrote, and writes texts.

#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::llm {

using Json = rapidjson::Value;
using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

// False if the text is not one JSON object.
inline bool parse_object(std::string_view text, rapidjson::Document& document) {
    // Iterative, because the other program controls the depth and our stack is limited.
    document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
    return !document.HasParseError() && document.IsObject();
}

// A member that is not null. NULL if there is none, or if `object` is NULL or not an object.
inline const Json* member(const Json* object, const char* name) {
    if (object == nullptr || !object->IsObject()) return nullptr;
    const auto found = object->FindMember(name);
    return found == object->MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

inline std::string_view view(const Json& text) {
    return {text.GetString(), text.GetStringLength()};
}

// Parsers accept invalid bytes, and make some of half a surrogate pair ("\uDE00").
inline bool is_utf8(std::string_view text) {
    rapidjson::MemoryStream in(text.data(), text.size());
    rapidjson::StringBuffer out;
    while (in.Tell() < text.size()) {
        if (!rapidjson::UTF8<>::Validate(in, out)) return false;
    }
    return true;
}

// Empty if it is not a string.
inline std::string_view text_member(const Json* object, const char* name) {
    const Json* const value = member(object, name);
    return value != nullptr && value->IsString() ? view(*value) : std::string_view();
}

// 0 if it is not a number from 0.
inline std::uint64_t number_member(const Json* object, const char* name) {
    const Json* const value = member(object, name);
    return value != nullptr && value->IsUint64() ? value->GetUint64() : 0;
}

// Calls `each` with the elements of an array; with none if it is not an array.
template <class Each>
void each_element(const Json* object, const char* name, Each&& each) {
    const Json* const array = member(object, name);
    if (array == nullptr || !array->IsArray()) return;
    for (const Json& element : array->GetArray()) each(element);
}

inline void write(JsonWriter& writer, std::string_view text) {
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

inline std::string to_text(const Json& value) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    value.Accept(writer);
    return {out.GetString(), out.GetSize()};
}

}  // namespace narratoria::llm
