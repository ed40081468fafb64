// SPDX-License-Identifier: Apache-2.0
#include "tool/input_check.hpp"

#include <rapidjson/document.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

namespace narratoria::tool {

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
    return "the input breaks the tool's schema at \"/input" + std::string(where.GetString()) +
           "\": \"" + validator.GetInvalidSchemaKeyword() + "\" (the schema's \"" +
           rule.GetString() + "\")";
}

}  // namespace narratoria::tool
