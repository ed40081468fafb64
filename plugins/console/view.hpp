// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shows a session on standard output: narrative, running tools, images, choices. The display is
// live on a capable terminal and plain text elsewhere.

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

// Used on the engine's thread.
class View {
public:
    // Calls `broken` once, with errno, when standard output can no longer be written.
    // `is_verbose`: also shows what helps an author: the names, times and codes of tools, warnings,
    // standard error and the paths of assets. Otherwise a player sees the story's own words only.
    View(bool is_verbose, std::function<void(int)> broken);

    static constexpr std::uint32_t kWanted =
        kinds(Kind::ToolEvent, Kind::Prompt, Kind::Narrative, Kind::PlanStarted, Kind::PlanEnded,
              Kind::ToolStarted, Kind::ToolEnded, Kind::AttemptStarted, Kind::AssetRefused,
              Kind::Warning, Kind::UiPlaceholder, Kind::AssetPlaceholder, Kind::TurnEnded,
              Kind::NarrativeDelta, Kind::NarrativeRetracted);
    void take(const plugin::Event& event);

    // False if the payload is not a valid list of choices. Choices are shown when the turn ends, or
    // when a plan without a turn succeeds.
    bool take_choices(std::string_view payload);
    void show(const plugin::Asset& asset);

    // Draws pending changes. Returns the time until the next call is needed, if any.
    std::optional<std::chrono::milliseconds> refresh();

private:
    // A plugin is not notified when its process is stopped and continued. A long pause between
    // refreshes while a tool is running indicates that; the cursor may have moved meanwhile.
    class Keeper : public terminal::CursorKeeper {
    public:
        void hides_cursor_on(int) override {}
        bool was_continued() override { return std::exchange(was_late, false); }
        bool was_late = false;
    };

    std::size_t width() const;
    void line(const std::string& text);
    // Puts one empty line before the next output, however often it is called.
    void gap() { gap_ = true; }
    void narrate(std::string_view text);
    // The narrative that is being told in pieces: writes its whole lines, and returns the last one,
    // which may still grow.
    std::string write_pieces();
    // Writes what follows the pieces told so far; false if the text does not begin with them.
    bool complete_pieces(std::string_view text);
    void take_back_pieces();
    void take_error(const plugin::Event& event);
    void take_warning(const plugin::Event& event);
    void say_refused();
    // Writes a line of a list, wrapped. `sign` takes one column.
    void say_item(std::string_view sign, std::string_view text, std::string_view about = {});
    void say_warning(std::string sign, std::string_view message);
    void say_ended(const terminal::EndedTool& tool, std::string_view last_error);
    void say_diagnostics(std::string_view text);
    void say_asset(std::string_view path, std::string_view kind, std::string_view id,
                   std::string_view media_type, std::string_view metadata);
    void say_untold();
    void say_usage(std::string_view turn);
    void say_choices();
    void end_plan(bool success);
    // Removes the live lines; the next output takes their place.
    void settle();
    void flush();

    terminal::Style style_;
    terminal::ToolBoard board_;
    Keeper keeper_;
    std::unique_ptr<terminal::LiveRegion> live_;
    bool is_verbose_;
    std::function<void(int)> broken_;
    std::string text_;
    std::string pieces_;             // of a narrative, told before it is whole
    std::size_t pieces_width_ = 0;   // its width, which stays when the terminal is resized
    std::size_t written_lines_ = 0;  // of its lines
    std::vector<std::string> choices_;
    bool in_turn_ = false;
    // The running plan has "continue": what its tools say is told only if the narrator tells
    // nothing after it.
    bool continues_ = false;
    std::vector<std::string> untold_;
    std::string ending_;                                   // of the story, if this turn ends it
    std::unordered_map<std::string, std::string> errors_;  // by tool id: its last error, as shown
    // Plan refusals since the last event of a different kind, with the count of each. A narrator
    // that ignores faults produces the same plan in all five attempts.
    std::vector<std::pair<std::string, std::size_t>> refused_;
    std::chrono::steady_clock::time_point due_{};
    // True at first: the host has printed something already, such as a title or the player's
    // prompt.
    bool gap_ = true;
    bool changed_ = false;
    bool is_broken_ = false;
};

}  // namespace narratoria::console
