// SPDX-License-Identifier: Apache-2.0
#pragma once
// A story: a folder with story.toml and, for the template narrator, prompts.json.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "plugin/metadata.hpp"
#include "session/prompt_pattern.hpp"
#include "tool/limits.hpp"

namespace narratoria::session {

inline constexpr const char* kTemplateNarrator = plugin::kBuiltInNarrator;

// What the template narrator says: a plan, or words alone. Names in braces are still in it.
struct Answer {
    enum class Kind : uint8_t { Plan, Narrative };
    Kind kind = Kind::Narrative;
    std::string text;  // Plan: JSON, perhaps without requestId; Narrative: a template
};

struct PromptEntry {
    std::vector<PromptPattern> patterns;
    std::vector<Answer> answers;  // in order of preference
};

// prompts.json; empty when the story has none.
struct Prompts {
    std::vector<PromptEntry> entries;
    std::optional<Answer> unmatched;
};

struct Story {
    // Milliseconds, 0: none. Nothing: the story does not say.
    struct Times {
        std::optional<uint32_t> try_ms;
        std::optional<uint32_t> plan_ms;
        std::optional<uint32_t> narrator_ms;
        std::optional<uint32_t> prompt_ms;
        std::optional<uint32_t> grace_ms;
    };
    // 0: no limit of the story's own. Nothing: the story does not say.
    struct Limits : tool::LimitOverrides {
#define NARRATORIA_LIMIT(name, type, least, text) std::optional<type> name;
        NAR_SESSION_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    };

    std::string folder;  // absolute
    std::string title;
    std::string narrator = kTemplateNarrator;
    Times times;
    Limits limits;
    // Absolute; empty: tools are not restricted. A story that lists none allows none: then this is
    // a single root that nothing can lie below.
    std::vector<std::string> allow_paths;
    std::vector<std::pair<std::string, std::string>> environment;
    // What is told when no plan came to a good end (spec 003 §13.6); for expand_template, with
    // {prompt}.
    std::vector<std::string> fallback_templates;
    std::map<std::string, std::string> plugins;  // settings by plugin id, a JSON object each
    Prompts prompts;
    std::string prompts_text;  // prompts.json as it was read; empty when there is none
};

// The rule of the one fault that is there when the folder itself is not, or is none.
inline constexpr const char* kStoryFolderRule = "story-folder";

// Reads and checks a story; nothing, and every fault, when it breaks a rule. The faults carry their
// file, line and column.
std::optional<Story> load_story(const std::string& folder, Faults& faults);

// Reads the text of a prompts.json; the faults carry their line and column.
void read_prompts(const std::string& text, Prompts& prompts, Faults& faults);

}  // namespace narratoria::session
