// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in narrator. Answers prompts from the patterns of a story's prompts.json, synchronously
// and without a model (spec 003 §14.1 "Narrator AI Stub").

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/json/tape.hpp"
#include "plugin/library.hpp"
#include "session/prompts.hpp"
#include "state/tree.hpp"

namespace narratoria::session {

// Immutable, so thread-safe.
class TemplateNarrator {
public:
    explicit TemplateNarrator(std::shared_ptr<const Prompts> prompts)
        : prompts_(std::move(prompts)) {}

    struct Reply {
        std::string plan;   // Plan JSON
        std::string patch;  // of the state, to be applied before the plan; or empty
        std::string fault;  // why there is no plan: what the answer sets is impossible; or empty
    };
    // Replies to a document of schema narrator-request/1. The plan never uses a skill that the
    // request disables (spec 003 §13.6).
    Reply answer(json::Value request, const state::Tree& state) const;

private:
    std::shared_ptr<const Prompts> prompts_;  // not NULL
};

// The narrator as a built-in plugin without a file. Sessions use this form, so all narrators share
// one path. The settings hold the text of the story's prompts.json.
const plugin::Library& template_narrator_library();
std::string template_narrator_settings(std::string_view prompts_text);

}  // namespace narratoria::session
