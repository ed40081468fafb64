// SPDX-License-Identifier: Apache-2.0
#include "event/stream.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/sized.hpp"

namespace narratoria::event {
namespace {

// Records "seq:kind" of each event, then runs the test's callback.
struct Recorder {
    std::vector<std::string> seen;
    int detached = 0;
    std::function<void(const nar_event&)> then = [](const nar_event&) {};

    nar_event_sink sink(uint32_t kinds = 0) {
        auto sink = test::sized<nar_event_sink>();
        sink.kinds = kinds;
        sink.user = this;
        sink.event = [](void* user, const nar_event* event) {
            auto& self = *static_cast<Recorder*>(user);
            self.seen.push_back(std::to_string(event->seq) + ":" + std::to_string(event->kind));
            self.then(*event);
        };
        sink.detached = [](void* user) { ++static_cast<Recorder*>(user)->detached; };
        return sink;
    }
};

std::string record(uint64_t number, Kind kind) {
    return std::to_string(number) + ":" + std::to_string(static_cast<uint32_t>(kind));
}

uint32_t bit(Kind kind) { return 1u << static_cast<uint32_t>(kind); }

struct Watcher : SinkWatcher {
    std::vector<std::string> threw;
    int wrote = 0;
    void on_sink_threw(const char* what) noexcept override { threw.emplace_back(what); }
    void on_sink_modified_record() noexcept override { ++wrote; }
    size_t dropped = 0;
    void on_sink_slow(int64_t, size_t) noexcept override {}
    void on_sink_flooded(size_t count) noexcept override { dropped += count; }
};

class StreamTest : public testing::Test {
protected:
    Recorder& recorder() { return recorders_.emplace_back(); }

    std::deque<Recorder> recorders_;  // outlives the stream, which calls detached()
    uint32_t depth_ = 0;
    Stream stream_{"s", depth_};
    using List = std::vector<std::string>;
};

TEST_F(StreamTest, NumbersAllRecordsAndFiltersKindsPerSink) {
    EXPECT_EQ(stream_.publish(Kind::Prompt, {}, "{}"), 1u) << "even without a sink";
    Recorder& all = recorder();
    Recorder& prompts = recorder();
    stream_.attach(all.sink());
    EXPECT_TRUE(stream_.wanted(Kind::Narrative));
    stream_.attach(prompts.sink(bit(Kind::Prompt)));
    stream_.publish(Kind::Narrative, {}, "{}");
    stream_.publish(Kind::Prompt, {}, "{}");
    EXPECT_EQ(all.seen, (List{record(2, Kind::Narrative), record(3, Kind::Prompt)}));
    EXPECT_EQ(prompts.seen, List{record(3, Kind::Prompt)});
    stream_.detach_all();
    EXPECT_EQ(all.detached + prompts.detached, 2);
    EXPECT_FALSE(stream_.wanted(Kind::Prompt));
}

TEST_F(StreamTest, SendsSubjectAndBodyAsGiven) {
    Recorder& sink = recorder();
    sink.then = [&](const nar_event& event) {
        EXPECT_EQ(depth_, 1u) << "a sink is a callback";
        EXPECT_EQ(std::string(event.plan_id.data, event.plan_id.size), "p");
        EXPECT_EQ(std::string(event.tool_id.data, event.tool_id.size), "t");
        EXPECT_EQ(std::string(event.session_id.data, event.session_id.size), "s");
        EXPECT_EQ(event.attempt, 3u);
    };
    stream_.attach(sink.sink());
    stream_.publish(Kind::Warning, {"p", "t", 3}, R"({"a":1})");
    EXPECT_EQ(sink.seen.size(), 1u);
    EXPECT_EQ(depth_, 0u);
}

// All sinks see the same order, regardless of which sink publishes.
TEST_F(StreamTest, RecordPublishedBySinkFollowsTheCurrentOne) {
    Recorder& first = recorder();
    Recorder& second = recorder();
    first.then = [&](const nar_event& event) {
        if (event.seq == 1) stream_.publish(Kind::StatePatched, {}, "{}");
    };
    stream_.attach(first.sink());
    stream_.attach(second.sink());
    stream_.publish(Kind::Prompt, {}, "{}");
    const List expected{record(1, Kind::Prompt), record(2, Kind::StatePatched)};
    EXPECT_EQ(first.seen, expected);
    EXPECT_EQ(second.seen, expected);
}

TEST_F(StreamTest, EndlesslyPublishingSinkIsStoppedAndNamed) {
    Recorder& sink = recorder();
    Watcher watcher;
    Watcher other;
    bool warned = false;
    sink.then = [&](const nar_event& event) {
        const std::string body(event.body.data, event.body.size);
        warned = warned || body.find("RECORDS_DROPPED") != std::string::npos;
        stream_.publish(Kind::StatePatched, {}, "{}");
    };
    stream_.attach(sink.sink(), &watcher);
    stream_.attach(recorder().sink(), &other);
    stream_.publish(Kind::Prompt, {}, "{}");
    EXPECT_TRUE(warned);
    EXPECT_LT(sink.seen.size(), 2'000u);
    EXPECT_GT(watcher.dropped, 0u);
    EXPECT_EQ(other.dropped, 0u);
}

TEST_F(StreamTest, ThrowingSinkGetsNothingMore) {
    Recorder& bad = recorder();
    Recorder& good = recorder();
    Watcher watcher;
    bad.then = [](const nar_event&) { throw std::runtime_error("no"); };
    stream_.attach(bad.sink(), &watcher);
    stream_.attach(good.sink());
    stream_.publish(Kind::Prompt, {}, "{}");
    stream_.publish(Kind::Prompt, {}, "{}");
    EXPECT_EQ(bad.seen.size(), 1u);
    EXPECT_EQ(good.seen.size(), 2u);
    EXPECT_EQ(watcher.threw, List{"no"});
    stream_.detach_all();
    EXPECT_EQ(bad.detached, 0);
}

TEST_F(StreamTest, SinkThatModifiesARecordIsDroppedAndRecordRestored) {
    Recorder& bad = recorder();
    Recorder& good = recorder();
    Watcher watcher;
    bad.then = [](const nar_event& event) {
        auto& record = const_cast<nar_event&>(event);
        record.seq = 0;
        record.body = {nullptr, 0};
    };
    std::vector<std::string> bodies;
    good.then = [&](const nar_event& event) {
        bodies.emplace_back(event.body.data, event.body.size);
    };
    stream_.attach(bad.sink(), &watcher);
    stream_.attach(good.sink());
    stream_.publish(Kind::Prompt, {}, R"({"text":"a"})");
    stream_.publish(Kind::Prompt, {}, R"({"text":"b"})");
    EXPECT_EQ(watcher.wrote, 1);
    EXPECT_EQ(bad.seen.size(), 1u);
    EXPECT_EQ(good.seen, (List{record(1, Kind::Prompt), record(2, Kind::Prompt)}));
    EXPECT_EQ(bodies, (List{R"({"text":"a"})", R"({"text":"b"})"}));
}

TEST_F(StreamTest, SinkThatModifiesATextIsFoundAndTextRestored) {
    for (const size_t field : {0u, 1u, 2u, 3u}) {
        Recorder& bad = recorder();
        Recorder& good = recorder();
        Watcher watcher;
        bad.then = [&](const nar_event& event) {
            const nar_str texts[] = {event.session_id, event.plan_id, event.tool_id, event.body};
            const_cast<char*>(texts[field].data)[texts[field].size - 1] = '#';
        };
        std::string seen;
        good.then = [&](const nar_event& event) {
            for (const nar_str& text :
                 {event.session_id, event.plan_id, event.tool_id, event.body}) {
                seen.append(text.data, text.size);
            }
        };
        stream_.attach(bad.sink(), &watcher);
        stream_.attach(good.sink());
        const std::string plan = "plan";
        const std::string tool = "tool";
        const std::string body = "{}";
        stream_.publish(Kind::ToolStarted, {plan, tool, 1}, body);
        EXPECT_EQ(watcher.wrote, 1) << field;
        EXPECT_EQ(seen, "splantool{}") << field;
        EXPECT_EQ(body, "{}") << "the runtime reads it as well";
        stream_.detach_all();
    }
}

TEST_F(StreamTest, LateTextWriterIsFoundAtOnceInARareKindElseWithinSixtyOneRecords) {
    const auto send_thousands = [&](Kind kind) {
        for (int i = 0; i < 2'000; ++i) {
            std::string body = "{}";
            Event event;
            event.line = body;
            if (kind == Kind::ToolEvent)
                stream_.publish_tool_event(stream_.take_number(), {}, event);
            else stream_.publish(kind, {}, body);
        }
    };
    send_thousands(Kind::ToolEvent);
    const auto writes_until_found = [&](Kind kind) {
        Recorder& bad = recorder();
        Watcher watcher;
        size_t writes = 0;
        bad.then = [&](const nar_event& event) {
            ++writes;
            const_cast<char*>(event.body.data)[0] = '#';
        };
        stream_.attach(bad.sink(), &watcher);
        send_thousands(kind);
        EXPECT_EQ(watcher.wrote, 1) << static_cast<uint32_t>(kind);
        stream_.detach_all();
        return writes;
    };
    for (const Kind kind : {Kind::ToolEvent, Kind::ToolPending, Kind::ToolStarted, Kind::ToolEnded,
                            Kind::AttemptStarted, Kind::AttemptEnded}) {
        const size_t writes = writes_until_found(kind);
        EXPECT_GT(writes, 1u) << static_cast<uint32_t>(kind);
        EXPECT_LE(writes, 61u) << static_cast<uint32_t>(kind);
    }
    for (const Kind kind : {Kind::Prompt, Kind::PlanStarted, Kind::StatePatched, Kind::Warning})
        EXPECT_EQ(writes_until_found(kind), 1u) << static_cast<uint32_t>(kind);
}

TEST_F(StreamTest, LateRecordWriterIsFoundAtOnceUnlessItIsLast) {
    const auto send_thousands = [&] {
        for (int i = 0; i < 2'000; ++i) {
            Event event;
            event.line = "{}";
            stream_.publish_tool_event(stream_.take_number(), {}, event);
        }
    };
    send_thousands();
    for (const bool is_last : {false, true}) {
        Recorder& bad = recorder();
        Recorder& good = recorder();
        Watcher watcher;
        bad.then = [](const nar_event& event) { const_cast<nar_event&>(event).seq = 0; };
        bool saw_zero = false;
        good.then = [&](const nar_event& event) { saw_zero = saw_zero || event.seq == 0; };
        if (is_last) stream_.attach(good.sink());
        stream_.attach(bad.sink(), &watcher);
        if (!is_last) stream_.attach(good.sink());
        send_thousands();
        EXPECT_EQ(watcher.wrote, 1);
        EXPECT_LE(bad.seen.size(), is_last ? 61u : 1u);
        EXPECT_FALSE(saw_zero);
        stream_.detach_all();
    }
}

TEST_F(StreamTest, DefaultWatcherGetsViolationsOfUnwatchedSinks) {
    Watcher host;
    stream_.set_default_watcher(host);
    Recorder& thrower = recorder();
    Recorder& writer = recorder();
    thrower.then = [](const nar_event&) { throw std::runtime_error("no"); };
    writer.then = [](const nar_event& event) { const_cast<nar_event&>(event).kind = 99; };
    stream_.attach(thrower.sink());
    stream_.attach(writer.sink());
    stream_.publish(Kind::Prompt, {}, "{}");
    stream_.publish(Kind::Prompt, {}, "{}");
    EXPECT_EQ(host.threw, List{"no"});
    EXPECT_EQ(host.wrote, 1);
    EXPECT_EQ(thrower.seen.size() + writer.seen.size(), 2u);
}

TEST_F(StreamTest, SinksCanAttachAndDetachDuringASend) {
    Recorder& first = recorder();
    Recorder& second = recorder();
    Recorder& late = recorder();
    uint64_t second_id = 0;
    first.then = [&](const nar_event& event) {
        if (event.seq != 1) return;
        EXPECT_TRUE(stream_.detach(second_id));
        EXPECT_FALSE(stream_.detach(second_id));
        stream_.attach(late.sink());
    };
    stream_.attach(first.sink());
    second_id = stream_.attach(second.sink());
    stream_.publish(Kind::Prompt, {}, "{}");
    EXPECT_EQ(second.seen, List{});
    EXPECT_EQ(second.detached, 1);
    EXPECT_EQ(late.seen, List{}) << "it gets only the next record";
    stream_.publish(Kind::Prompt, {}, "{}");
    EXPECT_EQ(late.seen, List{record(2, Kind::Prompt)});
}

}  // namespace
}  // namespace narratoria::event
