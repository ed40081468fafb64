// SPDX-License-Identifier: Apache-2.0
#pragma once
// A story: a folder with story.toml and, for the template narrator, prompts.json.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "plugin/metadata.hpp"
#include "script/program.hpp"
#include "session/mention.hpp"
#include "tool/limits.hpp"
#include "tool/sandbox_rules.hpp"

namespace narratoria::session {

inline constexpr const char* kTemplateNarrator = plugin::kBuiltInIds[0];

struct Story {
    // Milliseconds; 0: no timeout. Unset: the story does not set it.
    struct Times {
        std::optional<uint32_t> try_ms;
        std::optional<uint32_t> plan_ms;
        std::optional<uint32_t> narrator_ms;
        std::optional<uint32_t> prompt_ms;
        std::optional<uint32_t> grace_ms;
        std::optional<uint32_t> narrator_first_ms;
        std::optional<uint32_t> narrator_between_ms;
    };
    // 0 or unset: the story sets no limit.
    struct Limits : tool::LimitOverrides {
#define NARRATORIA_LIMIT(name, type, least, text) std::optional<type> name;
        NAR_SESSION_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    };

    std::string folder;  // absolute
    std::string title;
    std::string language;  // a BCP 47 language tag; empty: not set
    // The text and choices that the player sees before the first prompt, as a JSON object
    // {"text": "…", "choices": ["…"]}. Empty if the story has no [opening].
    std::string opening;
    std::string state;  // of a new session: a JSON object; empty: {}
    std::string narrator = kTemplateNarrator;
    bool names_narrator = false;  // story.toml sets `narrator`
    Times times;
    Limits limits;
    // Absolute. Empty: tools are not restricted. A story with an empty list forbids all tools; this
    // then holds one root that no path can be below.
    std::vector<std::string> allow_paths;
    std::vector<std::string> allow_schemes;  // in addition; see Resolver::restrict_to()
    std::vector<std::pair<std::string, std::string>> environment;
    tool::SandboxRules sandbox;  // [sandbox] and [tools."NAME"]
    // Narratives for a turn in which no plan succeeded (spec 003 §13.6). Templates for
    // expand_template() with the name {prompt}.
    std::vector<std::string> fallback_templates;
    std::map<std::string, std::string> plugins;  // settings: plugin id → JSON object
    std::string prompts_text;                    // prompts.json unchanged; empty if there is none
    std::string state_schema;                // state.schema.json unchanged; empty if there is none
    std::optional<std::string> script_text;  // of the narrator, if it is a valid script

    // The names in story.toml, with their positions.
    struct Mentions {
        std::vector<Mention> allow_paths;
        std::vector<Mention> plugins;
        // The tables, arrays and values in the settings of plugins, by JSON Pointer.
        std::map<std::string, Fault> settings;
        std::vector<Mention> choices;     // of the opening
        std::vector<Mention> sandboxed;   // tables named after a tool: [tools."NAME"]
        Fault state;                      // of the table [state]
        std::optional<Mention> narrator;  // unless it is the built-in one
    };
    Mentions mentions;
};

// True if the narrator's name is that of a Nuwa Script file.
bool is_script(std::string_view narrator);
// Reads the script `name` of a story and compiles it. Returns NULL and appends a fault if it cannot
// be read or is not valid.
std::shared_ptr<const script::Program> read_script(const Story& story, const std::string& name,
                                                   std::string& text, Faults& faults);

// The fault of a story without the prompts.json that its narrator needs. It names a file with a
// similar name. Reads the story's folder.
Fault missing_prompts(const Story& story);

// The rule of the fault for a story's folder that is missing or is not a folder; it is the only
// one.
inline constexpr const char* kStoryFolderRule = "story-folder";

// Reads and validates a story. Returns nothing if it breaks a rule; `faults` then holds all faults,
// each with file, line and column.
std::optional<Story> load_story(const std::string& folder, Faults& faults);

// Like load_story(), for an author: also appends warnings about probable mistakes and about files,
// plugins and tools that do not exist on this machine (story_check.hpp). The faults and warnings of
// each file are sorted by position.
void check_story(const std::string& folder, Faults& faults);

}  // namespace narratoria::session
