// SPDX-License-Identifier: Apache-2.0
#include "tool/model_form.hpp"

#include <algorithm>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"

namespace narratoria::tool {
namespace {

constexpr const char* kAnyObject = R"({"type":"object"})";

// The rules of a format for names.
struct Names {
    size_t longest;
    bool has_dots;
    const char* owner;
};

Names names_of(ModelForm form) {
    if (form == ModelForm::Openai) return {64, false, "an OpenAI function"};
    return {128, true, "a tool of the Model Context Protocol"};
}

bool allows(const Names& names, std::string_view name) {
    return !name.empty() && name.size() <= names.longest &&
           std::all_of(name.begin(), name.end(), [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || (c == '.' && names.has_dots);
           });
}

bool is_object(json::Value type) { return type && type.is_string() && type.text() == "object"; }

// Returns the input schema in the form that both formats require: an object with "type": "object".
// An input is always an object, so the result allows the same inputs. Returns an empty string and
// sets `why` if the schema allows no object.
std::string input_schema(const Schema* schema, std::string& why) {
    if (schema == nullptr) return kAnyObject;
    const json::Value root = schema->document();
    if (root.is_boolean()) {
        if (root.boolean()) return kAnyObject;
        why = "its input schema is false, which allows no input";
        return {};
    }
    std::string text = schema->text();
    json::Document document;
    json::ParseError error;
    document.parse(text, error);
    const json::Value type = document.root().find("type");
    if (!type) {
        text.insert(1, root.empty() ? R"("type":"object")" : R"("type":"object",)");
        return text;
    }
    if (is_object(type)) return text;
    if (type.is_array()) {
        for (const json::Value each : type.elements()) {
            if (!is_object(each)) continue;
            const auto at = static_cast<size_t>(type.raw().data() - document.text().data());
            return text.replace(at, type.raw().size(), "\"object\"");
        }
    }
    why = "the \"type\" of its input schema is " + std::string(type.raw()) +
          " but must be \"object\", because every input is an object";
    return {};
}

}  // namespace

bool append_for_model(std::string& out, const Definition& definition, ModelForm form,
                      std::string& why) {
    const Names names = names_of(form);
    if (!allows(names, definition.name)) {
        why = std::string("the name of ") + names.owner + " must consist of 1 to " +
              std::to_string(names.longest) + " letters, digits, _" +
              (names.has_dots ? ", ." : "") + " and -";
        return false;
    }
    const std::string input = input_schema(definition.input.get(), why);
    if (input.empty()) return false;
    json::ObjectWriter writer(out);
    if (form == ModelForm::Openai) {
        writer.string("type", "function").key("function");
        json::ObjectWriter(out)
            .string("name", definition.name)
            .string("description", definition.description)
            .raw("parameters", input)
            .end();
    } else {
        writer.string("name", definition.name)
            .string("description", definition.description)
            .raw("inputSchema", input);
        // In the protocol, structured results must be objects.
        if (definition.result != nullptr && definition.result->document().is_object() &&
            is_object(definition.result->document().find("type"))) {
            writer.raw("outputSchema", definition.result->text());
        }
    }
    writer.end();
    return true;
}

}  // namespace narratoria::tool
