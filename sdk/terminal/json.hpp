// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads JSON from the library, and writes the JSON that the command creates.

#include <rapidjson/document.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::terminal::json {

using Value = rapidjson::Value;
using Document = rapidjson::Document;

// Parses a text that the library made or has validated. Invalid JSON becomes null.
Document read(std::string_view text);
// The same, in a pool that must outlive the value.
Value read(std::string_view text, Document::AllocatorType& pool);

// A member, or NULL. If the name is repeated, the last one, as in the runtime.
const Value* member(const Value& object, std::string_view name);
// A member's string, or the empty text if it is missing or not a string.
std::string_view text(const Value& object, std::string_view name);
// The strings of a list; NULL and other values have none.
std::vector<std::string> texts(const Value* list);
// A member's number, or nothing.
std::optional<double> number(const Value& object, std::string_view name);
// A member's whole number, or 0.
std::uint64_t count(const Value& object, std::string_view name);

// The offset of the first byte that is not UTF-8, or nothing.
std::optional<std::size_t> ill_formed_utf8(std::string_view text);

// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string quoted(std::string_view text);
// Any value on one line.
std::string line(const Value& value);

// The place and the message of the first fault in a text that must be one JSON object.
struct ObjectError {
    std::size_t line;    // from 1
    std::size_t column;  // from 1, in bytes
    std::string message;
};
std::optional<ObjectError> object_error(std::string_view text);

// The line, from 1, at which each object of a text begins, by its JSON Pointer. Names are not escaped.
// Of invalid JSON, the lines of the objects before the fault.
std::map<std::string, std::size_t> object_lines(std::string_view text);

}  // namespace narratoria::terminal::json
