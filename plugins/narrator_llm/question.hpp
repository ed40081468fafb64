// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request of the session (narrator-request-1), and what the model is shown of it.

#include <rapidjson/document.h>

#include <string>
#include <string_view>
#include <vector>

#include "narrator_llm/answer_schema.hpp"
#include "narrator_llm/conversation.hpp"
#include "narratoria/plugin.hpp"

namespace narratoria::llm {

// The metadata of a plan, for Question::notes(); empty if there is nothing to note.
std::string to_metadata(const Notes& notes);

class Question {
public:
    Question(std::string_view json, plugin::Reply reply);

    const plugin::Reply& reply() const { return reply_; }
    std::string prompt() const;
    // Identifies the prompt: its time and text.
    std::string stamp() const;
    // False if a plan was made for this prompt already, or an answer could not be used.
    bool is_first() const;
    // How many plans of this turn were continued.
    std::uint64_t continuation() const;

    // The turns before this prompt, the oldest first.
    std::vector<SeenTurn> turns() const;
    // Why the last answer was not used, a line for each reason; empty: it was.
    std::string faults() const;
    // What the tools of the last plan said; empty if there was no plan.
    std::string results() const;
    // What was noted with the last plan before this prompt.
    Notes notes() const;
    // The state as text, and these parts of it; empty if there is none.
    Ending state(const std::vector<std::string>& facts) const;
    // The tools that the answer may name, by name. They refer to this question.
    std::vector<ToolDescription> tools() const;

private:
    rapidjson::Document request_;
    plugin::Reply reply_;
};

}  // namespace narratoria::llm
