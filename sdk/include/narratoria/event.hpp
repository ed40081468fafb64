// SPDX-License-Identifier: Apache-2.0
#pragma once
// One record of a session's event stream. narratoria/event.h describes the body of each kind.

#include "narratoria/event.h"
#include "narratoria/exceptions.hpp"
#include "narratoria/status.hpp"
#include "narratoria/text.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace narratoria {

// Later versions may add kinds: a switch needs a default that ignores them.
enum class Kind : std::uint32_t {
    ToolEvent = NAR_KIND_TOOL_EVENT,
    Prompt = NAR_KIND_PROMPT,
    Narrative = NAR_KIND_NARRATIVE,
    PlanStarted = NAR_KIND_PLAN_STARTED,
    PlanEnded = NAR_KIND_PLAN_ENDED,
    ToolPending = NAR_KIND_TOOL_PENDING,
    ToolStarted = NAR_KIND_TOOL_STARTED,
    ToolEnded = NAR_KIND_TOOL_ENDED,
    AttemptStarted = NAR_KIND_ATTEMPT_STARTED,
    AttemptEnded = NAR_KIND_ATTEMPT_ENDED,
    AssetRefused = NAR_KIND_ASSET_REFUSED,
    StateConflict = NAR_KIND_STATE_CONFLICT,
    Warning = NAR_KIND_WARNING,
    UiPlaceholder = NAR_KIND_UI_PLACEHOLDER,
    AssetPlaceholder = NAR_KIND_ASSET_PLACEHOLDER,
    TurnEnded = NAR_KIND_TURN_ENDED,
    StatePatched = NAR_KIND_STATE_PATCHED,
    SessionMoved = NAR_KIND_SESSION_MOVED,
    StoryReloaded = NAR_KIND_STORY_RELOADED,
    NarrativeDelta = NAR_KIND_NARRATIVE_DELTA,
    NarrativeRetracted = NAR_KIND_NARRATIVE_RETRACTED,
    NarratorUsage = NAR_KIND_NARRATOR_USAGE,
};

// The type of a tool's event, if the kind is ToolEvent (spec 000 §4.1 to §4.6).
enum class Type : std::uint32_t {
    Other = 0,  // not the event of a tool
    Log = NAR_TYPE_LOG,
    StatePatch = NAR_TYPE_STATE_PATCH,
    Asset = NAR_TYPE_ASSET,
    UiEvent = NAR_TYPE_UI_EVENT,
    Error = NAR_TYPE_ERROR,
    Done = NAR_TYPE_DONE,
};

// A set of kinds for Session::attach, for example kinds(Kind::ToolStarted, Kind::ToolEnded).
inline constexpr std::uint64_t kAllKinds = 0;
template <class... Kinds>
constexpr std::uint64_t kinds(Kinds... wanted) noexcept {
    return (NAR_KIND_BIT(static_cast<std::uint32_t>(wanted)) | ... | std::uint64_t{0});
}

// A view: it and everything it returns are valid until the sink that received it returns. Reading
// it is as cheap as reading a struct.
class Event {
public:
    explicit Event(const nar_event& event) noexcept : event_(&event) {}

    Kind kind() const noexcept { return static_cast<Kind>(event_->kind); }
    Type type() const noexcept { return static_cast<Type>(event_->type); }
    // From 1 within a session; gaps only after a RECORDS_DROPPED (event.h).
    std::uint64_t seq() const noexcept { return event_->seq; }
    // From 1; 0 if the record does not concern an attempt.
    std::uint32_t attempt() const noexcept { return event_->attempt; }
    // When the runtime read it.
    std::chrono::sys_time<std::chrono::microseconds> time() const noexcept {
        return std::chrono::sys_time<std::chrono::microseconds>(
            std::chrono::microseconds(event_->time_us));
    }
    std::string_view session_id() const noexcept { return detail::to_view(event_->session_id); }
    std::string_view plan_id() const noexcept { return detail::to_view(event_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(event_->tool_id); }
    // A JSON object on one line. For ToolEvent: the tool's own object, byte for byte.
    std::string_view body() const noexcept { return detail::to_view(event_->body); }

    // The name of the kind in JSON, for example "tool_event"; empty if the library does not know
    // it.
    std::string_view kind_name() const noexcept {
        const char* name = nar_kind_name(event_->kind);
        return name != nullptr ? std::string_view(name) : std::string_view();
    }

    // The whole record as one line of JSON, without a newline.
    Text json() const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_event_to_json(event_, &text, check.details()));
        return Text(text);
    }

    // The underlying struct, for calls of the C ABI.
    const nar_event& raw() const noexcept { return *event_; }

private:
    const nar_event* event_;
};

}  // namespace narratoria
