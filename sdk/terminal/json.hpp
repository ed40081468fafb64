// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading the JSON that the library gives, and writing the little that the command makes itself.

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::terminal::json {

using Value = rapidjson::Value;
using Document = rapidjson::Document;

// Of a text that the library made or has checked; a text that is none becomes null.
Document read(std::string_view text);
// The same, in a pool that outlives the value.
Value read(std::string_view text, Document::AllocatorType& pool);

// A member, or nothing. Of several with the name it is the last, as for the runtime.
const Value* member(const Value& object, std::string_view name);
// A member's string, or the empty text when it is missing or something else.
std::string_view text(const Value& object, std::string_view name);
// A member's number, or nothing.
std::optional<double> number(const Value& object, std::string_view name);
// A member's whole number, or 0.
std::uint64_t count(const Value& object, std::string_view name);

// Where a text stops being UTF-8; nothing if all of it is.
std::optional<std::size_t> ill_formed_utf8(std::string_view text);

// A string with its quotes; bytes that are no UTF-8 become U+FFFD.
std::string quoted(std::string_view text);
// Any value on one line.
std::string line(const Value& value);

// Where a text that should be one JSON object goes wrong.
struct Mistake {
    std::size_t line;    // from 1
    std::size_t column;  // from 1, in bytes
    std::string message;
};
std::optional<Mistake> mistake_in_object(std::string_view text);

}  // namespace narratoria::terminal::json
