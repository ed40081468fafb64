// SPDX-License-Identifier: Apache-2.0
#pragma once
// The question to the template narrator: the fields that it reads of a narrator-request/1.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {

// Members of a plan's metadata.
inline constexpr std::string_view kAnswer = "answer";  // PromptAnswer::pointer
inline constexpr std::string_view kEnding = "ending";  // of the story
inline constexpr std::string_view kRules = "rules";    // the pointers of those that were applied
inline constexpr std::string_view kCaptures = "captures";  // for the texts after the tools

// Points into the document.
struct TemplateRequest {
    explicit TemplateRequest(json::Value document);

    bool disables(std::string_view skill) const;

    std::string_view prompt;
    int64_t generation_attempt = 1;
    std::string_view parent_plan_id = "null";  // JSON
    std::vector<std::string_view> disabled_skills;
    json::Value previous_result;  // an object, or empty
    std::string_view answered;    // kAnswer of the previous plan
    Bindings captured;            // of the previous plan
    uint64_t random = 0;          // differs for each request
};

}  // namespace narratoria::session
