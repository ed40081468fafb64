// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reader of prompts.json, the answers of the template narrator. Validating a story and answering
// from it share this reader.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "session/mention.hpp"
#include "session/prompt_pattern.hpp"

namespace narratoria::session {

inline constexpr const char* kPromptsJson = "prompts.json";

// One answer, or a rule of "after", which has no plan. The values are empty or point into
// Prompts::document; names in braces are not expanded yet. A text is a string, or a list of variants.
struct PromptAnswer {
    std::string pointer;    // in prompts.json
    Fault place;            // without rule and message
    json::Value when;       // a condition
    json::Value plan;       // requestId is optional
    json::Value narrative;  // a text, told first
    json::Value success;    // a text, told after the tools of the plan have succeeded
    json::Value failure;    // a text, told if they have not
    json::Value set;        // changes of the state, after success
    json::Value choices;    // a list, see PromptChoice
    json::Value ending;     // a string: the story ends with this answer, after success

    bool has_tools() const;
};

// A prompt that is offered to the player: a string, or {"text": …, "when": …}.
struct PromptChoice {
    explicit PromptChoice(json::Value value)
        : text(value.is_object() ? value.find("text") : value),
          when(value.is_object() ? value.find("when") : json::Value()) {}
    json::Value text;
    json::Value when;  // a condition, or empty
};

struct PromptEntry {
    std::vector<PromptPattern> patterns;
    std::vector<Mention> mentions;      // of the patterns
    json::Value when;                   // a condition, or empty
    std::vector<PromptAnswer> answers;  // in order of preference

    // True if a pattern matches; `captures` are then those of the first one.
    bool matches(const PlayerWords& words, Bindings& captures) const;
};

// The content of a prompts.json.
struct Prompts {
    std::shared_ptr<const json::Document> document;  // empty if it could not be parsed
    std::vector<PromptEntry> entries;
    std::vector<PromptAnswer> unmatched;             // in order of preference
    std::vector<PromptAnswer> after;                 // rules that follow each answer of an entry
    json::Value conditions;                          // by name, see evaluate(); or empty
    std::vector<json::Member> capturing_conditions;  // those that need captures, in order
    json::Value always;                              // choices that every answer offers; or empty
    json::Value hints;  // choices for a prompt that nothing matches; or empty
    Vocabulary vocabulary;

    // The tools of the plans, except those with a path that depends on the prompt.
    std::vector<Mention> tool_paths;
    bool has_other_tools = false;  // with such a path
    // Texts that a tool gets, or that the state does, and that look like the path of a picture, a
    // sound or a video.
    std::vector<Mention> media_files;
    std::vector<Mention> choices;  // except those with names
    // Uses of the state, with pattern_of_pointer() of their pointers. `operand` is a JSON value with
    // which the state's value is compared, or to which it is set; empty if the use does not determine
    // the type.
    struct StateUse {
        Mention pointer = {};
        std::string operand = {};
        bool is_set = false;  // the answer sets the value
        // "+", "add" or "remove" if that changes the value, "<", "<=", ">" or ">=" if that compares
        // it, "count" if that counts its members, or kNames.
        std::string operation = {};

        // A capture takes the names at the pointer.
        static constexpr std::string_view kNames = "names";
    };
    std::vector<StateUse> state_uses;
    // Warnings of duplicate keys, and of members of plans with a name similar to a defined one.
    Faults warnings;
};

// Parses the text of a prompts.json. Faults, warnings and mentions have a line and column. Faults
// are sorted by position. Thread-safe.
//
// The last text without faults stays in memory, unless it is very long: if it is read again, the
// result is the same object. A session reads its prompts twice, as the host and as the narrator, and
// the next session of the story reads them again.
std::shared_ptr<const Prompts> read_prompts(std::string_view text, Faults& faults);

}  // namespace narratoria::session
