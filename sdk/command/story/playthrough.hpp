// SPDX-License-Identifier: Apache-2.0
#pragma once
// A story that is played without a terminal, to test it.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "narratoria/engine.hpp"

namespace narratoria::command::story {

struct FailedTool {
    std::string error;   // "tools/door: the lock is jammed"
    std::string answer;  // that ran it, a JSON Pointer into prompts.json; or empty
    std::uint64_t retries = 0;
};

struct PlayedTurn {
    // What a player reads: the narratives, and what the tools say, as paragraphs.
    std::string told;
    std::vector<std::string> choices;
    Outcome outcome = Outcome::Cancelled;
    std::string ending;                // the name of the story's ending, or empty
    std::vector<std::string> answers;  // JSON Pointers into prompts.json
    std::vector<std::string> rules;    // the same, of those in "after" that were applied
    std::vector<std::string> tools;    // the toolPaths that ran
    std::vector<FailedTool> failed_tools;
    // The answer of the last plan. Empty if the story had none, and from other narrators than the
    // template narrator.
    std::string last_answer;
    std::string warning;  // the last one; why the turn did not succeed

    // True if a tool failed and the story had no answer to that. Always false with other narrators
    // than the template narrator.
    bool has_untold_failure() const;
};

// One game of a story, with all its tools.
class Playthrough {
public:
    // `state`: a JSON object in place of the story's [state], or empty. Throws Error.
    Playthrough(Engine& engine, const std::string& folder, std::uint64_t seed,
                std::string_view state = {});

    std::string opening_text() const;
    // The choices of the opening, or of the last turn.
    const std::vector<std::string>& choices() const noexcept { return choices_; }
    PlayedTurn prompt(std::string_view text);
    // The value at a JSON Pointer as JSON, or empty if the state has none.
    std::string state(std::string_view pointer) const;

private:
    void take(const Event& event);

    Engine& engine_;
    Session session_;
    std::vector<std::string> choices_;
    PlayedTurn turn_;
    std::map<std::string, std::string, std::less<>> paths_;  // by toolId
};

}  // namespace narratoria::command::story
