// SPDX-License-Identifier: Apache-2.0
#include "tool/tool_schema.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/schema/program.hpp"

namespace narratoria::tool {
namespace {

constexpr struct {
    std::string_view name;
    uint8_t types;
} kTypes[] = {{"string", StringBit}, {"number", NumberBits}, {"boolean", BooleanBit},
              {"null", NullBit},     {"array", ArrayBit},    {"object", ObjectBit},
              {"any", AllTypes}};

std::string_view nuwa_type(uint8_t types) {
    for (const auto& each : kTypes) {
        if (types != 0 && (types & ~each.types) == 0) return each.name;
    }
    return "any";
}

void append_type(json::ObjectWriter& writer, std::string_view type) {
    if (type != "any") writer.string("type", type);
}

class Reader {
public:
    Reader(json::Value root, std::string pointer, Faults& faults)
        : root_(root), pointer_(std::move(pointer)), faults_(faults) {}

    void fault(json::Value at, const char* name, std::string message) {
        std::string pointer = pointer_ + json::pointer_to(root_, at.index());
        if (name != nullptr) json::append_pointer(pointer, std::string_view(name));
        const auto byte = static_cast<size_t>(at.raw().data() - at.tape().source().data());
        faults_.push_back({"tool-schema", std::move(pointer), byte, std::move(message), ""});
    }
    void text(json::Value object, const char* name, std::string& out) {
        const json::Value value = object.find(name);
        if (!value) return;
        if (value.is_string()) out = value.text();
        else fault(value, nullptr, json::quoted(name) + " must be a string");
    }
    void type(json::Value value, std::string& out) {
        if (value.is_string() && is_nuwa_type(value.text())) {
            out = value.text();
            return;
        }
        fault(value, nullptr,
              "a type must be \"string\", \"number\", \"boolean\", \"null\", \"array\", \"object\" "
              "or \"any\"");
    }
    void parameter(json::Value value, ToolParameter& out) {
        if (!value.is_object()) {
            fault(value, nullptr, "a parameter must be an object");
            return;
        }
        text(value, "name", out.name);
        if (!value.find("name")) fault(value, "name", "\"name\" is missing");
        else if (value.find("name").is_string() && out.name.empty()) {
            fault(value.find("name"), nullptr, "\"name\" must not be empty");
        } else if (!names_.insert(out.name).second) {
            fault(value.find("name"), nullptr,
                  "two parameters have the name " + json::quoted(out.name));
        }
        text(value, "description", out.description);
        if (const json::Value named = value.find("type")) type(named, out.type);
        else fault(value, "type", "\"type\" is missing");
        const json::Value required = value.find("required");
        if (required && !required.is_boolean()) {
            fault(required, nullptr, "\"required\" must be true or false");
        } else if (required) {
            out.required = required.boolean();
        }
    }

private:
    json::Value root_;
    std::string pointer_;
    Faults& faults_;
    std::unordered_set<std::string> names_;
};

std::string_view type_word(json::Type type) {
    switch (type) {
        case json::Type::Null: return "null";
        case json::Type::False:
        case json::Type::True: return "boolean";
        case json::Type::Number: return "number";
        case json::Type::String: return "string";
        case json::Type::Array: return "array";
        case json::Type::Object: return "object";
    }
    return "unknown";
}

std::string expected_words(uint8_t types) {
    std::string out;
    for (const auto& each : kTypes) {
        if (each.types == AllTypes || (types & each.types) == 0) continue;
        if (!out.empty()) out += " | ";
        out += (types & each.types) == IntegerBit ? "integer" : std::string(each.name);
    }
    return out;
}

std::string dotted(std::string_view pointer) {
    std::string out;
    for (size_t i = 1; i < pointer.size(); ++i) {
        if (pointer[i] == '~' && i + 1 < pointer.size()) out += pointer[++i] == '1' ? '/' : '~';
        else out += pointer[i] == '/' ? '.' : pointer[i];
    }
    return out;
}

}  // namespace

bool is_nuwa_type(std::string_view name) {
    return std::any_of(std::begin(kTypes), std::end(kTypes),
                       [name](const auto& each) { return each.name == name; });
}

bool ToolSchema::is_one(json::Value value) {
    if (!value.is_object() || !value.find("parameters")) return false;
    return !value.find("$schema") && !value.find("$ref") && !value.find("type") &&
           !value.find("properties");
}

bool ToolSchema::read(json::Value value, const std::string& pointer, Faults& faults) {
    const size_t before = faults.size();
    Reader reader(value, pointer, faults);
    if (!value.is_object()) {
        reader.fault(value, nullptr, "a tool schema must be an object");
        return false;
    }
    reader.text(value, "name", name);
    reader.text(value, "description", description);
    if (const json::Value type = value.find("returns")) {
        has_returns = true;
        reader.type(type, returns);
    }
    const json::Value list = value.find("parameters");
    if (!list) {
        reader.fault(value, "parameters", "\"parameters\" is missing");
    } else if (!list.is_array()) {
        reader.fault(list, nullptr, "\"parameters\" must be an array of parameters");
    } else {
        for (const json::Value each : list.elements()) {
            reader.parameter(each, parameters.emplace_back());
        }
    }
    return faults.size() == before;
}

std::string ToolSchema::to_json() const {
    std::string out;
    json::ObjectWriter writer(out);
    writer.string("name", name).string("description", description).key("parameters");
    out += '[';
    for (const ToolParameter& each : parameters) {
        if (out.back() != '[') out += ',';
        json::ObjectWriter(out)
            .string("name", each.name)
            .string("description", each.description)
            .string("type", each.type)
            .boolean("required", each.required)
            .end();
    }
    out += ']';
    writer.string("returns", returns).end();
    return out;
}

std::string ToolSchema::input_schema() const {
    std::string out;
    json::ObjectWriter writer(out);
    writer.string("type", "object").key("properties");
    json::ObjectWriter properties(out);
    std::string required;
    for (const ToolParameter& each : parameters) {
        properties.key(each.name);
        json::ObjectWriter property(out);
        append_type(property, each.type);
        if (!each.description.empty()) property.string("description", each.description);
        property.end();
        if (!each.required) continue;
        if (!required.empty()) required += ',';
        json::append_string(required, each.name);
    }
    properties.end();
    if (!required.empty()) writer.raw("required", '[' + required + ']');
    writer.end();
    return out;
}

std::string ToolSchema::result_schema() const {
    std::string out;
    json::ObjectWriter writer(out);
    append_type(writer, returns);
    writer.end();
    return out;
}

ToolSchema::Compiled ToolSchema::compile(Faults& faults) const {
    return {Schema::compile(input_schema(), faults),
            has_returns ? Schema::compile(result_schema(), faults) : nullptr};
}

ToolSchema ToolSchema::of(std::string_view name, std::string_view description, const Schema* input,
                          const Schema* result) {
    ToolSchema out;
    out.name = name;
    out.description = description;
    if (result != nullptr) out.returns = nuwa_type(result->types());
    if (input == nullptr) return out;
    for (const Schema::Member& each : input->members()) {
        out.parameters.push_back({std::string(each.name), std::string(each.description),
                                  std::string(nuwa_type(each.types)), each.required});
    }
    return out;
}

std::string describe_as_parameters(const SchemaFaults& faults) {
    std::string out;
    for (const SchemaFault& fault : faults) {
        if (!out.empty()) out += "; ";
        out += "Parameter '" + dotted(fault.pointer) + "': ";
        const std::string received(fault.received ? type_word(*fault.received) : "undefined");
        if (fault.expected == 0) {
            out += fault.received ? fault.message : "Required";
            continue;
        }
        const std::string types =
            "Expected " + expected_words(fault.expected) + ", received " + received;
        out += (fault.received ? types : std::string("Required")) + " (" + types + ")";
    }
    return out;
}

}  // namespace narratoria::tool
