// SPDX-License-Identifier: Apache-2.0
#pragma once
// One record of a session's event stream. What each kind's body holds: narratoria/event.h.

#include "narratoria/event.h"
#include "narratoria/status.hpp"
#include "narratoria/text.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace narratoria {

// More kinds may come: a switch needs a default that skips.
enum class Kind : std::uint32_t {
    kToolEvent = NAR_KIND_TOOL_EVENT,
    kPrompt = NAR_KIND_PROMPT,
    kNarrative = NAR_KIND_NARRATIVE,
    kPlanStarted = NAR_KIND_PLAN_STARTED,
    kPlanEnded = NAR_KIND_PLAN_ENDED,
    kToolPending = NAR_KIND_TOOL_PENDING,
    kToolStarted = NAR_KIND_TOOL_STARTED,
    kToolEnded = NAR_KIND_TOOL_ENDED,
    kAttemptStarted = NAR_KIND_ATTEMPT_STARTED,
    kAttemptEnded = NAR_KIND_ATTEMPT_ENDED,
    kAssetRefused = NAR_KIND_ASSET_REFUSED,
    kStateConflict = NAR_KIND_STATE_CONFLICT,
    kWarning = NAR_KIND_WARNING,
    kUiPlaceholder = NAR_KIND_UI_PLACEHOLDER,
    kAssetPlaceholder = NAR_KIND_ASSET_PLACEHOLDER,
    kTurnEnded = NAR_KIND_TURN_ENDED,
    kStatePatched = NAR_KIND_STATE_PATCHED,
};

// What a tool said, when the kind is kToolEvent (spec 000 §4.1 to §4.6).
enum class Type : std::uint32_t {
    kNone = 0,
    kLog = NAR_TYPE_LOG,
    kStatePatch = NAR_TYPE_STATE_PATCH,
    kAsset = NAR_TYPE_ASSET,
    kUiEvent = NAR_TYPE_UI_EVENT,
    kError = NAR_TYPE_ERROR,
    kDone = NAR_TYPE_DONE,
};

// A set of kinds, for Session::attach: kinds(Kind::kToolStarted, Kind::kToolEnded).
inline constexpr std::uint32_t kAllKinds = 0;
template <class... Kinds>
constexpr std::uint32_t kinds(Kinds... wanted) noexcept {
    return ((std::uint32_t{1} << static_cast<std::uint32_t>(wanted)) | ... | 0u);
}

// A view: it and everything it returns is alive until the sink it was given to returns.
// Reading it costs what reading a struct costs.
class Event {
public:
    explicit Event(const nar_event& event) noexcept : event_(&event) {}

    Kind kind() const noexcept { return static_cast<Kind>(event_->kind); }
    Type type() const noexcept { return static_cast<Type>(event_->type); }
    // 1, 2 … without gaps within a session.
    std::uint64_t seq() const noexcept { return event_->seq; }
    // 1, 2 …; 0 when it is not about an attempt.
    std::uint32_t attempt() const noexcept { return event_->attempt; }
    // When it was read.
    std::chrono::sys_time<std::chrono::microseconds> time() const noexcept {
        return std::chrono::sys_time<std::chrono::microseconds>(
            std::chrono::microseconds(event_->time_us));
    }
    std::string_view session_id() const noexcept { return detail::to_view(event_->session_id); }
    std::string_view plan_id() const noexcept { return detail::to_view(event_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(event_->tool_id); }
    // A JSON object on one line. Of a tool's event: the tool's own, byte for byte.
    std::string_view body() const noexcept { return detail::to_view(event_->body); }

    // The kind's name in JSON, for example "tool_event"; empty for a kind this library does not know.
    std::string_view kind_name() const noexcept {
        const char* name = nar_kind_name(event_->kind);
        return name != nullptr ? std::string_view(name) : std::string_view();
    }

    // The whole record as one line of JSON, without a newline, yours to keep.
    Text json() const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_event_to_json(event_, &text, check.details()));
        return Text(text);
    }

    // The struct behind it, for calls of the C contract.
    const nar_event& raw() const noexcept { return *event_; }

private:
    const nar_event* event_;
};

}  // namespace narratoria
