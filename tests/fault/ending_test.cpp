// SPDX-License-Identifier: Apache-2.0
// The end of sessions and engines, at any moment and from any callback: tools are gone at once,
// each handler is called once, and nothing leaks.

#include <map>
#include <random>

#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Ending : public HostileTest {
protected:
    static std::string long_plan(const Witnesses& witnesses, int count) {
        std::vector<std::string> tools;
        for (int i = 0; i < count; ++i) {
            tools.push_back(
                tool_json(std::to_string(i), tool_path("ignores_sigterm"), witnesses.input()));
        }
        return plan_json(tools, true);
    }
    // The grace period exceeds the test's time limit, so waiting for it would fail the test.
    void make_patient_host() {
        EngineOptions options;
        options.jobs = 8;
        options.times = times(NAR_NONE, 900000);
        make_host(std::move(options));
    }
};

TEST_F(Ending, OfAnEngineKillsAllToolsAtOnce) {
    make_patient_host();
    const Witnesses witnesses;
    host->begin(long_plan(witnesses, 8));
    std::vector<Witness> all;
    for (int i = 0; i < 8; ++i) all.push_back(witnesses.accept(host.get()));
    host->engine.destroy();
    for (const Witness& witness : all) EXPECT_TRUE(witness.is_gone_already());
    expect_no_children();
    ASSERT_TRUE(host->result);
    EXPECT_TRUE(host->result.cancelled());
}

TEST_F(Ending, OfASessionKillsOnlyItsTools) {
    make_patient_host();
    const Witnesses witnesses;
    auto other = std::make_unique<Session>(host->engine);
    bool told = false;
    other->execute(long_plan(witnesses, 3), "", [&](Result result) {
        told = true;
        EXPECT_TRUE(result.cancelled());
    });
    std::vector<Witness> theirs;
    for (int i = 0; i < 3; ++i) theirs.push_back(witnesses.accept(host.get()));
    host->begin(plan_json({tool_json("mine", tool_path("one_then_silence"), witnesses.input())}));
    const Witness mine = witnesses.accept(host.get());
    other.reset();
    EXPECT_TRUE(told);
    for (const Witness& witness : theirs) EXPECT_TRUE(witness.is_gone(host.get()));
    EXPECT_TRUE(mine.lives(host.get()));
    EXPECT_TRUE(mine.tell('d'));
    EXPECT_TRUE(host->finish()["/success"].boolean());
}

// The handlers of the running and the waiting plans are each called once.
TEST_F(Ending, CallsEveryHandlerOnce) {
    std::vector<int> told(4);
    {
        Engine engine;
        Session session(engine);
        for (size_t i = 0; i < told.size(); ++i) {
            session.execute(plan_json({tool_json("t", tool_path("one_then_silence"))}), "",
                            [&told, i](Result result) {
                                ++told[i];
                                EXPECT_TRUE(result.cancelled());
                            });
        }
        engine.run_once();
    }
    EXPECT_THAT(told, testing::Each(1));
}

// Destroying a session within its own handlers and sinks is deferred, then completed.
TEST_F(Ending, OfASessionWithinItsSinksIsDeferred) {
    for (const Kind where :
         {Kind::PlanStarted, Kind::ToolStarted, Kind::AttemptStarted, Kind::ToolEvent,
          Kind::AttemptEnded, Kind::ToolEnded, Kind::PlanEnded}) {
        Engine engine;
        auto session = std::make_unique<Session>(engine);
        bool ended = false;
        session->attach([&](Event event) {
            if (event.kind() == where) session.reset();
        });
        session->execute(plan_json({tool_json("t", tool_path("patcher"))}), "",
                         [&](Result) { ended = true; });
        engine.run_until_idle();
        EXPECT_TRUE(ended) << static_cast<int>(where);
        EXPECT_EQ(session, nullptr);
    }
}

// A sink can still read the session and detach other sinks in its detached() callback.
TEST_F(Ending, OfASessionLetsSinksReadItInDetached) {
    struct Last {
        nar_session* session = nullptr;
        uint64_t other = 0;
        std::string state;
        int told = 0;
        nar_status driven = NAR_OK;
        nar_engine* engine = nullptr;
    } last, other;
    nar_engine* engine = nullptr;
    nar_session* session = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    nar_session_options options{};
    options.size = sizeof options;
    options.state = NAR_STR(R"({"kept":true})");
    ASSERT_EQ(nar_session_create(engine, &options, &session, nullptr), NAR_OK);
    nar_event_sink sink{};
    sink.size = sizeof sink;
    sink.event = [](void*, const nar_event*) {};
    sink.user = &other;
    sink.detached = [](void* user) {
        ++static_cast<Last*>(user)->told;
        throw 1;  // breaks the contract, but must not crash the engine
    };
    ASSERT_EQ(nar_session_attach_sink(session, &sink, &last.other, nullptr), NAR_OK);
    sink.user = &last;
    sink.detached = [](void* user) {
        Last& self = *static_cast<Last*>(user);
        ++self.told;
        nar_text* text = nullptr;
        if (nar_session_read_state(self.session, NAR_STR(""), &text, nullptr) == NAR_OK) {
            const nar_str view = nar_text_view(text);
            self.state.assign(view.data, static_cast<size_t>(view.size));
            nar_text_release(text);
        }
        nar_session_detach_sink(self.session, self.other, nullptr);
        self.driven = nar_engine_run_once(self.engine, nullptr);
    };
    last.session = session;
    last.engine = engine;
    ASSERT_EQ(nar_session_attach_sink(session, &sink, nullptr, nullptr), NAR_OK);
    ASSERT_EQ(nar_session_destroy(session, nullptr), NAR_OK);
    EXPECT_EQ(last.state, R"({"kept":true})");
    EXPECT_EQ(last.driven, NAR_REENTRANT);
    EXPECT_EQ(last.told, 1);
    EXPECT_EQ(other.told, 1);
    EXPECT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
}

// A plan cancelled earlier is still in its grace period; the end of the session kills it as well.
TEST_F(Ending, OfASessionKillsCancelledToolsInTheirGracePeriod) {
    make_patient_host();
    const Witnesses witnesses;
    auto other = std::make_unique<Session>(host->engine);
    other->execute(long_plan(witnesses, 2), "", [](Result) {});
    std::vector<Witness> theirs;
    for (int i = 0; i < 2; ++i) theirs.push_back(witnesses.accept(host.get()));
    other->cancel();
    host->engine.run_for(std::chrono::microseconds(0));
    other.reset();
    for (const Witness& witness : theirs) EXPECT_TRUE(witness.is_gone(host.get()));
}

TEST_F(Ending, OfASessionWithinItsHandlerIsDeferred) {
    Engine engine;
    auto session = std::make_unique<Session>(engine);
    session->execute(plan_json({tool_json("t", tool_path("patcher"))}), "",
                     [&](Result) { session.reset(); });
    engine.run_until_idle();
    EXPECT_EQ(session, nullptr);
}

// Each session's handler ends the next session.
TEST_F(Ending, OfASessionMayEndOthers) {
    Engine engine;
    std::vector<std::unique_ptr<Session>> sessions;
    size_t told = 0;
    for (int i = 0; i < 5; ++i) sessions.push_back(std::make_unique<Session>(engine));
    for (size_t i = 0; i < 5; ++i) {
        sessions[i]->execute(plan_json({tool_json("t", tool_path("one_then_silence"))}), "",
                             [&, i](Result) {
                                 ++told;
                                 if (i + 1 < sessions.size()) sessions[i + 1].reset();
                             });
    }
    engine.run_once();
    engine.post([&] { sessions[0].reset(); });
    engine.run_until_idle();
    EXPECT_EQ(told, 5u);
}

// A handler that cleans up may use and destroy its session's C handle while the engine ends.
TEST_F(Ending, OfAnEngineAllowsHandlersToDestroyTheirSession) {
    struct Owner {
        nar_session* session = nullptr;
        nar_session* sibling = nullptr;
        int told = 0;
        nar_status submitted = NAR_OK;
    };
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    std::vector<Owner> owners(4);
    for (Owner& owner : owners) {
        ASSERT_EQ(nar_session_create(engine, nullptr, &owner.session, nullptr), NAR_OK);
    }
    for (size_t i = 0; i < owners.size(); ++i) {
        owners[i].sibling = i + 1 < owners.size() ? owners[i + 1].session : nullptr;
        nar_execution_handler handler{};
        handler.size = sizeof handler;
        handler.user = &owners[i];
        handler.ended = [](void* user, nar_result*) {
            auto& owner = *static_cast<Owner*>(user);
            ++owner.told;
            // Submitted now, a plan could never end, so it is refused.
            owner.submitted =
                nar_session_execute(owner.session, NAR_STR(R"({"requestId":"p","tools":[]})"),
                                    {nullptr, 0}, nullptr, nullptr, nullptr);
            EXPECT_EQ(nar_session_destroy(owner.session, nullptr), NAR_OK);
        };
        const std::string plan = plan_json({tool_json("t", tool_path("one_then_silence"))});
        ASSERT_EQ(nar_session_execute(owners[i].session, {plan.data(), plan.size()}, {nullptr, 0},
                                      &handler, nullptr, nullptr),
                  NAR_OK);
    }
    for (int i = 0; i < 3; ++i) ASSERT_EQ(nar_engine_run_once(engine, nullptr), NAR_OK);
    ASSERT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
    for (const Owner& owner : owners) {
        EXPECT_EQ(owner.told, 1);
        EXPECT_EQ(owner.submitted, NAR_GONE);
    }
}

// Cancels after a random number of events: the result is consistent, and the next plan runs
// normally.
TEST_F(Ending, ByCancelIsConsistentAtAnyMoment) {
    EngineOptions options;
    options.jobs = 3;
    options.times = times(NAR_NONE, 300);
    make_host(std::move(options));
    const std::string plan = plan_json(
        {tool_json("a", tool_path("million_logs"), R"({"count":20,"batch":false})"),
         tool_json("b", tool_path("patcher"), "{}", R"(,"dependencies":["a"])"),
         tool_json("c", tool_path("flaky"),
                   R"({"failures":2,"counter":)" + json_text(folder.path() + "/counter") + "}",
                   R"(,"retryPolicy":{"maxRetries":3,"backoffMs":5})"),
         tool_json("d", tool_path("leaves_child")),
         tool_json("e", tool_path("exits_after_done"), "{}", R"(,"required":false)"),
         tool_json("f", tool_path("patcher"), "{}", R"(,"dependencies":["e","c"])")},
        true);
    auto run = [&](uint64_t cancel_after) {
        ::unlink((folder.path() + "/counter").c_str());
        const uint64_t start = host->events;
        host->records.clear();
        host->on_event = [&, start, cancel_after](Event) {
            if (host->events == start + cancel_after) host->session.cancel();
        };
        const Json result = host->run(plan);
        host->on_event = nullptr;
        return std::pair(host->events - start, result);
    };
    const auto [whole, undisturbed] = run(UINT64_MAX);
    ASSERT_TRUE(undisturbed["/success"].boolean()) << undisturbed.text();
    std::mt19937 random(20261121);
    for (int i = 0; i < 50; ++i) {
        const uint64_t after = 1 + random() % (whole + 2);
        const auto [events, result] = run(after);
        SCOPED_TRACE("cancelled after " + std::to_string(after) + " of " + std::to_string(whole));
        ASSERT_EQ(result["/toolResults"].size(), 6u);
        bool cancelled = false;
        for (int tool = 0; tool < 6; ++tool) {
            const Json each = result["/toolResults/" + std::to_string(tool)];
            const std::string state = each["/state"].string();
            EXPECT_EQ(each["/ok"].boolean(), state == "completed");
            EXPECT_EQ(each.has("/error"), state != "completed");
            if (state == "completed") continue;
            const std::string code = each["/errorCode"].string();
            cancelled |= code == "CANCELLED";
            EXPECT_TRUE(code == "CANCELLED" || (tool == 4 && code == "EXIT_STATUS")) << code;
            if (code == "CANCELLED") {
                EXPECT_EQ(state, each["/attempts"].size() > 0 ? "failed" : "skipped");
            }
        }
        EXPECT_EQ(result["/success"].boolean(), !cancelled && !host->result.cancelled());
        EXPECT_FALSE(cancelled && result["/canReplan"].boolean());
        // The plan ends once, and so does each tool.
        std::map<std::string, int> ends;
        for (const Record& record : host->records) {
            if (record.kind == Kind::PlanEnded) ++ends["the plan"];
            if (record.kind == Kind::ToolEnded) ++ends[record.tool];
        }
        EXPECT_EQ(ends.size(), 7u);
        for (const auto& [name, count] : ends) EXPECT_EQ(count, 1) << name;
        expect_only_supervisors();
    }
    ::unlink((folder.path() + "/counter").c_str());
}

// The same with the destruction of the whole engine.
TEST_F(Ending, ByDestructionIsConsistentAtAnyMoment) {
    for (uint64_t after = 1; after < 40; after += 2) {
        make_host({.jobs = 3});
        std::vector<std::string> tools;
        for (int i = 0; i < 5; ++i) {
            tools.push_back(
                tool_json(std::to_string(i), tool_path("leaves_child"), R"({"stubborn":true})"));
        }
        host->begin(plan_json(tools, true));
        host->until([&] { return host->events >= after || host->result; });
        host.reset();
        expect_no_children();
    }
}

}  // namespace
}  // namespace narratoria::hostile
