// SPDX-License-Identifier: Apache-2.0
#pragma once
// ToolSchema, the form of spec 002: a list of parameters and the type of the result. Converts to
// JSON Schema, and back as far as the form goes.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

// NuwaType: "string", "number", "boolean", "null", "array", "object" or "any".
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

    // True for an object in this form rather than in JSON Schema: it has "parameters", and none of
    // "$schema", "$ref", "type" and "properties".
    static bool is_one(json::Value value);
    // Reads {"name", "description", "parameters", "returns"}. False with all faults; their pointers
    // begin with `pointer`, and their bytes refer to the text of the value's tape. "name" and
    // "description" of the tool may be missing where the surrounding document has them.
    bool read(json::Value value, const std::string& pointer, Faults& faults);
    std::string to_json() const;

    // JSON Schema texts. A member that no parameter names is allowed, as in spec 002.
    std::string input_schema() const;
    std::string result_schema() const;
    // Both, compiled. `result` is NULL without "returns".
    struct Compiled {
        std::shared_ptr<const Schema> input;
        std::shared_ptr<const Schema> result;
    };
    Compiled compile(Faults& faults) const;

    // What `input` and `result` (NULL: any) come to in this form. A type that it does not have, for
    // example "integer" or a choice of two, becomes the next wider one.
    static ToolSchema of(std::string_view name, std::string_view description, const Schema* input,
                         const Schema* result);
};

// The faults of arguments in the words of Nuwa Script's ToolArgumentError: "Parameter 'o.k':
// Expected number, received string (Expected number, received string); Parameter 'l.1': …".
std::string describe_as_parameters(const SchemaFaults& faults);

}  // namespace narratoria::tool
