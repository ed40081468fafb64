// SPDX-License-Identifier: Apache-2.0
// Several engines in one process and several sessions in one engine share the slots fairly without
// interfering.

#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Engines : public HostileTest {};

TEST_F(Engines, InOneProcessWorkIndependently) {
    std::vector<std::unique_ptr<Host>> hosts;
    for (int i = 0; i < 4; ++i) {
        hosts.push_back(std::make_unique<Host>());
        std::vector<std::string> tools;
        for (int tool = 0; tool < 6; ++tool) {
            tools.push_back(tool_json(std::to_string(tool), tool_path("patcher"),
                                      R"({"patch":{"engine":)" + std::to_string(i) + "}}"));
        }
        hosts.back()->begin(plan_json(tools, true));
    }
    const Clock::time_point deadline = Clock::now() + kPatience;
    auto all_ended = [&] {
        return std::all_of(hosts.begin(), hosts.end(),
                           [](const auto& each) { return static_cast<bool>(each->result); });
    };
    while (!all_ended() && Clock::now() < deadline) {
        for (const auto& each : hosts) each->engine.run_for(std::chrono::microseconds(200));
        pollfd ready[4];
        for (size_t i = 0; i < 4; ++i) ready[i] = {hosts[i]->engine.descriptor(), POLLIN, 0};
        ::poll(ready, 4, 10);
    }
    for (size_t i = 0; i < hosts.size(); ++i) {
        ASSERT_TRUE(hosts[i]->result);
        EXPECT_TRUE(hosts[i]->result.success());
        EXPECT_EQ(hosts[i]->state().text(), R"({"engine":)" + std::to_string(i) + "}");
    }
    // Destroys one engine with its supervisors; the others are not affected.
    hosts.erase(hosts.begin());
    for (const auto& each : hosts) {
        EXPECT_EQ(each->run_tool(tool_path("patcher"))["/state"].string(), "completed");
    }
    hosts.clear();
}

// A session with many tools does not hold all slots: the sessions take turns.
TEST_F(Engines, ShareSlotsFairlyAmongSessions) {
    constexpr int kSessions = 3, kTools = 12;
    EngineOptions options;
    options.jobs = 1;
    Engine engine(options);
    std::vector<Session> sessions;
    std::string order;
    int ended = 0;
    for (int i = 0; i < kSessions; ++i) {
        sessions.emplace_back(engine);
        sessions.back().attach([&order, i](Event) { order += static_cast<char>('a' + i); },
                               kinds(Kind::ToolStarted));
    }
    std::vector<std::string> tools;
    for (int tool = 0; tool < kTools; ++tool) {
        tools.push_back(tool_json(std::to_string(tool), tool_path("patcher")));
    }
    for (Session& session : sessions) {
        session.execute(plan_json(tools, true), "", [&](Result result) {
            ++ended;
            EXPECT_TRUE(result.success());
        });
    }
    engine.run_until_idle();
    EXPECT_EQ(ended, kSessions);
    ASSERT_EQ(order.size(), static_cast<size_t>(kSessions * kTools));
    // At any point, no session is ahead of another by more than two tools.
    std::map<char, int> count;
    for (const char each : order) {
        ++count[each];
        EXPECT_LE(count[each] - std::min({count['a'], count['b'], count['c']}), 2) << order;
    }
    sessions.clear();
}

// A session with nothing left to start does not delay the others.
TEST_F(Engines, PassOnAnUnneededSlot) {
    EngineOptions options;
    options.jobs = 2;
    Engine engine(options);
    Session slow(engine), quick(engine), third(engine);
    const Witnesses witnesses;
    bool slow_ended = false;
    int quick_ended = 0;
    slow.execute(
        plan_json({tool_json("long", tool_path("one_then_silence"), witnesses.input()),
                   tool_json("more", tool_path("patcher"), "{}", R"(,"dependencies":["long"])")},
                  true),
        "", [&](Result) { slow_ended = true; });
    std::vector<std::string> tools;
    for (int tool = 0; tool < 10; ++tool) {
        tools.push_back(tool_json(std::to_string(tool), tool_path("patcher")));
    }
    for (Session* each : {&quick, &third}) {
        each->execute(plan_json(tools, true), "", [&](Result result) {
            ++quick_ended;
            EXPECT_TRUE(result.success());
        });
    }
    const Clock::time_point deadline = Clock::now() + kPatience;
    while (quick_ended < 2 && Clock::now() < deadline) engine.run_once();
    EXPECT_EQ(quick_ended, 2);
    EXPECT_FALSE(slow_ended);
    const Witness witness = witnesses.accept(nullptr);
    EXPECT_TRUE(witness.tell('d'));
    engine.run_until_idle();
    EXPECT_TRUE(slow_ended);
}

}  // namespace
}  // namespace narratoria::hostile
