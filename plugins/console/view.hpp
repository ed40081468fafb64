// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the player sees of a session on a terminal: narrative, the tools at work, pictures, choices.
// Live where the terminal can, plain text elsewhere.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "live_region.hpp"
#include "narratoria/plugin.hpp"
#include "style.hpp"
#include "tool_board.hpp"

namespace narratoria::console {

class View {
public:
    // On standard output; `broken` is called once, with errno, when it cannot be written any more.
    explicit View(std::function<void(int)> broken);

    static constexpr std::uint32_t kWanted =
        kinds(Kind::ToolEvent, Kind::Prompt, Kind::Narrative, Kind::PlanEnded, Kind::ToolStarted,
              Kind::ToolEnded, Kind::AttemptStarted, Kind::AssetRefused, Kind::Warning,
              Kind::UiPlaceholder, Kind::AssetPlaceholder, Kind::TurnEnded);
    void take(const plugin::Event& event);

    // True when these are choices, which are shown when the plan has ended well.
    bool take_choices(std::string_view payload);
    void show(const plugin::Asset& asset);

    // Draws what is due; the time until something will be again.
    std::optional<std::chrono::milliseconds> refresh();

private:
    // Nobody tells a plugin that its process was stopped and continued: a display that stood still
    // although a tool was running was not ours to move.
    class Keeper : public terminal::CursorKeeper {
    public:
        void hides_cursor_on(int) override {}
        bool was_continued() override { return std::exchange(was_late, false); }
        bool was_late = false;
    };

    std::size_t width() const;
    void line(const std::string& text);
    // One empty line before what comes next, however often it is asked for.
    void gap() { gap_ = true; }
    void narrate(std::string_view text);
    void take_error(const plugin::Event& event);
    void take_warning(const plugin::Event& event);
    void say_refused();
    void say_warning(std::string sign, std::string_view message);
    void say_ended(const terminal::EndedTool& tool, std::string_view last_error);
    void say_diagnostics(std::string_view text);
    void say_asset(std::string_view path, std::string_view kind, std::string_view id,
                   std::string_view media_type, std::string_view metadata);
    void end_plan(bool success);
    // Takes the live lines off; what is said next stands where they were.
    void settle();
    void flush();

    terminal::Style style_;
    terminal::ToolBoard board_;
    Keeper keeper_;
    std::unique_ptr<terminal::LiveRegion> live_;
    std::function<void(int)> broken_;
    std::string text_;
    std::vector<std::string> choices_;
    std::unordered_map<std::string, std::string> errors_;  // the last of each running tool
    // The refusals of plans since something else happened, and how often each came: a narrator that
    // does not look at faults makes the same plan five times.
    std::vector<std::pair<std::string, std::size_t>> refused_;
    std::chrono::steady_clock::time_point due_{};
    // Whoever plays has said something already: a title, the player's words.
    bool gap_ = true;
    bool changed_ = false;
    bool is_broken_ = false;
};

}  // namespace narratoria::console
