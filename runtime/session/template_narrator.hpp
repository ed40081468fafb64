// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in narrator: answers prompts by the patterns of a story's prompts.json, at once and
// without a model (spec 003 §14.1 "Narrator AI Stub").

#include <string>
#include <string_view>
#include <utility>

#include "base/json/tape.hpp"
#include "plugin/library.hpp"
#include "session/prompts.hpp"

namespace narratoria::session {

class TemplateNarrator {
public:
    explicit TemplateNarrator(Prompts prompts) : prompts_(std::move(prompts)) {}

    // Plan JSON for a document of schema narrator-request/1. Never a plan with a skill that the
    // request disables (spec 003 §13.6).
    std::string answer(json::Value request) const;

private:
    Prompts prompts_;
};

// The same as a plugin, which is how a session asks it: built in, with no file. Its settings hold the
// text of the story's prompts.json.
const plugin::Library& template_narrator_library();
std::string template_narrator_settings(std::string_view prompts_text);

}  // namespace narratoria::session
