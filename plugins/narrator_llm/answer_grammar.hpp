// SPDX-License-Identifier: Apache-2.0
#pragma once
// The grammar that a server of llama.cpp's family is asked to keep an answer to, in its notation
// (GBNF). It names the tools; what their schemas say is only checked afterwards.

#include <string>
#include <vector>

#include "narrator_llm/answer_schema.hpp"

namespace narratoria::llm {

// `tools` may be empty.
std::string answer_grammar(const std::vector<ToolDescription>& tools);

}  // namespace narratoria::llm
