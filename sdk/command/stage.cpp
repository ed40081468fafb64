// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "display.hpp"
#include "interruption.hpp"
#include "file.hpp"
#include "json.hpp"

namespace narratoria::command {
namespace {

// Lines of a length that is pleasant to read, however wide the terminal is.
constexpr std::size_t kWidest = 76;
constexpr std::size_t kBatch = 64 * 1024;
constexpr std::chrono::milliseconds kClock{100};

std::string text_of(const json::Value& value, std::string_view name) {
    return printable(json::text(value, name));
}

// narrative_choice with a list of texts (spec 000 §4.4); anything else is shown as it is.
bool is_choice(const json::Value& body) {
    const json::Value* payload = json::member(body, "payload");
    const json::Value* choices = payload != nullptr ? json::member(*payload, "choices") : nullptr;
    return json::text(body, "event") == "narrative_choice" && choices != nullptr &&
           choices->IsArray() &&
           std::all_of(choices->Begin(), choices->End(),
                       [](const json::Value& choice) { return choice.IsString(); });
}

}  // namespace

Stage::Stage() : style_(Style::for_descriptor(STDOUT_FILENO)) {
    if (is_capable_terminal(STDOUT_FILENO)) live_ = std::make_unique<LiveRegion>(STDOUT_FILENO, interruption::cursor_keeper());
}

std::uint32_t Stage::wanted_kinds() noexcept {
    return kinds(Kind::kToolEvent, Kind::kNarrative, Kind::kToolStarted, Kind::kToolEnded,
                 Kind::kAttemptStarted, Kind::kAssetRefused, Kind::kWarning);
}

std::size_t Stage::width() const { return live_ ? std::min(live_->width(), kWidest) : kWidest; }

void Stage::line(const std::string& text) {
    changed_ = true;
    const bool empty_first = gap_ && anything_said_;
    gap_ = false;
    anything_said_ = true;
    if (live_) {
        if (empty_first) live_->above("");
        live_->above(text);
        return;
    }
    if (empty_first) text_ += '\n';
    text_ += text;
    text_ += '\n';
    if (text_.size() >= kBatch) refresh();
}

void Stage::title(std::string_view text) {
    if (text.empty()) return;
    const std::string shown = cut(printable(text), width() - std::min<std::size_t>(width(), 2));
    std::string rule;
    for (std::size_t column = 0; column < columns(shown); ++column) rule += "─";
    line("  " + style_.title(shown));
    line("  " + style_.dim(rule));
    gap();
}

void Stage::player_says(std::string_view text) {
    gap();
    const std::string shown = printable(text);
    line(fmt::format("{} {}", style_.cyan("›"), style_.bold(shown)));
    gap();
}

void Stage::prompt_sign() {
    settle();
    if (gap_ && anything_said_) write_all(STDOUT_FILENO, "\n");
    gap_ = false;
    write_all(STDOUT_FILENO, style_.cyan("›") + " ");
}

void Stage::narrate(std::string_view text) {
    last_narrative_ = text;
    gap();
    const std::size_t room = std::max<std::size_t>(width(), 12) - 2;
    for (const std::string& one : wrap(text, room)) line(one.empty() ? one : "  " + one);
    gap();
}

void Stage::take(const Event& event) {
    changed_ = true;
    switch (event.kind()) {
        case Kind::kNarrative: narrate(json::text(json::read(event.body()), "text")); break;
        case Kind::kToolEvent: take_tool_event(event); break;
        case Kind::kAssetRefused: {
            const json::Document body = json::read(event.body());
            const std::string_view id = json::text(body, "assetId");
            const auto announced =
                std::find_if(assets_.rbegin(), assets_.rend(), [&](const Asset& asset) {
                    return asset.tool == event.tool_id() && asset.id == id;
                });
            if (announced != assets_.rend()) assets_.erase(std::next(announced).base());
            line("    " + style_.yellow(fmt::format("! {} was not taken: {}", printable(id),
                                                    text_of(body, "message"))));
            break;
        }
        case Kind::kToolEnded:
            show_assets_of(event.tool_id());
            say_ended(board_.ended(event), errors_[std::string(event.tool_id())]);
            errors_.erase(std::string(event.tool_id()));
            break;
        case Kind::kWarning:
            line("    " + style_.dim("! " + text_of(json::read(event.body()), "message")));
            break;
        default: break;
    }
    board_.note(event);
}

void Stage::take_tool_event(const Event& event) {
    if (event.type() == Type::kAsset) {
        // Shown with the tool's end: a refusal of it may still come.
        const json::Document body = json::read(event.body());
        std::string about = text_of(body, "mediaType");
        if (const json::Value* metadata = json::member(body, "metadata")) {
            const auto wide = json::number(*metadata, "width");
            const auto high = json::number(*metadata, "height");
            if (wide && high) about += fmt::format(", {:g} × {:g}", *wide, *high);
        }
        assets_.push_back({std::string(event.tool_id()), std::string(json::text(body, "assetId")),
                           fmt::format("    {} {} {}", style_.cyan("◆"), text_of(body, "path"),
                                       style_.dim(fmt::format("({} {}, {})", text_of(body, "kind"),
                                                              text_of(body, "assetId"), about)))});
    } else if (event.type() == Type::kUiEvent) {
        const json::Document body = json::read(event.body());
        if (is_choice(body)) return;
        const json::Value* payload = json::member(body, "payload");
        line(fmt::format("    {} {}{}", style_.yellow("□"), text_of(body, "event"),
                         style_.dim(payload != nullptr ? " " + printable(json::line(*payload)) +
                                                             " (this terminal cannot show it)"
                                                       : " (this terminal cannot show it)")));
    } else if (event.type() == Type::kError) {
        const json::Document body = json::read(event.body());
        std::string said =
            fmt::format("{}: {}", text_of(body, "errorCode"), text_of(body, "errorMessage"));
        // The same again, from the next attempt, tells the player nothing.
        std::string& before = errors_[std::string(event.tool_id())];
        if (said == before) return;
        line("    " + style_.red("! " + said));
        before = std::move(said);
    }
}

void Stage::show_assets_of(std::string_view tool) {
    for (auto asset = assets_.begin(); asset != assets_.end();) {
        if (asset->tool != tool) {
            ++asset;
            continue;
        }
        line(asset->line);
        asset = assets_.erase(asset);
    }
}

void Stage::say_ended(const EndedTool& tool, std::string_view last_error) {
    std::string sign = style_.red("✗");
    if (tool.state == "completed") sign = style_.green("✓");
    if (tool.state == "skipped") sign = style_.dim("–");
    std::string about = tool.name;
    if (tool.state != "skipped") about += ", " + duration(tool.seconds);
    if (tool.retries > 0) about += ", " + counted(tool.retries + 1, "attempt");
    const std::string_view fallback =
        tool.state == "completed" ? "done" : std::string_view(tool.state);
    line(fmt::format("    {} {} {}", sign,
                     tool.text.empty() || tool.text == last_error ? fallback : tool.text,
                     style_.dim("(" + about + ")")));
}

void Stage::turn_ended(Outcome outcome, std::string_view narrative,
                       const std::vector<std::string>& choices) {
    assets_.clear();
    if (!narrative.empty() && narrative != last_narrative_) narrate(narrative);
    last_narrative_.clear();
    gap();
    if (outcome == Outcome::kCancelled) line("  " + style_.dim("(the turn was cancelled)"));
    if (outcome == Outcome::kTimeout) line("  " + style_.dim("(the turn took too long)"));
    if (!choices.empty()) {
        for (std::size_t index = 0; index < choices.size(); ++index) {
            line(fmt::format("    {} {}", style_.cyan(fmt::format("{}.", index + 1)),
                             printable(choices[index])));
        }
    }
    gap();
    settle();
}

void Stage::remark(std::string_view text) {
    gap();
    line("  " + style_.dim(printable(text)));
    gap();
    settle();
}

std::optional<LiveRegion::Clock::time_point> Stage::next_look() const {
    if (!live_) return std::nullopt;
    if (changed_) return live_->allowed();
    if (board_.running() > 0) return live_->allowed() + (kClock - LiveRegion::kInterval);
    return std::nullopt;
}

void Stage::refresh() {
    if (!live_) {
        if (broken_ == 0 && !text_.empty() && !write_all(STDOUT_FILENO, text_)) broken_ = errno;
        text_.clear();
        return;
    }
    const std::optional<LiveRegion::Clock::time_point> due = next_look();
    if (!due || LiveRegion::Clock::now() < *due) return;
    std::vector<std::string> lines =
        board_.lines(style_, std::max<std::size_t>(width(), 5) - 4, live_->height());
    for (std::string& one : lines) one.insert(0, "    ");
    live_->draw(lines);
    changed_ = false;
}

void Stage::settle() {
    if (live_) {
        live_->close();
    } else {
        refresh();
    }
}

}  // namespace narratoria::command
