// SPDX-License-Identifier: Apache-2.0
// How tools end, and how they refuse to end (spec 000 §4.6, §7).

#include <csignal>

#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Endings : public HostileTest {
protected:
    Host& make_host_with(uint32_t try_ms, uint32_t grace_ms) {
        EngineOptions options;
        options.times = times(try_ms, grace_ms);
        return make_host(std::move(options));
    }
    std::vector<std::string> types(const Json& result) {
        std::vector<std::string> found;
        for (size_t i = 0; i < result["/events"].size(); ++i) {
            found.push_back(result["/events/" + std::to_string(i) + "/type"].string());
        }
        return found;
    }
    std::vector<std::string> warnings() {
        std::vector<std::string> found;
        for (const Json& warning : host->told(Kind::Warning)) {
            found.push_back(warning["/code"].string());
        }
        return found;
    }
};

using testing::ElementsAre;
using testing::IsEmpty;

// covers: 000-4.6-stop-accepting, 000-4.6-nothing-after-done
// covers: 000-4.6-exactly-one-done, 004-done-exactly-one
TEST_F(Endings, EventsAfterDoneAreDrainedAndCounted) {
    for (const char* ok : {"true", "false"}) {
        make_host();
        const Json result =
            host->run_tool(tool_path("after_done"), std::string(R"({"ok":)") + ok + "}");
        EXPECT_EQ(result["/state"].string(), *ok == 't' ? "completed" : "failed");
        EXPECT_THAT(types(result), ElementsAre("state_patch", "done"));
        EXPECT_EQ(result["/attempts/0/linesAfterDone"].integer(), 6);
        EXPECT_EQ(host->state().text(), R"({"before_done":true})");
        EXPECT_THAT(warnings(), ElementsAre("AFTER_DONE"));
        EXPECT_EQ(host->told(Kind::Warning)[0]["/message"].string(),
                  "6 lines came after the done event and were not accepted");
    }
}

TEST_F(Endings, EventsLongAfterDoneAreNotAccepted) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("after_done"), witnesses.input(R"(,"split":true)"))}));
    const Witness witness = witnesses.accept(host.get());
    ASSERT_TRUE(host->until(
        [&] { return !host->records.empty() && host->records.back().type == Type::Done; }));
    EXPECT_TRUE(witness.does('.', host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed");
    EXPECT_EQ(result["/attempts/0/linesAfterDone"].integer(), 6);
}

TEST_F(Endings, LingeringToolIsEndedAfterTheGracePeriod) {
    make_host_with(30000, 2000);
    const Witnesses witnesses;
    const Clock::time_point start = Clock::now();
    host->begin(plan_json({tool_json("tool", tool_path("lingers_after_done"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    EXPECT_TRUE(witness.lives(host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_TRUE(witness.is_gone_already());
    EXPECT_GE(milliseconds_since(start), 1990);
    // `done` decides: a death by the runtime's own signal is not an exit status.
    EXPECT_EQ(result["/state"].string(), "completed");
    EXPECT_TRUE(result["/ok"].boolean());
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGTERM);
    EXPECT_THAT(warnings(), ElementsAre("LINGERED"));
    EXPECT_EQ(host->told(Kind::Warning)[0]["/message"].string(),
              "the tool was still running 2000 ms after its done event and was terminated");
}

TEST_F(Endings, LingeringToolThatIgnoresSigtermIsKilled) {
    make_host_with(30000, 200);
    const Json result =
        host->run_tool(tool_path("lingers_after_done"), R"({"stubborn":true,"ok":false})");
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "TOOL_FAILED");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGKILL);
    EXPECT_THAT(warnings(), ElementsAre("LINGERED"));
}

TEST_F(Endings, ToolThatClosesStdoutIsAwaited) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("closes_stdout"), witnesses.input(R"(,"status":4)"))}));
    const Witness witness = witnesses.accept(host.get());
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEvent, "tool"); }));
    // The tool lives on with a closed pipe and must not be taken for ended.
    host->until([] { return false; }, -1, milliseconds(100));
    EXPECT_FALSE(host->result);
    EXPECT_FALSE(witness.is_gone_already());
    EXPECT_TRUE(witness.does('.', host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/errorCode"].string(), "EXIT_STATUS");
    EXPECT_EQ(result["/error"].string(), "the tool exited with status 4 after its done event");
    EXPECT_EQ(result["/attempts/0/exitStatus"].integer(), 4);
    EXPECT_THAT(types(result), ElementsAre("log", "done"));
}

// covers: 000-4.6-missing-done
TEST_F(Endings, MissingDoneWithStatusZeroFails) {
    make_host();
    const Json result = host->run_tool(tool_path("exits_without_done"));
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "MISSING_DONE");
    EXPECT_EQ(result["/error"].string(), "the tool exited without a done event");
    EXPECT_THAT(types(result), ElementsAre("log", "state_patch"));
    EXPECT_EQ(result["/output"].text(), R"({"half":"done"})");
    EXPECT_EQ(host->state().text(), R"({"half":"done"})");
}

TEST_F(Endings, MissingDoneWithNonZeroStatusFails) {
    make_host();
    const Json result =
        host->run_tool(tool_path("exits_without_done"), R"({"silent":true,"status":7})");
    EXPECT_EQ(result["/errorCode"].string(), "EXIT_STATUS");
    EXPECT_EQ(result["/error"].string(), "the tool exited with status 7 and without a done event");
    EXPECT_THAT(types(result), IsEmpty());
}

// covers: 004-completion
TEST_F(Endings, NonZeroStatusAfterDoneFails) {
    make_host();
    const Json result = host->run_tool(tool_path("exits_after_done"));
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "EXIT_STATUS");
    EXPECT_EQ(result["/error"].string(), "the tool exited with status 3 after its done event");
    EXPECT_EQ(result["/attempts/0/exitStatus"].integer(), 3);
    EXPECT_THAT(types(result), ElementsAre("state_patch", "done"));
    EXPECT_EQ(host->state().text(), R"({"came":"before"})");
}

struct Death {
    int signal;
    const char* name;
};

TEST_F(Endings, SignalInTheMiddleOfALineFails) {
    make_host();
    for (const Death death :
         {Death{SIGSEGV, "signal 11 (SIGSEGV)"}, Death{SIGKILL, "signal 9 (SIGKILL)"},
          Death{SIGTERM, "signal 15 (SIGTERM)"}, Death{SIGABRT, "signal 6 (SIGABRT)"},
          Death{SIGPIPE, "signal 13 (SIGPIPE)"}}) {
        const Json result = host->run_tool(tool_path("dies_mid_line"),
                                           R"({"signal":)" + std::to_string(death.signal) + "}");
        EXPECT_EQ(result["/state"].string(), "failed");
        EXPECT_EQ(result["/errorCode"].string(), "SIGNALED") << result["/error"].string();
        EXPECT_EQ(result["/error"].string(), std::string("the tool was terminated by ") +
                                                 death.name + " before its done event");
        EXPECT_EQ(result["/attempts/0/signal"].integer(), death.signal);
        EXPECT_FALSE(result.has("/attempts/0/exitStatus"));
        EXPECT_THAT(types(result), ElementsAre("log", "state_patch"));
        EXPECT_EQ(host->state().text(), R"({"came":"before"})");
    }
}

TEST_F(Endings, SignalAfterDoneFails) {
    make_host();
    const Json result = host->run_tool(tool_path("dies_mid_line"), R"({"done":true})");
    EXPECT_EQ(result["/errorCode"].string(), "SIGNALED");
    EXPECT_EQ(result["/error"].string(),
              "the tool was terminated by signal 11 (SIGSEGV) after its done event");
}

TEST_F(Endings, ToolThatIgnoresSigtermIsKilled) {
    make_host_with(2000, 400);
    const Witnesses witnesses;
    const Clock::time_point start = Clock::now();
    host->begin(plan_json({tool_json("tool", tool_path("ignores_sigterm"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    EXPECT_EQ(witness.hear(host.get()), 'T');
    EXPECT_TRUE(witness.is_gone(host.get()));
    EXPECT_GE(milliseconds_since(start), 2390);
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "timeout");
    EXPECT_EQ(result["/errorCode"].string(), "TIMEOUT");
    EXPECT_EQ(result["/error"].string(), "the tool did not end within 2000 ms");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGKILL);
    EXPECT_THAT(types(result), ElementsAre("log"));
}

// A timed-out attempt stays timed out, even if the tool cleans up and writes `done`.
TEST_F(Endings, CleanExitAtSigtermIsStillATimeout) {
    make_host_with(2000, 20000);
    const Json result = host->run_tool(tool_path("ignores_sigterm"), R"({"on_term":"done"})");
    EXPECT_EQ(result["/state"].string(), "timeout");
    EXPECT_EQ(result["/errorCode"].string(), "TIMEOUT");
    EXPECT_EQ(result["/attempts/0/exitStatus"].integer(), 0);
    EXPECT_THAT(types(result), ElementsAre("log", "done"));
}

TEST_F(Endings, StoppedToolIsKilledAfterTheGracePeriod) {
    make_host_with(2000, 300);
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("stops_itself"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_TRUE(witness.is_gone_already());
    EXPECT_EQ(result["/state"].string(), "timeout");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGKILL);
}

TEST_F(Endings, StoppedToolLingersAfterDone) {
    make_host_with(30000, 200);
    const Json result = host->run_tool(tool_path("stops_itself"), R"({"done":true})");
    EXPECT_EQ(result["/state"].string(), "completed");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGKILL);
    EXPECT_THAT(warnings(), ElementsAre("LINGERED"));
}

// The event is delivered when it arrives, and the silence after it costs nothing.
TEST_F(Endings, SilentToolCostsNothing) {
    make_host_with(NAR_NONE, 2000);
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEvent, "tool"); }));
    EXPECT_TRUE(witness.lives(host.get()));
    // There is nothing to do and no timer is due, so a polling host sleeps.
    host->until([] { return false; }, -1, milliseconds(20));
    EXPECT_EQ(host->engine.timeout(), std::nullopt);
    host->session.cancel();
    const Json result = host->finish();
    EXPECT_TRUE(witness.is_gone_already());
    EXPECT_EQ(result["/toolResults/0/errorCode"].string(), "CANCELLED");
    EXPECT_EQ(result["/toolResults/0/state"].string(), "failed");
    EXPECT_FALSE(result["/canReplan"].boolean());
}

// A cancel takes effect at once; the tool's grace period continues afterwards.
TEST_F(Endings, CancelDoesNotWaitForTheGracePeriod) {
    make_host_with(NAR_NONE, 600000);
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("ignores_sigterm"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    host->session.cancel();
    ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
    EXPECT_TRUE(host->engine.is_busy());
    EXPECT_FALSE(witness.is_gone_already());
    // The next plan need not wait for the cancelled tool.
    host->begin(plan_json({tool_json("next", tool_path("patcher"))}));
    ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
    EXPECT_TRUE(host->result.success());
    EXPECT_FALSE(witness.is_gone_already()) << "the grace period has not ended";
    host.reset();
    EXPECT_TRUE(witness.is_gone_already());
}

}  // namespace
}  // namespace narratoria::hostile
