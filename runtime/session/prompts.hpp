// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reader of prompts.json, the answers of the template narrator. Validating a story and answering
// from it share this reader.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "session/mention.hpp"
#include "session/prompt_pattern.hpp"

namespace narratoria::session {

inline constexpr const char* kPromptsJson = "prompts.json";

// A plan or a narrative. Names in braces are not expanded yet.
struct PromptAnswer {
    enum class Kind : uint8_t { Plan, Narrative };
    Kind kind = Kind::Narrative;
    std::string text;  // Plan: JSON, requestId optional; Narrative: a template
};

struct PromptEntry {
    std::vector<PromptPattern> patterns;
    std::vector<PromptAnswer> answers;  // in order of preference
};

// The content of a prompts.json.
struct Prompts {
    std::vector<PromptEntry> entries;
    std::optional<PromptAnswer> unmatched;

    // The tools of the plans, except those with a path that depends on the prompt.
    std::vector<Mention> tool_paths;
    // Warnings of duplicate keys, and of members of plans with a name similar to a defined one.
    Faults warnings;
};

// Parses the text of a prompts.json. Faults, warnings and mentions have a line and column. Faults
// are sorted by position.
Prompts read_prompts(std::string_view text, Faults& faults);

}  // namespace narratoria::session
