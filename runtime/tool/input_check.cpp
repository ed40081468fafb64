// SPDX-License-Identifier: Apache-2.0
#include "tool/input_check.hpp"

#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace narratoria::tool {
namespace {

using Value = rapidjson::Value;

std::string text_of(const Value& value) {
    rapidjson::StringBuffer out;
    rapidjson::Writer<rapidjson::StringBuffer> writer(out);
    value.Accept(writer);
    return out.GetString();
}

const char* type_of(const Value& value) {
    if (value.IsObject()) return "an object";
    if (value.IsArray()) return "an array";
    if (value.IsString()) return "a string";
    if (value.IsBool()) return "a boolean";
    if (value.IsNull()) return "null";
    return value.IsInt64() || value.IsUint64() ? "an integer" : "a number";
}

std::string listed(const Value& values) {
    if (!values.IsArray()) return text_of(values);
    std::string out;
    for (const Value& each : values.GetArray()) {
        if (!out.empty()) out += ", ";
        out += text_of(each);
    }
    return out;
}

// Describes the violation. Returns an empty string for rules without a text of their own; the
// caller then names the rule.
std::string fault_of(std::string_view rule, const Value& schema, const Value& value) {
    const auto part = [&](const char* name) -> const Value* {
        const auto found = schema.FindMember(name);
        return found == schema.MemberEnd() ? nullptr : &found->value;
    };
    if (rule == "type" && part("type") != nullptr) {
        return std::string("is ") + type_of(value) + ", and must be " + listed(*part("type"));
    }
    if (rule == "enum" && part("enum") != nullptr) {
        return "is " + text_of(value) + ", and must be one of " + listed(*part("enum"));
    }
    const Value* known = part("properties");
    if (rule == "additionalProperties" && known != nullptr && known->IsObject()) {
        std::string names;
        for (const auto& each : known->GetObject()) {
            names += (names.empty() ? "" : ", ") + text_of(each.name);
        }
        return "is unknown; it takes " + (names.empty() ? "nothing" : names);
    }
    if (!value.IsObject()) return "";
    if (rule == "required" && part("required") != nullptr && part("required")->IsArray()) {
        for (const Value& name : part("required")->GetArray()) {
            if (name.IsString() && !value.HasMember(name)) return text_of(name) + " is missing";
        }
    }
    return "";
}

}  // namespace

std::string check_input(std::string_view schema_text, std::string_view request_text) {
    rapidjson::Document schema_document;
    rapidjson::Document request;
    schema_document.Parse(schema_text.data(), schema_text.size());
    request.Parse(request_text.data(), request_text.size());
    if (schema_document.HasParseError()) return "the tool's input schema is no JSON";
    if (request.HasParseError() || !request.IsObject() || !request.HasMember("input")) {
        return "the request has no input";
    }
    const rapidjson::SchemaDocument schema(schema_document);
    rapidjson::SchemaValidator validator(schema);
    if (request["input"].Accept(validator)) return "";
    rapidjson::StringBuffer where;
    rapidjson::StringBuffer rule;
    validator.GetInvalidDocumentPointer().Stringify(where);
    validator.GetInvalidSchemaPointer().Stringify(rule);
    const Value* broken = validator.GetInvalidSchemaPointer().Get(schema_document);
    const Value* value = validator.GetInvalidDocumentPointer().Get(request["input"]);
    const std::string fault = broken != nullptr && broken->IsObject() && value != nullptr
                                  ? fault_of(validator.GetInvalidSchemaKeyword(), *broken, *value)
                                  : "";
    return "the input breaks the tool's schema at \"/input" + std::string(where.GetString()) +
           "\": " +
           (!fault.empty() ? fault
                           : std::string("\"") + validator.GetInvalidSchemaKeyword() +
                                 "\" (the schema's \"" + rule.GetString() + "\")");
}

}  // namespace narratoria::tool
