// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/answer_schema.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "narrator_llm/json.hpp"

namespace narratoria::llm {
namespace {

// llama.cpp refuses a schema with a bound of about 2,000 within an object.
constexpr std::uint64_t kLongestNarrative = 1500;
constexpr std::uint64_t kLongestText = 200;
constexpr std::uint64_t kMostElements = 8;
constexpr std::uint64_t kMostTools = 4;
constexpr std::uint64_t kMostChoices = 4;
constexpr std::uint64_t kLongestChoice = 100;
constexpr int kDeepest = 6;

std::uint64_t bound_of(const Json& schema, const char* name, std::uint64_t most) {
    const Json* const given = member(&schema, name);
    return given != nullptr && given->IsUint64() ? std::min(given->GetUint64(), most) : most;
}

void write_text(JsonWriter& writer, std::uint64_t longest) {
    writer.StartObject();
    writer.Key("type");
    writer.String("string");
    writer.Key("maxLength");
    writer.Uint64(longest);
    writer.EndObject();
}

void write_any(JsonWriter& writer) {
    writer.StartObject();
    writer.EndObject();
}

// The type of a schema; of several types the first that is not null.
std::string_view type_of(const Json& schema) {
    const Json* const type = member(&schema, "type");
    if (type != nullptr && type->IsString()) return view(*type);
    if (type != nullptr && type->IsArray()) {
        for (const Json& each : type->GetArray()) {
            if (each.IsString() && view(each) != "null") return view(each);
        }
    }
    return member(&schema, "properties") != nullptr ? "object" : "";
}

void write_part(JsonWriter& writer, const Json& schema, int depth);

void write_object(JsonWriter& writer, const Json& schema, int depth) {
    writer.StartObject();
    writer.Key("type");
    writer.String("object");
    static const Json none(rapidjson::kObjectType);
    const Json* properties = member(&schema, "properties");
    const Json* const others = member(&schema, "additionalProperties");
    const bool is_closed = others != nullptr && others->IsFalse();
    if (properties == nullptr && is_closed) properties = &none;
    if (properties != nullptr && properties->IsObject() &&
        (is_closed || !properties->ObjectEmpty())) {
        writer.Key("properties");
        writer.StartObject();
        for (const auto& each : properties->GetObject()) {
            writer.Key(each.name.GetString(), each.name.GetStringLength());
            write_part(writer, each.value, depth + 1);
        }
        writer.EndObject();
        const Json* const required = member(&schema, "required");
        writer.Key("required");
        writer.StartArray();
        if (required != nullptr && required->IsArray()) {
            for (const Json& each : required->GetArray()) {
                if (each.IsString() && properties->HasMember(each)) write(writer, view(each));
            }
        }
        writer.EndArray();
        writer.Key("additionalProperties");
        writer.Bool(false);
    }
    writer.EndObject();
}

void write_choice(JsonWriter& writer, const Json& alternatives, int depth) {
    writer.StartObject();
    writer.Key("anyOf");
    writer.StartArray();
    for (const Json& each : alternatives.GetArray()) write_part(writer, each, depth + 1);
    writer.EndArray();
    writer.EndObject();
}

// What all servers understand of a part of a tool's schema; the rest of it is left out.
void write_part(JsonWriter& writer, const Json& schema, int depth) {
    if (!schema.IsObject() || depth > kDeepest) return write_any(writer);
    if (const Json* const value = member(&schema, "const")) {
        writer.StartObject();
        writer.Key("enum");
        writer.StartArray();
        value->Accept(writer);
        writer.EndArray();
        return void(writer.EndObject());
    }
    if (const Json* const values = member(&schema, "enum");
        values != nullptr && values->IsArray()) {
        writer.StartObject();
        writer.Key("enum");
        values->Accept(writer);
        return void(writer.EndObject());
    }
    for (const char* name : {"anyOf", "oneOf"}) {
        const Json* const alternatives = member(&schema, name);
        if (alternatives != nullptr && alternatives->IsArray() && !alternatives->Empty()) {
            return write_choice(writer, *alternatives, depth);
        }
    }
    const std::string_view type = type_of(schema);
    if (type == "object") return write_object(writer, schema, depth);
    if (type == "string") return write_text(writer, bound_of(schema, "maxLength", kLongestText));
    writer.StartObject();
    if (!type.empty()) {
        writer.Key("type");
        write(writer, type);
    }
    if (type == "array") {
        const Json* const items = member(&schema, "items");
        writer.Key("items");
        if (items != nullptr) write_part(writer, *items, depth + 1);
        else write_any(writer);
        writer.Key("maxItems");
        writer.Uint64(bound_of(schema, "maxItems", kMostElements));
    }
    if (type == "integer") {
        for (const char* name : {"minimum", "maximum"}) {
            const Json* const bound = member(&schema, name);
            if (bound == nullptr || !bound->IsInt64()) continue;
            writer.Key(name);
            writer.Int64(bound->GetInt64());
        }
    }
    writer.EndObject();
}

void write_tool(JsonWriter& writer, const ToolDescription& tool) {
    writer.StartObject();
    writer.Key("type");
    writer.String("object");
    writer.Key("properties");
    writer.StartObject();
    writer.Key("tool");
    writer.StartObject();
    writer.Key("enum");
    writer.StartArray();
    write(writer, tool.name);
    writer.EndArray();
    writer.EndObject();
    writer.Key("input");
    if (tool.input_schema != nullptr && tool.input_schema->IsObject()) {
        write_object(writer, *tool.input_schema, 0);
    } else {
        writer.StartObject();
        writer.Key("type");
        writer.String("object");
        writer.EndObject();
    }
    writer.EndObject();
    writer.Key("required");
    writer.StartArray();
    writer.String("tool");
    writer.String("input");
    writer.EndArray();
    writer.Key("additionalProperties");
    writer.Bool(false);
    writer.EndObject();
}

}  // namespace

std::string answer_schema(const std::vector<ToolDescription>& tools) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    writer.StartObject();
    writer.Key("type");
    writer.String("object");
    writer.Key("properties");
    writer.StartObject();
    writer.Key("narrative");
    write_text(writer, kLongestNarrative);
    if (!tools.empty()) {
        writer.Key("tools");
        writer.StartObject();
        writer.Key("type");
        writer.String("array");
        writer.Key("maxItems");
        writer.Uint64(kMostTools);
        writer.Key("items");
        writer.StartObject();
        writer.Key("anyOf");
        writer.StartArray();
        for (const ToolDescription& tool : tools) write_tool(writer, tool);
        writer.EndArray();
        writer.EndObject();
        writer.EndObject();
    }
    writer.Key("choices");
    writer.StartObject();
    writer.Key("type");
    writer.String("array");
    writer.Key("maxItems");
    writer.Uint64(kMostChoices);
    writer.Key("items");
    write_text(writer, kLongestChoice);
    writer.EndObject();
    writer.EndObject();
    writer.Key("required");
    writer.StartArray();
    writer.String("narrative");
    if (!tools.empty()) writer.String("tools");
    writer.String("choices");
    writer.EndArray();
    writer.Key("additionalProperties");
    writer.Bool(false);
    writer.EndObject();
    return {out.GetString(), out.GetSize()};
}

}  // namespace narratoria::llm
