// SPDX-License-Identifier: Apache-2.0
#include "session/template_request.hpp"

#include <algorithm>

namespace narratoria::session {
namespace {

// The member of an object, or an empty Value.
json::Value member(json::Value object, std::string_view key) {
    return object && object.is_object() ? object.find(key) : json::Value();
}

std::string_view text_of(json::Value object, std::string_view key) {
    const json::Value text = member(object, key);
    return text && text.is_string() ? text.text() : std::string_view();
}

int64_t number_of(json::Value object, std::string_view key, int64_t missing) {
    const json::Value number = member(object, key);
    return number ? number.integer().value_or(missing) : missing;
}

}  // namespace

TemplateRequest::TemplateRequest(json::Value document)
    : prompt(text_of(member(document, "prompt"), "text")),
      generation_attempt(number_of(document, "generationAttempt", 1)),
      random(
          static_cast<uint64_t>(number_of(document, "random", 0)) +
          static_cast<uint64_t>(generation_attempt * 8 + number_of(document, "continuation", 0))) {
    if (const json::Value id = member(document, "parentPlanId"); id && id.is_string()) {
        parent_plan_id = id.raw();
    }
    if (const json::Value result = member(document, "previousResult");
        result && result.is_object()) {
        previous_result = result;
        const json::Value metadata = member(document, "previousMetadata");
        answered = text_of(metadata, kAnswer);
        if (const json::Value captures = member(metadata, kCaptures);
            captures && captures.is_object()) {
            for (const json::Member each : captures.members()) {
                if (each.value.is_string()) captured.push_back({each.key, each.value.text()});
            }
        }
    }
    if (const json::Value skills = member(document, "disabledSkills");
        skills && skills.is_array()) {
        for (const json::Value skill : skills.elements()) {
            if (skill.is_string()) disabled_skills.push_back(skill.text());
        }
    }
}

bool TemplateRequest::disables(std::string_view skill) const {
    return std::find(disabled_skills.begin(), disabled_skills.end(), skill) !=
           disabled_skills.end();
}

}  // namespace narratoria::session
