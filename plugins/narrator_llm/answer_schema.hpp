// SPDX-License-Identifier: Apache-2.0
#pragma once
// The JSON Schema that a server is asked to keep an answer to. Servers support different parts of JSON
// Schema, and some refuse what they do not support, so it has only what all of them understand: no
// $ref, no pattern, no formats, and bounds on every string and array. The answer is checked anyway.

#include <rapidjson/document.h>

#include <string>
#include <vector>

namespace narratoria::llm {

struct ToolDescription {
    std::string name;
    std::string description;
    const rapidjson::Value* input_schema = nullptr;  // NULL: any object
};

// `tools` may be empty. The narrative comes first, because servers write in the order of the schema.
std::string answer_schema(const std::vector<ToolDescription>& tools);

}  // namespace narratoria::llm
