// SPDX-License-Identifier: Apache-2.0
#pragma once
// ToolSchema, the form of spec 002: a list of parameters and the type of the result. Converts to
// JSON Schema, and from JSON Schema with loss of detail.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

// True for a NuwaType: "string", "number", "boolean", "null", "array", "object" or "any".
bool is_nuwa_type(std::string_view name);

struct ToolParameter {
    std::string name;
    std::string description;
    std::string type = "any";
    bool required = true;
};

struct ToolSchema {
    std::string name;
    std::string description;
    std::vector<ToolParameter> parameters;
    std::string returns = "any";
    bool has_returns = false;

    // True if an object is in this form, not in JSON Schema: it has "parameters" and none of
    // "$schema", "$ref", "type" and "properties".
    static bool is_one(json::Value value);
    // Reads {"name", "description", "parameters", "returns"}. Returns false and appends all faults
    // if the value is invalid. Their pointers begin with `pointer`; their bytes are offsets in the
    // text of the value's tape. "name" and "description" of the tool are optional.
    bool read(json::Value value, const std::string& pointer, Faults& faults);
    std::string to_json() const;

    // Return JSON Schema texts. Additional members of the input are allowed, as in spec 002.
    std::string input_schema() const;
    std::string result_schema() const;
    // Both schemas, compiled. `result` is NULL without "returns".
    struct Compiled {
        std::shared_ptr<const Schema> input;
        std::shared_ptr<const Schema> result;
    };
    Compiled compile(Faults& faults) const;

    // Converts `input` and `result` (NULL: any) to this form. A type that the form does not have,
    // for example "integer" or a choice of two, becomes the next wider one.
    static ToolSchema of(std::string_view name, std::string_view description, const Schema* input,
                         const Schema* result);
};

// Describes faults of arguments in the words of Nuwa Script's ToolArgumentError: "Parameter 'o.k':
// Expected number, received string (Expected number, received string); Parameter 'l.1': …".
std::string describe_as_parameters(const SchemaFaults& faults);

}  // namespace narratoria::tool
