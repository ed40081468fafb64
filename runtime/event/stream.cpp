// SPDX-License-Identifier: Apache-2.0
#include "event/stream.hpp"

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>

#include "base/clock.hpp"
#include "base/json/writer.hpp"

namespace narratoria::event {
namespace {

// Time budget of a sink. A longer call is reported to its watcher, because it blocks the engine
// thread.
constexpr int64_t kSinkBudgetNs = 50'000'000;

// A sink that patches the state for each record of a patch would keep the stream busy forever. At
// most this many records may follow from those published during one send.
constexpr size_t kMaxFollowing = 1'000;

// The coarse clock takes a few nanoseconds instead of twenty. Its resolution of one kernel tick is
// enough to detect a sink that blocks.
int64_t coarse_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The texts of the first records are compared after each sink. Later, of the kinds that come with
// every tool or more often, only those of every 61st record are. So a plugin that writes into texts
// is soon found, and the cost for a million events is negligible. The interval is prime, so that it
// does not match a tool's pattern of events.
constexpr uint64_t kFrequent =
    NAR_KIND_BIT(NAR_KIND_TOOL_EVENT) | NAR_KIND_BIT(NAR_KIND_TOOL_PENDING) |
    NAR_KIND_BIT(NAR_KIND_TOOL_STARTED) | NAR_KIND_BIT(NAR_KIND_TOOL_ENDED) |
    NAR_KIND_BIT(NAR_KIND_ATTEMPT_STARTED) | NAR_KIND_BIT(NAR_KIND_ATTEMPT_ENDED);
constexpr uint64_t kTextsComparedFirst = 1'000;
constexpr uint64_t kTextsComparedInterval = 61;
// A larger buffer is freed after use.
constexpr size_t kKeptTextsRoom = 64 * 1024;

bool compares_texts(uint64_t number, Kind kind) {
    return (kFrequent & NAR_KIND_BIT(static_cast<uint32_t>(kind))) == 0 ||
           number <= kTextsComparedFirst || number % kTextsComparedInterval == 0;
}

// A nar_event in registers of 16 bytes, in which it is stored and compared. Measured: comparing
// eight bytes at a time took 3 ns per sink; wide loads of fields that were stored one by one stall
// on the store buffer, which took 20 ns per event.
using Pair __attribute__((vector_size(16))) = uint64_t;

struct Packed {
    Pair pairs[6];
};
static_assert(sizeof(Packed) == sizeof(nar_event) && offsetof(nar_event, attempt) == 12 &&
              offsetof(nar_event, seq) == 16 && offsetof(nar_event, session_id) == 32);

Pair pair(uint64_t low, uint64_t high) { return Pair{low, high}; }
Pair pair(std::string_view text) {
    return Pair{reinterpret_cast<uintptr_t>(text.data()), text.size()};
}
// Both platforms are little-endian.
uint64_t halves(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

bool is_same(const nar_event& event, const Packed& kept) {
    Packed now;
    std::memcpy(&now, &event, sizeof now);
    Pair differing = now.pairs[0] ^ kept.pairs[0];
    for (size_t i = 1; i < 6; ++i) differing |= now.pairs[i] ^ kept.pairs[i];
    return (differing[0] | differing[1]) == 0;
}

}  // namespace

void Stream::notify_detached(const nar_event_sink& callbacks) {
    if (!callbacks.detached) return;
    ++callback_depth_;
    try {
        callbacks.detached(callbacks.user);
    } catch (...) {
        // Ignore it: the sink gets no more calls anyway.
    }
    --callback_depth_;
}

void Stream::detach_all() {
    std::vector<Sink> gone;
    // Empty the list first: a callback may attach or detach.
    gone.swap(sinks_);
    wanted_ = 0;
    for (const Sink& sink : gone) {
        if (sink.kinds != 0) notify_detached(sink.callbacks);
    }
}

uint64_t Stream::attach(const nar_event_sink& sink, SinkWatcher* watcher) {
    const uint64_t kinds = sink.kinds != 0 ? sink.kinds : ~uint64_t{0};
    sinks_.push_back({++last_sink_, kinds, sink, watcher});
    is_watched_ = is_watched_ || watcher != nullptr;
    wanted_ |= kinds;
    return last_sink_;
}

bool Stream::detach(uint64_t id) {
    const auto found = std::find_if(sinks_.begin(), sinks_.end(), [&](const Sink& sink) {
        return sink.id == id && sink.kinds != 0;
    });
    if (found == sinks_.end()) return false;
    const nar_event_sink callbacks = found->callbacks;
    // sweep() erases it outside of sends, because send() iterates by index.
    found->kinds = 0;
    has_gaps_ = true;
    if (sending_ == 0) sweep();
    notify_detached(callbacks);
    return true;
}

void Stream::sweep() {
    std::erase_if(sinks_, [](const Sink& sink) { return sink.kinds == 0; });
    wanted_ = 0;
    for (const Sink& sink : sinks_) wanted_ |= sink.kinds;
    has_gaps_ = false;
}

// Detaches a sink that violated the contract. Returns the watcher to notify; may be NULL. Does not
// call `detached`.
SinkWatcher* Stream::take_off(size_t index) {
    sinks_[index].kinds = 0;
    has_gaps_ = true;
    return sinks_[index].watcher != nullptr ? sinks_[index].watcher : default_watcher_;
}

void Stream::keep_texts(const nar_event& event) {
    kept_texts_.clear();
    for (const nar_str& text : {event.session_id, event.plan_id, event.tool_id, event.body}) {
        kept_texts_.append(text.data, static_cast<size_t>(text.size));
    }
}

// Returns false if a text was changed. Restores it in place, because the runtime still uses the
// memory.
bool Stream::restore_texts(const nar_event& event) {
    bool is_unchanged = true;
    const char* kept = kept_texts_.data();
    for (const nar_str& text : {event.session_id, event.plan_id, event.tool_id, event.body}) {
        const auto size = static_cast<size_t>(text.size);
        if (size > 0 && std::memcmp(text.data, kept, size) != 0) {
            std::memcpy(const_cast<char*>(text.data), kept, size);
            is_unchanged = false;
        }
        kept += size;
    }
    return is_unchanged;
}

void Stream::send(uint64_t number, Kind kind, uint32_t type, const Subject& subject,
                  std::string_view body) {
    const auto kind_number = static_cast<uint32_t>(kind);
    const Packed record{
        {pair(halves(sizeof(nar_event), kind_number), halves(type, subject.attempt)),
         pair(number, static_cast<uint64_t>(time_us_)), pair(session_id_), pair(subject.plan_id),
         pair(subject.tool_id), pair(body)}};
    // Not const, so that a sink that writes into it does not cause undefined behavior.
    alignas(Pair) nar_event event;
    std::memcpy(&event, &record, sizeof event);
    const bool has_kept_texts = compares_texts(number, kind) && sinks_want(kind);
    if (has_kept_texts) keep_texts(event);
    ++sending_;
    ++callback_depth_;
    // Iterate by index up to the initial count: a sink may attach sinks, which get the next event,
    // or detach some.
    const size_t count = sinks_.size();
    // Copy only if needed: most records have one sink, and a copy costs 3 ns.
    Packed kept;
    if (count > 1 || has_kept_texts) kept = record;
    for (size_t i = 0; i < count; ++i) {
        const Sink& sink = sinks_[i];
        if ((sink.kinds & NAR_KIND_BIT(kind_number)) == 0) continue;
        const bool timed = times_each_ && sink.watcher != nullptr;
        const int64_t start = timed ? coarse_ns() : 0;
        called_ = sink.watcher;
        try {
            sink.callbacks.event(sink.callbacks.user, &event);
        } catch (const std::exception& exception) {
            if (SinkWatcher* const watcher = take_off(i)) watcher->on_sink_threw(exception.what());
        } catch (...) {
            if (SinkWatcher* const watcher = take_off(i)) {
                watcher->on_sink_threw("an exception that is not a std::exception");
            }
        }
        // `sink` may dangle, because the vector may have been reallocated. After the last sink no
        // one reads the record, so it is compared only if its texts are compared as well.
        const bool is_compared = i + 1 < count || has_kept_texts;
        const bool has_record = !is_compared || is_same(event, kept);
        if (!has_record) std::memcpy(&event, &kept, sizeof event);
        const bool has_texts = !has_kept_texts || restore_texts(event);
        if (!has_record || !has_texts) [[unlikely]] {
            if (SinkWatcher* const watcher = take_off(i)) watcher->on_sink_modified_record();
        }
        if (timed) report_if_slow(coarse_ns() - start, sinks_[i].watcher);
    }
    called_ = nullptr;
    --callback_depth_;
    if (kept_texts_.capacity() > kKeptTextsRoom) {
        kept_texts_.clear();
        kept_texts_.shrink_to_fit();
    }
    end_sending();
}

void Stream::end_sending() {
    if (--sending_ != 0) return;
    if (has_gaps_) sweep();
    if (waiting_.empty()) return;
    const size_t most = waiting_.size() + kMaxFollowing;
    for (size_t count = 0; !waiting_.empty() && count < most; ++count) {
        const Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        time_us_ = next.time_us;
        // Keep `sending_` above 0, so that records published by the sinks are queued, not sent
        // recursively.
        ++sending_;
        send_timed(next.number, next.kind, {next.plan_id, next.tool_id, next.attempt}, next.body);
        --sending_;
    }
    if (!waiting_.empty()) {
        SinkWatcher* const flooder = flooder_ != nullptr ? flooder_ : default_watcher_;
        if (flooder != nullptr) flooder->on_sink_flooded(waiting_.size());
        waiting_.clear();
        std::string body;
        json::ObjectWriter(body)
            .string("code", "RECORDS_DROPPED")
            .string(
                "message",
                "an event sink causes a new record for each record, for example by patching the "
                "state; the remaining records were dropped")
            .end();
        ++sending_;
        send_timed(take_number(), Kind::Warning, {}, body);
        --sending_;
        waiting_.clear();
    }
    flooder_ = nullptr;
    if (has_gaps_) sweep();
}

void Stream::report_if_slow(int64_t took_ns, SinkWatcher* watcher) {
    if (took_ns > kSinkBudgetNs) watcher->on_sink_slow(took_ns / 1'000'000, 1);
}

void Stream::begin_batch(int64_t wall_us) {
    time_us_ = wall_us;
    if (is_watched_) batch_start_ns_ = coarse_ns();
}

// The clock is read per batch, because reading it per call would cost more than the call. With one
// sink it is clear which one was slow. With several, each call is timed from then on.
void Stream::end_batch() {
    if (!is_watched_) return;
    const int64_t took = coarse_ns() - batch_start_ns_;
    if (took <= kSinkBudgetNs || times_each_) return;
    times_each_ = sinks_.size() > 1;
    // The watchers may detach and attach sinks.
    ++sending_;
    const size_t count = sinks_.size();
    for (size_t i = 0; i < count; ++i) {
        SinkWatcher* const watcher = sinks_[i].watcher;
        if (watcher) watcher->on_sink_slow(took / 1'000'000, count);
    }
    end_sending();
}

void Stream::record_tool_event(uint64_t number, const Subject& subject, const Event& event,
                               bool is_merged) {
    MergedPatch merged;
    if (is_merged) {
        const json::Value nulls = event.field(Field::Nulls);
        merged = {event.field(Field::Patch).raw(), nulls ? nulls.raw() : std::string_view(),
                  subject.tool_id, time_us_};
    }
    recorder_->record(number, Kind::ToolEvent, static_cast<uint32_t>(event.type), time_us_, subject,
                      event.line, is_merged ? &merged : nullptr);
}

void Stream::publish(uint64_t number, Kind kind, const Subject& subject, std::string_view body,
                     const MergedPatch* merged) {
    if (!is_observed()) return;
    const int64_t now = clock::wall_us();
    if (recorder_ != nullptr) recorder_->record(number, kind, 0, now, subject, body, merged);
    // The timestamp is that of the call, not of the later delivery.
    if (sending_ > 0) {
        flooder_ = called_;
        waiting_.push_back({number, kind, now, std::string(subject.plan_id),
                            std::string(subject.tool_id), subject.attempt, std::string(body)});
        return;
    }
    time_us_ = now;
    if (!sinks_.empty()) send_timed(number, kind, subject, body);
}

// Times each call, because the runtime publishes few records.
void Stream::send_timed(uint64_t number, Kind kind, const Subject& subject, std::string_view body) {
    const bool before = times_each_;
    times_each_ = is_watched_;
    send(number, kind, 0, subject, body);
    times_each_ = before;
}

void Stream::warn(const Subject& subject, std::string_view code, std::string_view message) {
    std::string body;
    json::ObjectWriter(body).string("code", code).string("message", message).end();
    publish(Kind::Warning, subject, body);
}

}  // namespace narratoria::event
