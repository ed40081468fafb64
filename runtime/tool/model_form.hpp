// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tools in the forms in which models' interfaces take functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "tool/definition.hpp"

namespace narratoria::tool {

enum class ModelForm : uint8_t {
    Openai,  // {"type": "function", "function": {"name", "description", "parameters"}}
    Mcp,     // {"name", "description", "inputSchema", "outputSchema"?}
};

// Appends a tool in a form. False if the form cannot express it; `why` then says why, for people.
bool append_for_model(std::string& out, const Definition& definition, ModelForm form,
                      std::string& why);

}  // namespace narratoria::tool
