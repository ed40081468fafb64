// SPDX-License-Identifier: Apache-2.0
// Calls from other threads: allowed ones work at any time, forbidden ones are refused, and an
// engine can move to another thread. The same for calls within callbacks. Also for the thread
// sanitizer.

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Threads : public HostileTest {};

TEST_F(Threads, WithoutOwnershipOfTheEngineAreRefused) {
    make_host();
    nar_engine* const engine = host->engine.raw();
    nar_session* const session = host->session.raw();
    std::vector<nar_status> answers;
    std::thread([&] {
        nar_error error = NAR_ERROR_INIT;
        nar_text* text = nullptr;
        nar_session* made = nullptr;
        uint64_t number = 0;
        nar_event_sink sink{};
        sink.size = sizeof sink;
        sink.event = [](void*, const nar_event*) {};
        answers = {
            nar_engine_run_once(engine, &error),
            nar_engine_run_for(engine, 0, &error),
            nar_engine_run_until_idle(engine, &error),
            nar_session_create(engine, nullptr, &made, &error),
            nar_session_attach_sink(session, &sink, &number, &error),
            nar_session_detach_sink(session, 1, &error),
            nar_session_prompt(session, NAR_STR("go"), nullptr, nullptr, &error),
            nar_session_execute(session, NAR_STR("{}"), {nullptr, 0}, nullptr, nullptr, &error),
            nar_session_read_state(session, {nullptr, 0}, &text, &error),
            nar_session_patch_state(session, NAR_STR("{}"), &error),
            nar_session_read_history(session, &text, &error),
            nar_session_read_assets(session, &text, &error),
            nar_session_destroy(session, &error),
            nar_engine_destroy(engine, &error)};
        EXPECT_EQ(error.status, NAR_WRONG_THREAD);
        EXPECT_EQ(std::string(error.code.data, error.code.size), "WRONG_THREAD");
        nar_error_clear(&error);
    }).join();
    for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], NAR_WRONG_THREAD) << i;
    EXPECT_EQ(host->run_tool(tool_path("patcher"))["/state"].string(), "completed");
}

TEST_F(Threads, CanTakeOverTheEngine) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    for (int i = 0; i < 5; ++i) {
        std::thread([&] {
            host->engine.adopt_thread();
            EXPECT_TRUE(witness.does('w', host.get()));
            EXPECT_TRUE(host->until([&, i] {
                return std::count_if(
                           host->records.begin(), host->records.end(), [](const Record& record) {
                               return record.body.find("was told to write") != std::string::npos;
                           }) == i + 1;
            }));
        }).join();
    }
    EXPECT_EQ(nar_engine_run_once(host->engine.raw(), nullptr), NAR_WRONG_THREAD);
    host->engine.adopt_thread();
    EXPECT_TRUE(witness.tell('d'));
    EXPECT_TRUE(host->finish()["/success"].boolean());
}

// One engine per thread, concurrently.
TEST_F(Threads, CanEachHaveAnEngine) {
    std::vector<std::thread> threads;
    std::atomic<int> completed{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            Host own;
            for (int round = 0; round < 5; ++round) {
                completed += own.run_tool(tool_path("patcher"))["/state"].string() == "completed";
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(completed, 20);
}

TEST_F(Threads, PostInOrderAndWakeTheLoop) {
    make_host();
    constexpr int kThreads = 4, kPosts = 500;
    std::vector<std::vector<int>> got(kThreads);
    std::atomic<int> left{kThreads * kPosts};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            for (int number = 0; number < kPosts; ++number) {
                host->engine.post([&, i, number] {
                    got[static_cast<size_t>(i)].push_back(number);
                    --left;
                });
            }
        });
    }
    EXPECT_TRUE(host->until([&] { return left == 0; }));
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<int>& numbers : got) {
        ASSERT_EQ(numbers.size(), static_cast<size_t>(kPosts));
        EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    }
}

TEST_F(Threads, DropTheirPostsWithTheEngine) {
    struct Counts {
        std::atomic<int> run{0}, dropped{0};
    } counts;
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(nar_engine_post(
                      engine, [](void* user) { ++static_cast<Counts*>(user)->run; },
                      [](void* user) { ++static_cast<Counts*>(user)->dropped; }, &counts, nullptr),
                  NAR_OK);
    }
    ASSERT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
    EXPECT_EQ(counts.run, 0);
    EXPECT_EQ(counts.dropped, 10);
}

// Breaks the contract, but the engine must remain usable.
TEST_F(Threads, PostWhatThrowsAndTheEngineContinues) {
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    int run = 0;
    const auto throws = [](void*) { throw std::runtime_error("posted"); };
    const auto counts = [](void* user) { ++*static_cast<int*>(user); };
    ASSERT_EQ(nar_engine_post(engine, throws, nullptr, nullptr, nullptr), NAR_OK);
    ASSERT_EQ(nar_engine_post(engine, counts, nullptr, &run, nullptr), NAR_OK);
    EXPECT_EQ(nar_engine_run_until_idle(engine, nullptr), NAR_FAILED) << "reported once";
    EXPECT_EQ(nar_engine_run_until_idle(engine, nullptr), NAR_OK);
    EXPECT_EQ(run, 1);
    ASSERT_EQ(nar_engine_post(engine, counts, throws, &run, nullptr), NAR_OK);
    ASSERT_EQ(nar_engine_post(engine, throws, counts, &run, nullptr), NAR_OK);
    EXPECT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
    EXPECT_EQ(run, 2) << "later posts are dropped as well";
}

TEST_F(Threads, CanCancelAtAnyTime) {
    EngineOptions options;
    options.times = times(NAR_NONE, 200);
    make_host(std::move(options));
    std::atomic<bool> stop{false};
    std::atomic<int> cancels{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!stop) {
                host->session.cancel();
                ++cancels;
                std::this_thread::yield();
            }
        });
    }
    int cancelled = 0;
    for (int i = 0; i < 40; ++i) {
        host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"))}));
        ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
        cancelled += host->result.cancelled();
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cancelled, 40);
    EXPECT_GT(cancels, 40);
    host->until([&] { return !host->engine.is_busy(); });
    // The cancel affects only earlier prompts and plans.
    EXPECT_EQ(host->run_tool(tool_path("patcher"))["/state"].string(), "completed");
}

// Two threads cancel concurrently, and neither request is lost.
TEST_F(Threads, CancelIsNotLost) {
    make_host();
    for (int i = 0; i < 100; ++i) {
        int ended = 0;
        for (int plan = 0; plan < 3; ++plan) {
            host->session.execute(plan_json({tool_json("t", tool_path("one_then_silence"))}), "",
                                  [&](Result result) {
                                      ++ended;
                                      EXPECT_TRUE(result.cancelled());
                                  });
        }
        std::thread one([&] { host->session.cancel(); });
        std::thread two([&] { host->session.cancel(); });
        one.join();
        two.join();
        ASSERT_TRUE(host->until([&] { return ended == 3; }));
    }
    host->until([&] { return !host->engine.is_busy(); });
}

// A narrator answers from several threads: the first answer wins; later ones are STALE, or GONE
// once the turn has ended.
TEST_F(Threads, CanAnswerForTheNarrator) {
    struct Answers {
        std::mutex mutex;
        std::map<nar_status, int> count;
        std::vector<std::thread> threads;
        nar_engine* engine = nullptr;
        uint64_t last_token = 0;
        ~Answers() {
            for (std::thread& thread : threads) thread.join();
        }
    } answers;
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    answers.engine = engine;
    nar_narrator narrator{};
    narrator.size = sizeof narrator;
    narrator.id = NAR_STR("threads");
    narrator.user = &answers;
    narrator.generate = [](void* user, const nar_narrator_request* request) {
        auto& its = *static_cast<Answers*>(user);
        const uint64_t token = request->token;
        its.last_token = token;
        for (int i = 0; i < 4; ++i) {
            its.threads.emplace_back([&its, token] {
                const nar_status status = nar_narrator_reply(
                    its.engine, token,
                    NAR_STR(R"({"requestId":"p","narrative":"Light.","tools":[]})"), nullptr);
                const std::lock_guard lock(its.mutex);
                ++its.count[status];
            });
        }
    };
    nar_session_options options{};
    options.size = sizeof options;
    options.narrator = &narrator;
    nar_session* session = nullptr;
    ASSERT_EQ(nar_session_create(engine, &options, &session, nullptr), NAR_OK);
    int turns = 0;
    nar_turn_handler handler{};
    handler.size = sizeof handler;
    handler.user = &turns;
    handler.ended = [](void* user, const nar_turn* turn) {
        ++*static_cast<int*>(user);
        EXPECT_EQ(turn->outcome, static_cast<uint32_t>(NAR_TURN_COMPLETED));
    };
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(nar_session_prompt(session, NAR_STR("light"), &handler, nullptr, nullptr),
                  NAR_OK);
        ASSERT_EQ(nar_engine_run_until_idle(engine, nullptr), NAR_OK);
    }
    EXPECT_EQ(turns, 20);
    for (std::thread& thread : answers.threads) thread.join();
    answers.threads.clear();
    // In each turn one of four answers wins; the others are late.
    EXPECT_EQ(answers.count[NAR_OK], 20);
    EXPECT_EQ(answers.count[NAR_STALE] + answers.count[NAR_GONE], 60);
    EXPECT_EQ(nar_narrator_reply(engine, answers.last_token, NAR_STR("{}"), nullptr), NAR_GONE);
    EXPECT_EQ(nar_narrator_fail(engine, 999999, NAR_STR("no"), nullptr), NAR_GONE);
    ASSERT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
}

TEST_F(Threads, SecondAnswerIsStaleWhileTheTurnRuns) {
    make_host();
    std::optional<uint64_t> token;
    Session session(
        host->engine,
        {.narrator = Narrator{"two", [&](std::string_view, NarratorReply reply) {
                                  token = reply.token();
                                  EXPECT_TRUE(reply.plan(R"({"requestId":"p","tools":[]})"));
                                  EXPECT_FALSE(reply.plan(R"({"requestId":"q","tools":[]})"));
                                  EXPECT_EQ(nar_narrator_reply(host->engine.raw(), *token,
                                                               NAR_STR("{}"), nullptr),
                                            NAR_STALE);
                              }}});
    bool ended = false;
    session.prompt("go", [&](Turn turn) {
        ended = true;
        EXPECT_EQ(turn.generations(), 1u);
    });
    ASSERT_TRUE(host->until([&] { return ended; }));
    EXPECT_EQ(nar_narrator_reply(host->engine.raw(), *token, NAR_STR("{}"), nullptr), NAR_GONE);
}

// Allowed calls work within every callback; forbidden ones return REENTRANT.
TEST_F(Threads, DrivingWithinACallbackIsRefused) {
    make_host();
    nar_engine* const engine = host->engine.raw();
    std::map<std::string, std::vector<nar_status>> answers;
    auto drive_in = [&](const std::string& where) {
        nar_error error = NAR_ERROR_INIT;
        answers[where] = {
            nar_engine_run_once(engine, nullptr), nar_engine_run_for(engine, 0, nullptr),
            nar_engine_run_until_idle(engine, &error), nar_engine_destroy(engine, nullptr)};
        EXPECT_EQ(std::string(error.code.data, error.code.size), "REENTRANT");
        nar_error_clear(&error);
    };
    host->on_event = [&](Event event) {
        drive_in("a sink");
        if (event.kind() != Kind::ToolEvent) return;
        // Reading, submitting, attaching and cancelling are allowed.
        EXPECT_NO_THROW(Json(host->session.state().view()));
        EXPECT_NO_THROW(host->session.patch_state(R"({"in":"a sink"})"));
        EXPECT_NO_THROW(host->session.detach(host->session.attach([](Event) noexcept {})));
        Session other(host->engine);
    };
    int more = 0;
    host->session.execute(plan_json({tool_json("t", tool_path("patcher"))}), "", [&](Result) {
        drive_in("a handler");
        host->session.execute(plan_json({tool_json("u", tool_path("patcher"))}), "",
                              [&](Result) { ++more; });
    });
    host->engine.post([&] { drive_in("a posted function"); });
    ASSERT_TRUE(host->until([&] { return more == 1 && !host->engine.is_busy(); }));
    host->on_event = nullptr;
    EXPECT_EQ(answers.size(), 3u);
    for (const auto& [where, its] : answers) {
        for (const nar_status answer : its) EXPECT_EQ(answer, NAR_REENTRANT) << where;
    }
    EXPECT_EQ(host->state("/in").text(), "\"a sink\"");
}

TEST_F(Threads, SignalHandlerMayCancel) {
    make_host();
    static nar_session* session = nullptr;
    session = host->session.raw();
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) { nar_session_cancel(session); };
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    for (int i = 0; i < 10; ++i) {
        host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"))}));
        ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolStarted, "tool"); }));
        host->records.clear();
        ::raise(SIGUSR1);
        ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
        EXPECT_TRUE(host->result.cancelled());
    }
    ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace narratoria::hostile
