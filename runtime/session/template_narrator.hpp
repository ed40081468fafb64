// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in narrator: answers prompts by the patterns of a story's prompts.json, at once and
// without a model (spec 003 §14.1 "Narrator AI Stub").

#include <string>

#include "base/json.hpp"
#include "session/story.hpp"

namespace narratoria::session {

class TemplateNarrator {
public:
    explicit TemplateNarrator(const Story& story) : prompts_(story.prompts) {}

    // Plan JSON for a document of schema narrator-request/1. Never a plan with a skill that the
    // request disables (spec 003 §13.6).
    std::string answer(json::Value request) const;

private:
    Prompts prompts_;
};

}  // namespace narratoria::session
