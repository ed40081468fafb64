// SPDX-License-Identifier: Apache-2.0
// The C++ wrapper's additions to the C contract: ownership, views and exceptions.
#include "narratoria/engine.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "conformance/folder.hpp"
#include "narratoria/validate.hpp"
#include "sdk/error_of.hpp"
#include "support/folders.hpp"

namespace {

using narratoria::Engine;
using narratoria::EngineOptions;
using narratoria::Error;
using narratoria::Event;
using narratoria::Kind;
using narratoria::Narrator;
using narratoria::NarratorReply;
using narratoria::Outcome;
using narratoria::Result;
using narratoria::Session;
using narratoria::SessionOptions;
using narratoria::Text;
using narratoria::Turn;
using narratoria::Type;
using narratoria::test::error_of;
using narratoria::test::Folder;

constexpr std::string_view kNothing =
    R"({"requestId":"p","narrative":"Nothing moves.","tools":[]})";

std::string plan_of(const std::string& tool) {
    return R"({"requestId":"p","tools":[{"toolId":"a","toolPath":")" + tool +
           R"(","retryPolicy":{"maxRetries":0}}]})";
}

// A callable whose copies share `alive`, so that a test can observe when the last one is freed.
struct Witness {
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    std::weak_ptr<int> observe() const { return alive; }
};

static_assert(!std::is_copy_constructible_v<Engine> &&
              std::is_nothrow_move_constructible_v<Engine>);
static_assert(!std::is_copy_constructible_v<Session> &&
              std::is_nothrow_move_constructible_v<Session>);
static_assert(!std::is_copy_constructible_v<Text> && std::is_nothrow_move_constructible_v<Text>);
static_assert(std::is_copy_constructible_v<Result>);
static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) == sizeof(void*));

TEST(EngineWrapper, ResultOutlivesTheEngine) {
    Result result;
    {
        Engine engine;
        Session session(engine);
        session.execute(kNothing, {}, [&](Result ended) { result = ended; });
        engine.run_until_idle();
        EXPECT_FALSE(engine.is_busy());
    }
    ASSERT_TRUE(result);
    EXPECT_TRUE(result.success());
    EXPECT_FALSE(result.cancelled());
    EXPECT_NE(result.json().view().find("Nothing moves."), std::string_view::npos);
}

TEST(EngineWrapper, ResultPiecesFormItsText) {
    Engine engine;
    Session session(engine);
    Result result;
    session.execute(kNothing, {}, [&](Result ended) { result = ended; });
    engine.run_until_idle();
    std::string text;
    result.write([&](std::string_view piece) { text += piece; });
    EXPECT_EQ(text, result.json().view());
    EXPECT_THROW(result.write([](std::string_view) { throw std::length_error("full"); }),
                 std::length_error);
}

TEST(EngineWrapper, SinkSeesTypedEventsInOrder) {
    const Folder folder;
    const std::string tool = folder.tool(
        "tool",
        "echo '{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"x\"}'\n"
        "echo '{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'\n");
    Engine engine;
    Session session(engine);
    std::vector<Type> types;
    std::uint64_t last = 0;
    session.attach([&](Event event) {
        EXPECT_GT(event.seq(), last);
        last = event.seq();
        EXPECT_EQ(event.session_id(), session.id());
        EXPECT_GT(event.time().time_since_epoch().count(), 0);
        if (event.kind() != Kind::ToolEvent) return;
        EXPECT_EQ(event.tool_id(), "a");
        EXPECT_EQ(event.attempt(), 1u);
        EXPECT_EQ(event.kind_name(), "tool_event");
        EXPECT_NE(event.json().view().find(event.body()), std::string_view::npos);
        types.push_back(event.type());
    });
    session.execute(plan_of(tool));
    engine.run_until_idle();
    EXPECT_EQ(types, (std::vector<Type>{Type::Log, Type::Done}));
}

TEST(EngineWrapper, SinkGetsOnlyTheRequestedKinds) {
    Engine engine;
    Session session(engine);
    std::vector<Kind> seen;
    session.attach([&](Event event) { seen.push_back(event.kind()); },
                   narratoria::kinds(Kind::PlanStarted, Kind::PlanEnded));
    session.execute(kNothing);
    engine.run_until_idle();
    EXPECT_EQ(seen, (std::vector<Kind>{Kind::PlanStarted, Kind::PlanEnded}));
}

TEST(EngineWrapper, SinkIsFreedOnDetachAndWithItsSession) {
    Engine engine;
    std::weak_ptr<int> taken_off;
    std::weak_ptr<int> left;
    {
        Session session(engine);
        Witness one;
        Witness two;
        taken_off = one.observe();
        left = two.observe();
        const std::uint64_t number = session.attach([one = std::move(one)](Event) noexcept {});
        session.attach([two = std::move(two)](Event) noexcept {});
        session.detach(number);
        EXPECT_TRUE(taken_off.expired());
        EXPECT_FALSE(left.expired());
        EXPECT_EQ(error_of([&] { session.detach(number); }).status(), NAR_NOT_FOUND);
    }
    EXPECT_TRUE(left.expired());
}

TEST(EngineWrapper, SinkThatDetachesItselfLivesUntilItReturns) {
    Engine engine;
    Session session(engine);
    Witness witness;
    const std::weak_ptr<int> alive = witness.observe();
    std::uint64_t number = 0;
    int calls = 0;
    number = session.attach([&, witness = std::move(witness)](Event) {
        session.detach(number);
        ++*witness.alive;
        calls += *witness.alive;
    });
    session.execute(kNothing);
    engine.run_until_idle();
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(alive.expired());
}

TEST(EngineWrapper, SinkCanBeAttachedByReference) {
    struct Counter {
        void operator()(Event) noexcept { ++count; }
        int count = 0;
    } counter;
    Engine engine;
    Session session(engine);
    session.attach(std::ref(counter));
    session.execute(kNothing);
    engine.run_until_idle();
    EXPECT_GT(counter.count, 0);
}

TEST(EngineWrapper, SinkExceptionIsRethrownAndDrivingContinues) {
    Engine engine;
    Session session(engine);
    bool ended = false;
    session.attach([](Event) { throw std::domain_error("mine"); },
                   narratoria::kinds(Kind::PlanStarted));
    session.execute(kNothing, {}, [&](Result result) { ended = result.success(); });
    EXPECT_THROW(engine.run_until_idle(), std::domain_error);
    engine.run_until_idle();
    EXPECT_TRUE(ended);
}

TEST(EngineWrapper, HandlerAndPostExceptionsAreRethrown) {
    Engine engine;
    Session session(engine);
    session.execute(kNothing, {}, [](Result) { throw std::domain_error("handler"); });
    EXPECT_THROW(engine.run_until_idle(), std::domain_error);
    engine.post([] { throw std::range_error("post"); });
    EXPECT_THROW(engine.run_until_idle(), std::range_error);
    engine.run_until_idle();
}

TEST(EngineWrapper, FailedCallThrowsCodeMessageAndAllFaults) {
    Engine engine;
    Session session(engine);
    Witness witness;
    const std::weak_ptr<int> alive = witness.observe();
    const Error error = error_of([&] {
        session.execute(R"({"tools":[{"toolId":""}]})", {},
                        [witness = std::move(witness)](Result) {});
    });
    EXPECT_EQ(error.status(), NAR_INVALID_DOCUMENT);
    EXPECT_FALSE(error.code().empty());
    EXPECT_FALSE(error.message().empty());
    EXPECT_NE(error.details().find("/requestId"), std::string::npos);
    EXPECT_NE(error.details().find("/tools/0/toolPath"), std::string::npos);
    EXPECT_TRUE(alive.expired()) << "a refused plan's handler must be freed";
    EXPECT_FALSE(engine.is_busy());
}

TEST(EngineWrapper, DrivingWithinACallbackIsRefused) {
    Engine engine;
    Session session(engine);
    nar_status status = NAR_OK;
    session.execute(kNothing, {},
                    [&](Result) { status = error_of([&] { engine.run_until_idle(); }).status(); });
    engine.run_until_idle();
    EXPECT_EQ(status, NAR_REENTRANT);
}

TEST(EngineWrapper, SessionThatOutlivesItsEngineIsUnusable) {
    std::optional<Session> session;
    {
        Engine engine;
        session.emplace(engine);
    }
    session->cancel();
    EXPECT_EQ(session->raw(), nullptr);
    EXPECT_EQ(error_of([&] { session->state(); }).status(), NAR_GONE);
    EXPECT_EQ(error_of([&] { session->prompt("x", [](Turn) {}); }).status(), NAR_GONE);
}

TEST(EngineWrapper, DestroyingTheEngineCancelsAndNotifiesHandlers) {
    const Folder folder;
    const std::string tool = folder.tool("tool", "exec sleep 60\n");
    int ended = 0;
    bool cancelled = false;
    {
        Engine engine;
        Session session(engine);
        session.execute(plan_of(tool), {}, [&](Result result) {
            ++ended;
            cancelled = result.cancelled();
        });
        engine.run_for(std::chrono::microseconds(0));
    }
    EXPECT_EQ(ended, 1);
    EXPECT_TRUE(cancelled);
}

TEST(EngineWrapper, LargePlanIsAnnouncedOverManyFrames) {
    Engine engine;
    Session session(engine);
    constexpr size_t kTools = 5000;
    size_t pending = 0;
    size_t ended_early = 0;
    session.attach([&](Event event) noexcept {
        if (event.kind() == narratoria::Kind::ToolPending) ++pending;
        if (event.kind() == narratoria::Kind::ToolEnded && pending % kTools != 0) ++ended_early;
    });
    std::string plan = R"({"requestId":"p","tools":[)";
    for (size_t i = 0; i < kTools; ++i) {
        plan += i == 0 ? "" : ",";
        plan += R"({"toolId":")" + std::to_string(i) + R"(","toolPath":"missing")";
        plan += i == 0 ? "}" : R"(,"dependencies":["0"]})";
    }
    plan += "]}";
    session.execute(plan, {}, [](Result) {});
    while (pending == 0) engine.run_for(std::chrono::microseconds(50));
    EXPECT_LT(pending, kTools);
    // Every tool is announced, even if the plan ends meanwhile.
    session.cancel();
    engine.run_until_idle();
    EXPECT_EQ(pending, kTools);
    session.execute(plan, {}, [](Result) {});
    engine.run_until_idle();
    EXPECT_EQ(pending, 2 * kTools);
    EXPECT_EQ(ended_early, 0u);
}

TEST(EngineWrapper, DestroyIsIdempotentAndRefusedInCallbacks) {
    Engine engine;
    Session session(engine);
    nar_status inside = NAR_OK;
    engine.post([&] { inside = error_of([&] { engine.destroy(); }).status(); });
    engine.run_until_idle();
    EXPECT_EQ(inside, NAR_REENTRANT);
    EXPECT_NE(engine.raw(), nullptr);
    engine.destroy();
    engine.destroy();
    EXPECT_EQ(engine.raw(), nullptr);
    EXPECT_EQ(error_of([&] { engine.run_once(); }).status(), NAR_GONE);
}

TEST(EngineWrapper, MovedObjectsStayUsable) {
    Engine first;
    Session session(first);
    Engine second = std::move(first);
    Session moved = std::move(session);
    bool ended = false;
    moved.execute(kNothing, {}, [&](Result) { ended = true; });
    second.run_until_idle();
    EXPECT_TRUE(ended);
    EXPECT_EQ(error_of([&] { first.run_once(); }).status(), NAR_GONE);
    EXPECT_EQ(error_of([&] { session.state(); }).status(), NAR_GONE);
}

TEST(EngineWrapper, PostThatNeverRunsIsFreed) {
    Witness witness;
    const std::weak_ptr<int> alive = witness.observe();
    {
        Engine engine;
        engine.post([witness = std::move(witness)] { FAIL() << "the post must not run"; });
        EXPECT_FALSE(alive.expired());
    }
    EXPECT_TRUE(alive.expired());
}

TEST(EngineWrapper, PostsFromOtherThreadsRunOnTheEngineThread) {
    Engine engine;
    const std::thread::id here = std::this_thread::get_id();
    int ran = 0;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&] {
            for (int time = 0; time < 100; ++time) {
                engine.post([&] {
                    EXPECT_EQ(std::this_thread::get_id(), here);
                    ++ran;
                });
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    engine.run_until_idle();
    EXPECT_EQ(ran, 400);
}

TEST(EngineWrapper, OtherThreadMustAdoptTheEngine) {
    Engine engine;
    std::thread([&] {
        EXPECT_EQ(error_of([&] { engine.run_once(); }).status(), NAR_WRONG_THREAD);
        engine.adopt_thread();
        engine.run_once();
    }).join();
    EXPECT_EQ(error_of([&] { engine.run_once(); }).status(), NAR_WRONG_THREAD);
    engine.adopt_thread();
}

TEST(EngineWrapper, SessionDestroyedOnAnotherThreadEndsInTheNextDrivingCall) {
    Engine engine;
    Witness witness;
    const std::weak_ptr<int> alive = witness.observe();
    std::optional<Session> session(std::in_place, engine);
    session->attach([witness = std::move(witness)](const Event&) {});
    std::thread([&] { session.reset(); }).join();
    EXPECT_FALSE(alive.expired()) << "nothing of it ends on the other thread";
    engine.run_until_idle();
    EXPECT_TRUE(alive.expired());
}

TEST(EngineWrapper, SessionDestroyedOnAnotherThreadMayEndWithItsEngine) {
    std::optional<Engine> engine(std::in_place);
    std::optional<Session> session(std::in_place, *engine);
    std::thread([&] { session.reset(); }).join();
    engine.reset();
}

TEST(EngineWrapper, DescriptorIsReadableWhenThereIsWork) {
    Engine engine;
    Session session(engine);
    bool ended = false;
    session.execute(kNothing, {}, [&](Result) { ended = true; });
    while (engine.is_busy()) {
        pollfd ready{engine.descriptor(), POLLIN, 0};
        const auto timeout = engine.timeout();
        poll(&ready, 1, timeout ? static_cast<int>(timeout->count()) : 10'000);
        engine.run_for(std::chrono::microseconds(500));
    }
    EXPECT_TRUE(ended);
}

TEST(EngineWrapper, SessionHasItsStorysTitle) {
    Engine engine;
    EXPECT_EQ(Session(engine).title(), "");
    EXPECT_EQ(Session(engine).opening(), "");
    const Session session(engine, {.story = narratoria::test::in_source("examples/stories/torch")});
    EXPECT_EQ(session.title(), "The Torch and the Door");
    EXPECT_EQ(session.opening().substr(0, 9), "{\"text\":\"");
}

TEST(EngineWrapper, CurrentTurnHasWhatTheLastOneToldAndItsChoices) {
    Engine engine;
    Session session(engine, {.story = narratoria::test::in_source("examples/stories/torch")});
    const std::string start = R"({"turn":0,"narrative":"","choices":["I light the torch",)";
    EXPECT_EQ(session.current().view().substr(0, start.size()), start);
    std::string choices;
    session.prompt("I light the torch", [&](narratoria::Turn turn) { choices = turn.choices(); });
    engine.run_until_idle();
    EXPECT_EQ(
        session.current().view(),
        R"({"turn":0,"narrative":"You reach for the torch on the wall.\n\nTorch lit.","choices":)" +
            choices + "}");
    session.execute(R"({"requestId":"p","tools":[]})");
    engine.run_until_idle();
    EXPECT_EQ(session.current().view(), R"({"turn":0,"narrative":"","choices":[]})");
}

TEST(EngineWrapper, UuidIsUnique) {
    const std::string one = narratoria::make_uuid();
    EXPECT_EQ(one.size(), 36u);
    EXPECT_NE(one, narratoria::make_uuid());
}

TEST(EngineWrapper, StateHistoryAndAssetsAreTexts) {
    Engine engine;
    Session session(engine, {.id = "mine", .state = R"({"gold":7})"});
    EXPECT_EQ(session.id(), "mine");
    session.patch_state(R"({"torch":{"lit":true}})");
    EXPECT_EQ(session.state("/gold").view(), "7");
    EXPECT_EQ(session.state("/torch").view(), R"({"lit":true})");
    EXPECT_EQ(error_of([&] { session.state("/nowhere"); }).status(), NAR_NOT_FOUND);
    EXPECT_EQ(error_of([&] { session.state("nowhere"); }).status(), NAR_INVALID_ARGUMENT);
    EXPECT_NE(session.history().view().find("\"torch\""), std::string_view::npos);
    EXPECT_EQ(session.assets().view(), "[]");
}

TEST(EngineWrapper, ValidateListsFaults) {
    EXPECT_EQ(narratoria::validate(narratoria::Document::Plan, kNothing).view(), "[]");
    const Text faults = narratoria::validate(narratoria::Document::Plan, "{}");
    EXPECT_NE(faults.view().find("/tools"), std::string_view::npos);
}

// ---- narrators

// covers: 003-14.1-replaceable-narrator
TEST(EngineWrapper, HostNarratorAnswersAPrompt) {
    Engine engine;
    std::string asked;
    Session session(
        engine,
        {.narrator = Narrator{
             .id = "mine", .generate = [&](std::string_view request, const NarratorReply& reply) {
                 asked = request;
                 EXPECT_TRUE(reply.plan(kNothing));
                 EXPECT_FALSE(reply.plan(kNothing)) << "the first reply wins";
             }}});
    Outcome outcome = Outcome::Cancelled;
    std::string narrative;
    session.prompt("wait", [&](Turn turn) {
        outcome = turn.outcome();
        narrative = turn.narrative();
        EXPECT_EQ(turn.generations(), 1u);
        EXPECT_EQ(turn.choices(), "[]");
        EXPECT_TRUE(turn.result().success());
    });
    engine.run_until_idle();
    EXPECT_EQ(outcome, Outcome::Completed);
    EXPECT_EQ(narrative, "Nothing moves.");
    EXPECT_NE(asked.find("\"wait\""), std::string::npos);
}

TEST(EngineWrapper, NarratorMayAnswerFromAThreadAndTooLate) {
    std::optional<NarratorReply> kept;
    std::thread thinker;
    {
        Engine engine;
        Session session(
            engine,
            {.narrator = Narrator{.id = "mine", .generate = [&](auto, const NarratorReply& reply) {
                                      kept = reply;
                                      thinker = std::thread([reply] { reply.plan(kNothing); });
                                  }}});
        Outcome outcome = Outcome::Cancelled;
        session.prompt("wait", [&](Turn turn) { outcome = turn.outcome(); });
        engine.run_until_idle();
        EXPECT_EQ(outcome, Outcome::Completed);
        thinker.join();
        EXPECT_FALSE(kept->plan(kNothing));
    }
    EXPECT_FALSE(kept->plan(kNothing)) << "a reply to a destroyed engine returns false";
}

TEST(EngineWrapper, ThrowingNarratorUsesUpAGeneration) {
    Engine engine;
    int asked = 0;
    Session session(engine, {.narrator = Narrator{
                                 .id = "mine", .generate = [&](auto, const NarratorReply& reply) {
                                     if (++asked == 1) throw std::runtime_error("no idea");
                                     reply.plan(kNothing);
                                 }}});
    Outcome outcome = Outcome::Cancelled;
    session.prompt("wait", [&](Turn turn) { outcome = turn.outcome(); });
    EXPECT_THROW(engine.run_until_idle(), std::runtime_error);
    engine.run_until_idle();
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(outcome, Outcome::Completed);
}

TEST(EngineWrapper, CancelledRequestNotifiesItsNarrator) {
    Engine engine;
    std::uint64_t open = 0;
    std::uint64_t cancelled = 0;
    Session session(
        engine, {.narrator = Narrator{
                     .id = "mine",
                     .generate = [&](auto, const NarratorReply& reply) { open = reply.token(); },
                     .cancel = [&](std::uint64_t token) { cancelled = token; }}});
    Outcome outcome = Outcome::Completed;
    session.prompt("wait", [&](Turn turn) { outcome = turn.outcome(); });
    while (open == 0) engine.run_once();
    session.cancel();
    engine.run_until_idle();
    EXPECT_EQ(cancelled, open);
    EXPECT_EQ(outcome, Outcome::Cancelled);
}

TEST(EngineWrapper, NarratorIsFreedWithItsSessionOrIfCreationFails) {
    Engine engine;
    Witness one;
    Witness two;
    const std::weak_ptr<int> with_session = one.observe();
    const std::weak_ptr<int> refused = two.observe();
    {
        SessionOptions options;
        options.narrator = Narrator{"mine", [one](auto, const NarratorReply&) {}};
        const Session session(engine, options);
        options.narrator.reset();
        one.alive.reset();
        EXPECT_FALSE(with_session.expired());
    }
    EXPECT_TRUE(with_session.expired());
    {
        SessionOptions options;
        options.state = "[]";
        options.narrator = Narrator{"mine", [two](auto, const NarratorReply&) {}};
        EXPECT_THROW(Session(engine, options), Error);
        options.narrator.reset();
        two.alive.reset();
    }
    EXPECT_TRUE(refused.expired());
}

}  // namespace
