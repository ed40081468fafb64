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
#include "tool/limits.hpp"

namespace narratoria::session {

inline constexpr const char* kTemplateNarrator = plugin::kBuiltInNarrator;

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
    bool names_narrator = false;  // `narrator` stands in story.toml
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
    std::string prompts_text;  // prompts.json as it was read; empty when there is none
};

// The rule of the one fault that is there when the folder itself is not, or is none.
inline constexpr const char* kStoryFolderRule = "story-folder";

// Reads and checks a story; nothing, and every fault, when it breaks a rule. The faults carry their
// file, line and column.
std::optional<Story> load_story(const std::string& folder, Faults& faults);

}  // namespace narratoria::session
