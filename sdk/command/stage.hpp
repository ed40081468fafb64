// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the player sees of a session, on standard output: narrative, the tools at work, their assets,
// the choices. Live on a terminal, plain text elsewhere.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "live_region.hpp"
#include "message.hpp"
#include "narratoria/engine.hpp"
#include "tool_board.hpp"

namespace narratoria::command {

class Stage {
public:
    Stage();

    // The story's name, above everything.
    void title(std::string_view text);
    // The player's words, shown where the player did not type them on this terminal.
    void player_says(std::string_view text);
    // What the player is asked with, on a terminal.
    void prompt_sign();
    // The player's terminal moved on by a line: the prompt was typed, or input ended.
    void player_typed() { gap_ = true; }

    static std::uint32_t wanted_kinds() noexcept;
    // The sink.
    void take(const Event& event);
    void turn_ended(Outcome outcome, std::string_view narrative,
                    const std::vector<std::string>& choices);
    // A remark of the game about itself, not part of the story.
    void remark(std::string_view text);

    void refresh();
    std::optional<LiveRegion::Clock::time_point> next_look() const;
    bool is_live() const noexcept { return live_ != nullptr; }
    // Takes the live lines off; what is said next stands where they were.
    void settle();

    // errno when standard output can no longer be written: its reader went away (EPIPE), or its disk
    // is full; otherwise 0.
    int broken() const noexcept { return broken_; }

private:
    struct Asset {
        std::string tool;
        std::string id;
        std::string line;
    };

    std::size_t width() const;
    void line(const std::string& text);
    // One empty line before what comes next, however often it is asked for.
    void gap() { gap_ = true; }
    void narrate(std::string_view text);
    void take_tool_event(const Event& event);
    void show_assets_of(std::string_view tool);
    void say_ended(const EndedTool& tool, std::string_view last_error);

    Style style_;
    ToolBoard board_;
    std::unique_ptr<LiveRegion> live_;
    std::string text_;
    std::string last_narrative_;
    std::vector<Asset> assets_;  // announced, and not yet known to be taken
    std::unordered_map<std::string, std::string> errors_;  // the last of each running tool
    bool gap_ = false;
    bool anything_said_ = false;
    bool changed_ = false;
    int broken_ = 0;
};

}  // namespace narratoria::command
