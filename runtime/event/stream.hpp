// SPDX-License-Identifier: Apache-2.0
#pragma once
// The event stream of a session: numbers the events and sends them to the sinks.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "event/event.hpp"
#include "narratoria/event.h"

namespace narratoria::event {

enum class Kind : uint32_t {
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

// The plan, tool and attempt of an event. Fields that do not apply are empty or 0.
struct Subject {
    std::string_view plan_id;
    std::string_view tool_id;
    uint32_t attempt = 0;
};

// Receives the contract violations of sinks. Must outlive them.
class SinkWatcher {
public:
    virtual ~SinkWatcher() = default;
    // The sink threw and has been detached.
    virtual void on_sink_threw(const char* what) noexcept = 0;
    // The sink wrote to a record and has been detached.
    virtual void on_sink_modified_record() noexcept = 0;
    // The batch exceeded its time budget. If `called` is 1, this sink is responsible; otherwise any
    // of the `called` sinks may be.
    virtual void on_sink_slow(int64_t milliseconds, size_t called) noexcept = 0;
    // The sink publishes a new record for each record; `dropped` of them were not sent.
    virtual void on_sink_flooded(size_t dropped) noexcept = 0;
};

// A patch that was merged into the state. Every one is published, in the order of merging.
struct MergedPatch {
    std::string_view patch;  // a part of the body of its record
    std::string_view nulls;  // its nulls (state/replacement.hpp), or empty
    std::string_view by;     // the tool or the plugin; empty: the host
    int64_t time_us = 0;     // the time in the history
};

// Receives every record at its publication, before the sinks. Must not call the stream.
class Recorder {
public:
    virtual ~Recorder() = default;
    // `type`: the type of a tool's event, otherwise 0. `merged`: the patch that the record reports,
    // or NULL. The texts are valid during the call only.
    virtual void record(uint64_t number, Kind kind, uint32_t type, int64_t time_us,
                        const Subject& subject, std::string_view body,
                        const MergedPatch* merged) = 0;
};

// Belongs to one session. Engine thread only. Sinks may publish, attach and detach during a call.
class Stream {
public:
    // `callback_depth` counts the active callbacks of the engine; it must outlive the stream.
    Stream(std::string session_id, uint32_t& callback_depth)
        : session_id_(std::move(session_id)), callback_depth_(callback_depth) {}
    ~Stream() { detach_all(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // The recorder must outlive the stream.
    void set_recorder(Recorder& recorder) { recorder_ = &recorder; }
    // The next record gets the number after this one.
    void continue_after(uint64_t number) { last_ = number; }
    uint64_t last_number() const { return last_; }

    // Sets the watcher of sinks without their own. Such sinks are not timed. Call it before the
    // first sink is attached.
    void set_default_watcher(SinkWatcher& watcher) { default_watcher_ = &watcher; }

    // Attaches a sink and returns its id. A sink with a watcher is timed with the kernel's coarse
    // clock, which has a resolution of a few milliseconds.
    uint64_t attach(const nar_event_sink& sink, SinkWatcher* watcher = nullptr);
    bool detach(uint64_t id);
    // Detaches every sink and calls its `detached`.
    void detach_all();

    // Reserves the next number for publish_tool_event() or publish().
    uint64_t take_number() { return ++last_; }
    // `is_merged`: the patch of the event was merged into the state, at time_us().
    void publish_tool_event(uint64_t number, const Subject& subject, const Event& event,
                            bool is_merged = false) {
        if (recorder_ != nullptr) record_tool_event(number, subject, event, is_merged);
        if (!sinks_.empty()) {
            send(number, Kind::ToolEvent, static_cast<uint32_t>(event.type), subject, event.line);
        }
    }

    // Publishes a record of the runtime; `body` is a JSON object. Returns its number.
    uint64_t publish(Kind kind, const Subject& subject, std::string_view body) {
        const uint64_t number = take_number();
        publish(number, kind, subject, body);
        return number;
    }
    // The same with a body that is made only if it is wanted.
    template <typename MakeBody>
    requires std::is_invocable_v<MakeBody> uint64_t publish(Kind kind, const Subject& subject,
                                                            MakeBody&& make_body) {
        return publish(kind, subject, wanted(kind) ? make_body() : std::string());
    }
    // May be called by a sink. The record is then queued after the current one, so that all sinks
    // see the same order.
    void publish(uint64_t number, Kind kind, const Subject& subject, std::string_view body,
                 const MergedPatch* merged = nullptr);
    void warn(const Subject& subject, std::string_view code, std::string_view message);

    // Brackets the events of one read, so that they share one timestamp and the clock is read once.
    void begin_batch(int64_t wall_us);
    void end_batch();
    // Excludes a plugin call that was already reported from the batch's time.
    void excuse(int64_t milliseconds) { batch_start_ns_ += milliseconds * 1'000'000; }
    int64_t time_us() const { return time_us_; }

    const std::string& session_id() const { return session_id_; }
    // True while sinks receive a record.
    bool is_sending() const { return sending_ > 0; }
    // False if no sink and no recorder would receive a record.
    bool is_observed() const { return !sinks_.empty() || recorder_ != nullptr; }
    bool wanted(Kind kind) const { return recorder_ != nullptr || sinks_want(kind); }

private:
    struct Sink {
        uint64_t id;
        uint64_t kinds;  // 0: detached during a send, erased later
        nar_event_sink callbacks;
        SinkWatcher* watcher;
    };
    struct Waiting {
        uint64_t number;
        Kind kind;
        int64_t time_us;
        std::string plan_id;
        std::string tool_id;
        uint32_t attempt;
        std::string body;
    };
    bool sinks_want(Kind kind) const {
        return (wanted_ & NAR_KIND_BIT(static_cast<uint32_t>(kind))) != 0;
    }
    void record_tool_event(uint64_t number, const Subject& subject, const Event& event,
                           bool is_merged);
    void send(uint64_t number, Kind kind, uint32_t type, const Subject& subject,
              std::string_view body);
    void send_timed(uint64_t number, Kind kind, const Subject& subject, std::string_view body);
    void end_sending();
    void keep_texts(const nar_event& event);
    bool restore_texts(const nar_event& event);
    SinkWatcher* take_off(size_t index);
    void report_if_slow(int64_t took_ns, SinkWatcher* watcher);
    void sweep();
    void notify_detached(const nar_event_sink& callbacks);

    std::string session_id_;
    uint32_t& callback_depth_;
    std::vector<Sink> sinks_;
    uint64_t wanted_ = 0;
    uint64_t last_ = 0;
    uint64_t last_sink_ = 0;
    uint32_t sending_ = 0;
    std::string kept_texts_;          // copies of the texts of the record being sent
    std::deque<Waiting> waiting_;     // records published by sinks during a send
    SinkWatcher* called_ = nullptr;   // watcher of the sink being called
    SinkWatcher* flooder_ = nullptr;  // watcher of the sink that published the last of `waiting_`
    bool has_gaps_ = false;
    SinkWatcher* default_watcher_ = nullptr;
    Recorder* recorder_ = nullptr;
    bool is_watched_ = false;  // at least one sink has its own watcher
    int64_t time_us_ = 0;
    int64_t batch_start_ns_ = 0;
    bool times_each_ = false;
};

}  // namespace narratoria::event
