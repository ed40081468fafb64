// SPDX-License-Identifier: Apache-2.0
// JSON Schema. Input: a schema, a newline, a value. A refused schema has a reason and a position;
// an accepted one gives the same verdict with and without listing faults, within its limits.

#include <string>

#include "base/bytes/utf8.hpp"
#include "require.hpp"
#include "tool/schema/schema.hpp"
#include "tool/tool_schema.hpp"

using namespace narratoria;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t newline = input.find('\n');
    const std::string_view text = input.substr(0, newline);
    Faults faults;
    const auto schema = tool::Schema::compile(text, faults);
    REQUIRE((schema == nullptr) == !faults.empty());
    REQUIRE(faults.size() <= tool::Schema::kMaxFaults);
    for (const Fault& fault : faults) {
        REQUIRE(!fault.rule.empty() && !fault.message.empty());
        REQUIRE(fault.byte <= text.size());
        REQUIRE(fault.pointer.empty() || fault.pointer[0] == '/');
        REQUIRE(utf8::is_valid(fault.message));
    }
    if (schema == nullptr) return 0;

    // Its conversion to the form of spec 002 is also a valid schema.
    const tool::ToolSchema form = tool::ToolSchema::of("t", "", schema.get(), schema.get());
    REQUIRE(tool::Schema::compile(form.input_schema(), faults) != nullptr);
    REQUIRE(tool::Schema::compile(form.result_schema(), faults) != nullptr);

    if (newline == std::string_view::npos) return 0;
    json::Document value;
    json::ParseError error;
    if (!value.parse(input.substr(newline + 1), error)) return 0;
    const tool::SchemaFaults found = schema->check(value.root());
    REQUIRE(found.empty() == schema->accepts(value.root()));
    REQUIRE(found.size() <= tool::Schema::kMaxFaults);
    for (const tool::SchemaFault& fault : found) {
        REQUIRE(!fault.message.empty() && utf8::is_valid(fault.message));
        REQUIRE(fault.pointer.empty() || fault.pointer[0] == '/');
    }
    REQUIRE(describe(found, "/input").empty() == found.empty());
    REQUIRE(tool::describe_as_parameters(found).empty() == found.empty());
    return 0;
}
