// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts tools to the function formats of language model interfaces.

#include <cstdint>
#include <string>
#include <string_view>

#include "tool/definition.hpp"

namespace narratoria::tool {

enum class ModelForm : uint8_t {
    Openai,  // {"type": "function", "function": {"name", "description", "parameters"}}
    Mcp,     // {"name", "description", "inputSchema", "outputSchema"?}
};

// Appends a tool in a format. Returns false and sets `why` to a message if the format cannot
// express it.
bool append_for_model(std::string& out, const Definition& definition, ModelForm form,
                      std::string& why);

}  // namespace narratoria::tool
