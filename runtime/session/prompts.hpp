// SPDX-License-Identifier: Apache-2.0
#pragma once
// prompts.json: what the template narrator answers. Checking a story and answering from it use the
// same reader.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "session/prompt_pattern.hpp"

namespace narratoria::session {

inline constexpr const char* kPromptsJson = "prompts.json";

// What the template narrator says: a plan, or words alone. Names in braces are still in it.
struct PromptAnswer {
    enum class Kind : uint8_t { Plan, Narrative };
    Kind kind = Kind::Narrative;
    std::string text;  // Plan: JSON, perhaps without requestId; Narrative: a template
};

struct PromptEntry {
    std::vector<PromptPattern> patterns;
    std::vector<PromptAnswer> answers;  // in order of preference
};

// The content of a prompts.json.
struct Prompts {
    std::vector<PromptEntry> entries;
    std::optional<PromptAnswer> unmatched;
};

// Reads the text of a prompts.json. The faults carry their line and column, in the order of the
// text.
Prompts read_prompts(std::string_view text, Faults& faults);

}  // namespace narratoria::session
