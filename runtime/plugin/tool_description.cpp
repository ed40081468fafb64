// SPDX-License-Identifier: Apache-2.0
#include "plugin/tool_description.hpp"

#include <algorithm>
#include <string_view>

#include "base/given_struct.hpp"
#include "base/json/writer.hpp"
#include "base/utf8.hpp"
#include "narratoria/engine.h"

namespace narratoria::plugin {
namespace {

constexpr size_t kMaxName = 128;

std::string_view view(nar_str text) {
    return text.data == nullptr ? std::string_view()
                                : std::string_view(text.data, static_cast<size_t>(text.size));
}

bool is_tool_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxName &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
           });
}

// Returns NULL with a refusal, or without one for the schema that is not given.
std::shared_ptr<const tool::Schema> compile(nar_str given, const char* code, const char* what,
                                            std::string_view name, ToolRefusal& refusal) {
    std::string text = utf8::repaired(view(given));
    if (text.empty()) return nullptr;
    Faults faults;
    auto schema = tool::Schema::compile(text, faults);
    if (schema != nullptr) return schema;
    refusal.code = code;
    refusal.message = json::quoted(name) + " has " + what +
                      " that is no JSON Schema: " + describe_faults(faults, text);
    std::replace(refusal.message.begin(), refusal.message.end(), '\n', ' ');
    refusal.faults = std::move(faults);
    refusal.schema = std::move(text);
    return nullptr;
}

}  // namespace

std::shared_ptr<tool::Definition> read_tool(const nar_tool* given, ToolRefusal& refusal) {
    nar_tool read;
    read_struct(given, read);
    const std::string_view name = view(read.name);
    if (!is_tool_name(name)) {
        refusal.code = "TOOL_NAME";
        refusal.message = json::quoted(utf8::repaired(name.substr(0, kMaxName))) +
                          " has no valid name: 1 to 128 letters, digits, _ and - only";
        return nullptr;
    }
    auto definition = std::make_shared<tool::Definition>();
    definition->name = name;
    definition->description = utf8::repaired(view(read.description));
    definition->input =
        compile(read.input_schema, "INPUT_SCHEMA", "an input schema", name, refusal);
    definition->result =
        compile(read.result_schema, "RESULT_SCHEMA", "a result schema", name, refusal);
    if (!refusal.code.empty()) return nullptr;
    definition->waits = (read.flags & NAR_TOOL_WAITS) != 0;
    definition->answers_at_once = (read.flags & NAR_TOOL_ANSWERS_AT_ONCE) != 0;
    if (read.try_ms != 0) definition->try_ms = read.try_ms == NAR_NONE ? 0 : read.try_ms;
    return definition;
}

}  // namespace narratoria::plugin
