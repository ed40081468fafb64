// SPDX-License-Identifier: Apache-2.0
// Processes that tools start and leave behind, of any kind, are gone when the invocation ends.

#include "support/foreign_writer.hpp"
#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Descendants : public HostileTest {
protected:
    // Accepts `count` connections, for example the tool and its child, keyed by role.
    std::map<std::string, Witness> accept(const Witnesses& witnesses, size_t count) {
        std::map<std::string, Witness> found;
        for (size_t i = 0; i < count; ++i) {
            Witness witness = witnesses.accept(host.get());
            found[witness.role] = std::move(witness);
        }
        return found;
    }
};

class LeftBehind : public Descendants, public testing::WithParamInterface<bool> {};

// The child holds the tool's stdout open; the runtime must wait for the exit, not for the pipe.
TEST_P(LeftBehind, ChildThatKeepsStdoutIsGoneWithTheTool) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("leaves_child"),
                   witnesses.input(GetParam() ? R"(,"stubborn":true)" : R"(,"stubborn":false)"))}));
    const auto both = accept(witnesses, 2);
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_EQ(result["/events"].size(), 2u);
    EXPECT_TRUE(both.at("child").is_gone_already());
    EXPECT_TRUE(both.at("tool").is_gone_already());
    expect_only_supervisors();
}

TEST_P(LeftBehind, DaemonIsGoneWithTheTool) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("daemonizes"),
                   witnesses.input(GetParam() ? R"(,"stubborn":true)"
                                              : R"(,"stubborn":false,"detached":false)"))}));
    const auto both = accept(witnesses, 2);
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_TRUE(both.at("daemon").is_gone_already());
    expect_only_supervisors();
}

class ForkChain : public Descendants, public testing::WithParamInterface<const char*> {};

TEST_P(ForkChain, IsGoneWithTheTool) {
    make_host();
    const Clock::time_point start = Clock::now();
    const Json result = host->run_tool(tool_path("fork_chain"), GetParam());
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    // Without the runtime the chains would run for more than 200 seconds.
    EXPECT_LT(milliseconds_since(start), 100000);
    expect_only_supervisors();
}
INSTANTIATE_TEST_SUITE_P(
    Sessions, ForkChain,
    testing::Values(R"({"chains":8,"generations":200000,"own_session":false})",
                    R"({"chains":8,"generations":200000,"own_session":true})"));

INSTANTIATE_TEST_SUITE_P(IgnoringSigterm, LeftBehind, testing::Bool());

// Descendants live while the tool runs; a timeout, a cancel and the end of the engine end them all.
TEST_F(Descendants, AreEndedByATimeout) {
    EngineOptions options;
    options.times = times(NAR_NONE, 200);
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("daemonizes"), witnesses.input(R"(,"stay":true,"done":false)"),
                   R"(,"timeoutMs":3000)")}));
    const auto both = accept(witnesses, 2);
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "timeout");
    EXPECT_TRUE(both.at("daemon").is_gone_already());
    EXPECT_TRUE(both.at("tool").is_gone_already());
    expect_only_supervisors();
}

TEST_F(Descendants, AreEndedByACancel) {
    EngineOptions options;
    options.times = times(NAR_NONE, 200);
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(
        plan_json({tool_json("tool", tool_path("leaves_child"),
                             witnesses.input(R"(,"stay":true,"done":false,"stubborn":true)"))}));
    const auto both = accept(witnesses, 2);
    EXPECT_TRUE(both.at("child").does('w', host.get()));
    ASSERT_TRUE(host->until([&] { return host->heard("child was told to write"); }));
    host->session.cancel();
    host->finish();
    EXPECT_TRUE(both.at("child").is_gone_already());
    EXPECT_TRUE(both.at("tool").is_gone_already());
    expect_only_supervisors();
}

TEST_F(Descendants, AreEndedAtOnceWithTheEngine) {
    make_host();
    const Witnesses witnesses;
    host->begin(
        plan_json({tool_json("one", tool_path("daemonizes"), witnesses.input(R"(,"stay":true)")),
                   tool_json("two", tool_path("leaves_child"),
                             witnesses.input(R"(,"stay":true,"stubborn":true)"))},
                  true));
    std::vector<Witness> all;
    for (int i = 0; i < 4; ++i) all.push_back(witnesses.accept(host.get()));
    host.reset();
    for (const Witness& witness : all) EXPECT_TRUE(witness.is_gone_already()) << witness.role;
    expect_no_children();
}

TEST_F(Descendants, AreEndedWithTheToolIfThereAreTwoHundred) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("many_children"), witnesses.input())}));
    std::vector<Witness> all;
    for (int i = 0; i < 201; ++i) all.push_back(witnesses.accept(host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_EQ(result["/events/0/fields/started"].integer(), 200);
    for (const Witness& witness : all) EXPECT_TRUE(witness.is_gone_already()) << witness.pid;
    expect_only_supervisors();
}

TEST_F(Descendants, AreEndedByACancelIfThereAreTwoHundred) {
    EngineOptions options;
    options.times = times(NAR_NONE, 200);
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("many_children"), witnesses.input(R"(,"stay":true)"))}));
    std::vector<Witness> all;
    for (int i = 0; i < 201; ++i) all.push_back(witnesses.accept(host.get()));
    host->session.cancel();
    host->finish();
    for (const Witness& witness : all) EXPECT_TRUE(witness.is_gone_already()) << witness.pid;
    expect_only_supervisors();
}

// A process whose main thread has exited looks like a zombie, but is alive.
TEST_F(Descendants, AreEndedIfTheirMainThreadHasExited) {
    make_host();
    const Witnesses witnesses;
    host->begin(
        plan_json({tool_json("tool", tool_path("hides_behind_thread"), witnesses.input())}));
    const auto both = accept(witnesses, 2);
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_TRUE(both.at("hidden").is_gone_already());
    expect_only_supervisors();
}

// An unrelated process holds the tool's stdout and could write to it forever.
TEST_F(Descendants, StdoutHeldByAnUnrelatedProcessIsNotAwaited) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("gives_stdout_away"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    const std::vector<int> given = take_descriptors(witness, host.get());
    ASSERT_EQ(given.size(), 2u);
    const ForeignWriter out(given[0]), diagnostics(given[1]);
    ASSERT_TRUE(witness.tell('d'));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_TRUE(witness.is_gone_already());
}

}  // namespace
}  // namespace narratoria::hostile
