// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the player reads in a turn: the narratives and what the tools say, as paragraphs. The store
// keeps it, so that a game that continues can show it again.

#include <string>
#include <string_view>

#include "plan/result.hpp"

namespace narratoria::session {

// Joins two texts as paragraphs.
std::string joined(std::string_view first, std::string_view second);

// What a tool says to the player: its summary, or the message of its last error if it failed
// without a summary. The runtime's reason for a failure is for authors.
std::string_view said_by(const plan::ToolResult& tool);

// Engine thread only.
class Told {
public:
    // A narrative takes the place of what the tools of a continued plan said.
    void add_narrative(std::string_view text);
    // Adds a tool of a plan. Words that the plan's narrative has are not repeated.
    void add_tool(const plan::ToolResult& tool, std::string_view narrative = {});
    void add_plan(const plan::Result& result);
    // The turn has ended.
    void end();
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::string waiting_;  // what the tools of a continued plan said
};

}  // namespace narratoria::session
