// SPDX-License-Identifier: Apache-2.0
#include "plugin/tool_description.hpp"

#include <algorithm>
#include <string_view>

#include "base/bytes/utf8.hpp"
#include "base/given_struct.hpp"
#include "base/json/pointer.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/strict_keys.hpp"
#include "base/view.hpp"
#include "narratoria/engine.h"
#include "tool/tool_schema.hpp"

namespace narratoria::plugin {
namespace {

constexpr size_t kMaxToolName = 128;

bool is_tool_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxToolName &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
           });
}

// Fills `refusal` for the faults of the schema `text`. `what` is the beginning of the message.
void refuse(const char* code, std::string what, Faults faults, std::string text,
            ToolRefusal& refusal) {
    refusal.code = code;
    refusal.message = std::move(what) + ": " + describe_faults(faults, text);
    std::replace(refusal.message.begin(), refusal.message.end(), '\n', ' ');
    refusal.faults = std::move(faults);
    refusal.schema = std::move(text);
}

// Returns NULL with a refusal if the schema is not valid, and NULL without one if `text` is empty.
std::shared_ptr<const tool::Schema> compile(std::string text, const char* code, const char* what,
                                            std::string_view name, ToolRefusal& refusal) {
    if (text.empty()) return nullptr;
    Faults faults;
    auto schema = tool::Schema::compile(text, faults);
    if (schema != nullptr) return schema;
    refuse(code, json::quoted(name) + " has " + what + " that is not a valid JSON Schema",
           std::move(faults), std::move(text), refusal);
    return nullptr;
}

// Reads the input schema `root` (with the text `text`) in the form of spec 002. Returns false and a
// refusal if it is not valid.
bool read_form(json::Value root, const std::string& text, bool has_result_schema,
               tool::Definition& definition, ToolRefusal& refusal) {
    Faults faults;
    const auto fault = [&](json::Value at, std::string message) {
        faults.push_back({"tool-schema", json::pointer_to(root, at.index()),
                          static_cast<size_t>(at.raw().data() - at.tape().source().data()),
                          std::move(message), ""});
    };
    static constexpr std::array<std::string_view, 4> kNames = {"name", "description", "parameters",
                                                               "returns"};
    const KnownKeys known(kNames);
    for (const json::Member member : root.members()) {
        if (known.has(member.key)) continue;
        fault(member.value, json::quoted(member.key) + " is not a key of a tool schema" +
                                known.suggestion(member.key));
    }
    tool::ToolSchema schema;
    schema.read(root, "", faults);
    if (!schema.name.empty() && schema.name != definition.name) {
        fault(root.find("name"), "the name must be the tool's name, " +
                                     json::quoted(definition.name) + ", not " +
                                     json::quoted(schema.name));
    }
    if (schema.has_returns && has_result_schema) {
        fault(root.find("returns"),
              "both \"returns\" and the result schema describe the result; give one of them");
    }
    if (faults.empty()) {
        tool::ToolSchema::Compiled compiled = schema.compile(faults);
        definition.input = std::move(compiled.input);
        definition.result = std::move(compiled.result);
        definition.result_is_advice = schema.has_returns;
    }
    if (faults.empty()) {
        if (definition.description.empty()) definition.description = schema.description;
        return true;
    }
    refuse("INPUT_SCHEMA",
           json::quoted(definition.name) +
               " has an input schema that is not a valid tool schema (a schema with \"parameters\" "
               "has the form of spec 002)",
           std::move(faults), text, refusal);
    return false;
}

}  // namespace

std::shared_ptr<tool::Definition> read_tool(const nar_tool* given, ToolRefusal& refusal) {
    nar_tool read;
    const std::string fault = read_struct(given, read);
    const std::string_view name = fault.empty() ? view(read.name) : "";
    if (!fault.empty()) {
        refusal.code = "TOOL_STRUCT";
        refusal.message = "has a description that is not valid: nar_tool " + fault;
        return nullptr;
    }
    if (!is_tool_name(name)) {
        refusal.code = "TOOL_NAME";
        refusal.message = json::quoted(utf8::repaired(name.substr(0, kMaxToolName))) +
                          " has no valid name; use 1 to 128 letters, digits, _ and -";
        return nullptr;
    }
    const std::pair<const char*, nar_str> texts[] = {{"description", read.description},
                                                     {"input schema", read.input_schema},
                                                     {"result schema", read.result_schema}};
    for (const auto& [what, text] : texts) {
        if (!lacks_data(text)) continue;
        refusal.code = "TOOL_STRUCT";
        refusal.message = json::quoted(name) + " has NULL as the data of its " + what +
                          ", with the size " + std::to_string(text.size) +
                          "; an empty text has the size 0";
        return nullptr;
    }
    auto definition = std::make_shared<tool::Definition>();
    definition->name = name;
    definition->description = utf8::repaired(view(read.description));
    std::string input = utf8::repaired(view(read.input_schema));
    std::string result = utf8::repaired(view(read.result_schema));
    json::Document document;
    json::ParseError error;
    if (document.parse(input, error) && tool::ToolSchema::is_one(document.root())) {
        if (!read_form(document.root(), input, !result.empty(), *definition, refusal)) {
            return nullptr;
        }
    } else {
        definition->input =
            compile(std::move(input), "INPUT_SCHEMA", "an input schema", name, refusal);
    }
    if (!result.empty()) {
        definition->result =
            compile(std::move(result), "RESULT_SCHEMA", "a result schema", name, refusal);
    }
    if (!refusal.code.empty()) return nullptr;
    constexpr uint32_t kKnown = NAR_TOOL_WAITS | NAR_TOOL_SYNCHRONOUS | NAR_TOOL_NOT_REPEATABLE;
    if ((read.flags & ~kKnown) != 0) {
        refusal.code = "TOOL_FLAGS";
        refusal.message = json::quoted(name) +
                          " has unknown flags: " + std::to_string(read.flags & ~kKnown) +
                          "; use NAR_TOOL_… of tool.h";
        return nullptr;
    }
    definition->waits = (read.flags & NAR_TOOL_WAITS) != 0;
    definition->repeatable = (read.flags & NAR_TOOL_NOT_REPEATABLE) == 0;
    definition->is_synchronous = (read.flags & NAR_TOOL_SYNCHRONOUS) != 0;
    if (read.try_ms != 0) definition->try_ms = read.try_ms == NAR_NONE ? 0 : read.try_ms;
    return definition;
}

}  // namespace narratoria::plugin
