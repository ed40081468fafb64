// SPDX-License-Identifier: Apache-2.0
#include "view.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "display.hpp"
#include "json.hpp"
#include "output.hpp"
#include "picture.hpp"
#include "story_text.hpp"

namespace narratoria::console {
namespace {

using namespace terminal;
using std::chrono::milliseconds;

constexpr std::size_t kPictureRows = 16;
constexpr std::size_t kDiagnosticsRows = 5;
constexpr std::size_t kBatch = 64 * 1024;
constexpr milliseconds kClock{100};
constexpr milliseconds kStoodStill{1000};

std::string text_of(const json::Value& value, std::string_view name) {
    return printable(json::text(value, name));
}

// A member of the plan that a PlanStarted has, or NULL.
const json::Value* member_of_plan(const json::Document& body, std::string_view name) {
    const json::Value* plan = json::member(body, "plan");
    return plan != nullptr ? json::member(*plan, name) : nullptr;
}

}  // namespace

View::View(bool is_verbose, std::function<void(int)> broken)
    : style_(Style::for_descriptor(STDOUT_FILENO)),
      is_verbose_(is_verbose),
      broken_(std::move(broken)) {
    if (is_capable_terminal(STDOUT_FILENO)) {
        live_ = std::make_unique<LiveRegion>(STDOUT_FILENO, keeper_);
    }
}

std::size_t View::width() const {
    return live_ ? std::min(live_->width(), kStoryWidth) : kStoryWidth;
}

void View::line(const std::string& text) {
    changed_ = true;
    const bool empty_first = std::exchange(gap_, false);
    if (live_) {
        if (empty_first) live_->above("");
        live_->above(text);
        return;
    }
    if (empty_first) text_ += '\n';
    text_ += text;
    text_ += '\n';
    if (text_.size() >= kBatch) flush();
}

void View::narrate(std::string_view text) {
    gap();
    for (const std::string& one : narrative_lines(text, width())) line(one);
    gap();
}

std::string View::write_pieces() {
    const std::vector<std::string> lines = narrative_lines(pieces_, pieces_width_);
    while (written_lines_ + 1 < lines.size()) line(lines[written_lines_++]);
    return lines.empty() ? std::string() : lines.back();
}

bool View::complete_pieces(std::string_view text) {
    const std::vector<std::string> told = narrative_lines(pieces_, pieces_width_);
    const std::vector<std::string> lines = narrative_lines(text, pieces_width_);
    const auto written = static_cast<std::ptrdiff_t>(written_lines_);
    if (lines.size() < written_lines_ ||
        !std::equal(lines.begin(), lines.begin() + written, told.begin())) {
        return false;
    }
    pieces_.clear();
    for (std::size_t at = written_lines_; at < lines.size(); ++at) line(lines[at]);
    gap();
    return true;
}

void View::take_back_pieces() {
    const std::string last = write_pieces();
    pieces_.clear();
    if (!last.empty()) line(last);
    line("  " + style_.dim("(taken back)"));
    gap();
}

void View::take(const plugin::Event& event) {
    changed_ = true;
    if (event.kind() != Kind::Warning) say_refused();
    switch (event.kind()) {
        case Kind::Prompt:
            choices_.clear();
            in_turn_ = true;
            gap();
            break;
        case Kind::PlanStarted: {
            // A plan may be large, and few have these members.
            continues_ = false;
            ending_.clear();
            if (event.body().find("\"continue\"") == std::string_view::npos &&
                event.body().find("\"ending\"") == std::string_view::npos) {
                break;
            }
            const json::Document body = json::read(event.body());
            const json::Value* flag = member_of_plan(body, "continue");
            continues_ = flag != nullptr && flag->IsBool() && flag->GetBool();
            const json::Value* metadata = member_of_plan(body, "metadata");
            if (metadata != nullptr) ending_ = json::text(*metadata, "ending");
            break;
        }
        case Kind::Narrative: {
            const json::Document body = json::read(event.body());
            untold_.clear();
            if (pieces_.empty() || !complete_pieces(json::text(body, "text"))) {
                if (!pieces_.empty()) take_back_pieces();
                narrate(json::text(body, "text"));
            }
            // The fallback text ends the turn.
            if (json::text(body, "source") == "fallback") settle();
            break;
        }
        case Kind::NarrativeDelta:
            if (pieces_.empty()) {
                gap();
                pieces_width_ = width();
                written_lines_ = 0;
            }
            pieces_ += json::text(json::read(event.body()), "text");
            break;
        case Kind::NarrativeRetracted: take_back_pieces(); break;
        case Kind::ToolEvent:
            if (event.type() == Type::Error) take_error(event);
            break;
        case Kind::AssetRefused: {
            if (!is_verbose_) break;
            const json::Document body = json::read(event.body());
            line("    " +
                 style_.yellow(fmt::format("! {} was refused: {}", text_of(body, "assetId"),
                                           text_of(body, "message"))));
            break;
        }
        case Kind::ToolEnded: {
            const std::string tool(event.tool_id());
            say_ended(board_.ended(event), errors_[tool]);
            errors_.erase(tool);
            if (is_verbose_) say_diagnostics(json::text(json::read(event.body()), "stderr"));
            break;
        }
        case Kind::UiPlaceholder: {
            if (!is_verbose_) break;
            const json::Document body = json::read(event.body());
            const json::Value* payload = json::member(body, "payload");
            const std::string shown =
                payload != nullptr && !(payload->IsObject() && payload->ObjectEmpty())
                    ? " " + excerpt(json::line(*payload)).front()
                    : std::string();
            line(fmt::format("    {} {}{}", style_.yellow("□"), text_of(body, "event"),
                             style_.dim(shown + " (this terminal cannot show it)")));
            break;
        }
        case Kind::AssetPlaceholder: {
            if (!is_verbose_) break;
            const json::Document body = json::read(event.body());
            const json::Value* metadata = json::member(body, "metadata");
            say_asset(json::text(body, "path"), json::text(body, "kind"),
                      json::text(body, "assetId"), json::text(body, "mediaType"),
                      metadata != nullptr ? json::line(*metadata) : "{}");
            break;
        }
        case Kind::Warning: take_warning(event); break;
        case Kind::TurnEnded:
            in_turn_ = false;
            say_untold();
            if (event.body().find(R"("outcome":"cancelled")") != std::string_view::npos) {
                gap();
                line("  " + style_.dim("(the turn was cancelled)"));
                gap();
            }
            if (!ending_.empty()) {
                gap();
                for (const std::string& one : ending_lines(ending_, width(), style_)) line(one);
                gap();
                ending_.clear();
            }
            if (is_verbose_) say_usage(event.body());
            take_choices(event.body());
            say_choices();
            settle();
            break;
        case Kind::PlanEnded: {
            const json::Document body = json::read(event.body());
            const json::Value* success = json::member(body, "success");
            end_plan(success != nullptr && success->IsBool() && success->GetBool());
            break;
        }
        default: break;
    }
    board_.note(event);
}

void View::take_warning(const plugin::Event& event) {
    const json::Document body = json::read(event.body());
    const std::string_view message = json::text(body, "message");
    const std::string_view code = json::text(body, "code");
    // The host's log already reports it before the story begins.
    if (code == "PLUGIN_LEFT_OUT") return;
    // The player must know that the game is not saved, and why a text ends early.
    if (!is_verbose_ && !code.starts_with("STORE_") && code != "CONTINUATION_FAILED") return;
    if (code != "PLAN_REFUSED" && code != "NARRATOR_FAILED") {
        say_refused();
        say_warning("! ", message);
        return;
    }
    const auto same = std::find_if(refused_.begin(), refused_.end(),
                                   [&](const auto& each) { return each.first == message; });
    if (same != refused_.end()) ++same->second;
    else refused_.emplace_back(message, 1);
}

void View::say_refused() {
    for (const auto& [message, count] : std::exchange(refused_, {})) {
        say_warning(count > 1 ? fmt::format("! {} times: ", count) : "! ", message);
    }
}

// A message has several lines if there are several faults, or if it quotes a line of a script.
void View::say_warning(std::string sign, std::string_view message) {
    for (const std::string& text : excerpt(message)) {
        // A line that fits keeps its indentation.
        const std::size_t room = std::max<std::size_t>(width(), 20) - 6;
        const bool is_whole = !live_ || columns(text) <= room;
        for (const std::string& one : is_whole ? std::vector{text} : wrap(text, room)) {
            line("    " + style_.dim(sign + one));
            sign = "  ";
        }
    }
}

void View::say_item(std::string_view sign, std::string_view text, std::string_view about) {
    constexpr std::size_t kIndent = 6;
    // The styled sign is set last, because columns() counts the bytes of a style.
    std::vector<std::string> lines = item_lines(" ", 1, text, width());
    if (!about.empty()) {
        const bool fits = columns(lines.back()) + 1 + columns(about) <= width();
        lines.back() += fits ? " " : "";
        if (!fits) lines.emplace_back(kIndent, ' ');
        lines.back() += style_.dim(about);
    }
    lines.front().replace(kIndent - 2, 1, sign);
    for (const std::string& one : lines) line(one);
}

// Does not repeat the same error of a later attempt.
void View::take_error(const plugin::Event& event) {
    const json::Document body = json::read(event.body());
    std::string& before = errors_[std::string(event.tool_id())];
    if (!is_verbose_) {
        // Shown when the tool has ended: it may succeed in its next attempt.
        before = text_of(body, "errorMessage");
        return;
    }
    std::string said =
        fmt::format("{}: {}", text_of(body, "errorCode"), text_of(body, "errorMessage"));
    if (said == before) return;
    line("    " + style_.red("! " + excerpt(said).front()));
    before = std::move(said);
}

void View::say_ended(const EndedTool& tool, std::string_view last_error) {
    std::string sign = style_.red("✗");
    if (tool.state == "completed") sign = style_.green("✓");
    if (tool.state == "skipped") sign = style_.dim("–");
    if (!is_verbose_) {
        // The tool's own words only: the runtime's reason for a failure is for authors.
        const std::string_view words =
            tool.summary.empty() && tool.state != "completed" ? last_error : tool.summary;
        if (words.empty()) return;
        if (continues_ && tool.state == "completed") {
            untold_.emplace_back(words);
            return;
        }
        // No narrative of this plan follows.
        if (!continues_) say_untold();
        say_item(sign, words);
        return;
    }
    std::string about = tool.name;
    if (tool.line > 0) about += fmt::format(", line {}", tool.line);
    if (tool.state != "skipped") about += ", " + duration(tool.seconds);
    if (tool.retries > 0) about += ", " + counted(tool.retries + 1, "attempt");
    const std::string_view fallback =
        tool.state == "completed" ? "done" : std::string_view(tool.state);
    const std::string_view words =
        tool.text.empty() || tool.text == last_error ? fallback : std::string_view(tool.text);
    say_item(sign, fmt::format("{}{}", tool.state == "skipped" ? "skipped: " : "", words),
             "(" + about + ")");
}

// Shows the last lines of a failed tool's standard error, often the only hint at the reason.
void View::say_diagnostics(std::string_view text) {
    std::vector<std::string> lines = wrap(text, std::max<std::size_t>(width(), 20) - 8);
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    const std::size_t shown = std::min(lines.size(), kDiagnosticsRows);
    for (std::size_t index = lines.size() - shown; index < lines.size(); ++index) {
        line("      " + style_.dim("| " + lines[index]));
    }
}

void View::say_asset(std::string_view path, std::string_view kind, std::string_view id,
                     std::string_view media_type, std::string_view metadata) {
    std::string about = printable(media_type);
    const json::Document details = json::read(metadata);
    const auto wide = json::number(details, "width");
    const auto high = json::number(details, "height");
    if (wide && high) about += fmt::format(", {:g} × {:g}", *wide, *high);
    line(
        fmt::format("    {} {} {}", style_.cyan("◆"), printable(path),
                    style_.dim(fmt::format("({} {}, {})", printable(kind), printable(id), about))));
}

void View::show(const plugin::Asset& asset) {
    if (is_verbose_) {
        say_asset(asset.path(), asset.kind(), asset.asset_id(), asset.media_type(),
                  asset.metadata());
    }
    std::vector<std::string> picture;
    if (live_ && style_.coloured()) {
        const std::size_t room = std::max<std::size_t>(width(), 12) - 4;
        picture = picture_lines(std::string(asset.path()), room, kPictureRows);
    }
    for (const std::string& one : picture) line("    " + one);
    if (picture.empty() && !is_verbose_) {
        line(fmt::format("    {} {}", style_.cyan("◆"),
                         style_.dim("a picture, which this terminal cannot show (--verbose names "
                                    "its file)")));
    }
}

bool View::take_choices(std::string_view payload) {
    const json::Document body = json::read(payload);
    const json::Value* choices = json::member(body, "choices");
    const bool are_texts = choices != nullptr && choices->IsArray() &&
                           std::all_of(choices->Begin(), choices->End(),
                                       [](const json::Value& one) { return one.IsString(); });
    if (!are_texts) return false;
    choices_.clear();
    for (const json::Value& one : choices->GetArray()) {
        choices_.emplace_back(one.GetString(), one.GetStringLength());
    }
    return true;
}

// Makes the live lines permanent, so that the next plan's output or the player's input begins below
// them.
void View::end_plan(bool success) {
    continues_ = false;
    if (!success) {
        ending_.clear();
        say_untold();
    }
    if (!in_turn_ && success) say_choices();
    choices_.clear();
    gap();
    settle();
}

void View::say_usage(std::string_view turn) {
    if (turn.find("\"usage\"") == std::string_view::npos) return;
    const json::Document body = json::read(turn);
    const json::Value* usage = json::member(body, "usage");
    if (usage == nullptr || !usage->IsObject()) return;
    const auto of = [&](std::string_view name) { return json::number(*usage, name).value_or(0); };
    std::string said = fmt::format(
        "the narrator took {:.0f} tokens ({:.0f} of them cached) and wrote "
        "{:.0f}",
        of("inputTokens"), of("cachedTokens"), of("outputTokens"));
    if (json::member(*usage, "cost") != nullptr) {
        said += fmt::format(", for {:g} {}", of("cost"), text_of(*usage, "currency"));
    }
    line("    " + style_.dim(said));
}

void View::say_untold() {
    for (const std::string& one : std::exchange(untold_, {})) say_item(style_.green("✓"), one);
}

void View::say_choices() {
    if (choices_.empty()) return;
    gap();
    for (const std::string& one : choice_lines(choices_, width(), style_)) line(one);
    choices_.clear();
    gap();
}

std::optional<milliseconds> View::refresh() {
    const auto now = std::chrono::steady_clock::now();
    if (!live_) {
        if (!pieces_.empty()) write_pieces();
        flush();
        return std::nullopt;
    }
    auto until = [&](std::chrono::steady_clock::time_point time) {
        return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(time - now));
    };
    if (changed_ && now < live_->allowed()) return until(live_->allowed());
    if (changed_ || board_.running() > 0) {
        keeper_.was_late = due_ != std::chrono::steady_clock::time_point() &&
                           now - due_ > kStoodStill && board_.running() > 0;
        std::vector<std::string> lines;
        if (!pieces_.empty()) {
            std::string last = write_pieces();
            if (gap_) lines.emplace_back();
            lines.push_back(std::move(last));
        }
        const std::size_t room = live_->height() - std::min(live_->height(), lines.size());
        for (std::string& one : board_.lines(style_, std::max<std::size_t>(width(), 5) - 4, room)) {
            lines.push_back(one.insert(0, "    "));
        }
        live_->draw(lines);
        changed_ = false;
    }
    if (board_.running() == 0) {
        due_ = {};
        return std::nullopt;
    }
    due_ = now + kClock;
    return kClock;
}

void View::flush() {
    changed_ = false;
    if (text_.empty()) return;
    if (!is_broken_ && !write_all(STDOUT_FILENO, text_)) {
        is_broken_ = true;
        broken_(errno);
    }
    text_.clear();
}

void View::settle() {
    if (live_) {
        live_->close();
        changed_ = false;
    } else {
        flush();
    }
}

}  // namespace narratoria::console
