// SPDX-License-Identifier: Apache-2.0
// What happens to the supervisors: killed at work, killed while idle, stopped, not startable.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <csignal>

#include "support/forked.hpp"
#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

constexpr const char* kSupervisor =
    NARRATORIA_BUILD_DIR "/libexec/narratoria/narratoria-supervisor";

class Supervisors : public HostileTest {
protected:
    static int only_supervisor() {
        const std::vector<ProcessFacts> found = idle_supervisors();
        EXPECT_EQ(found.size(), 1u) << describe(descendants());
        return found.empty() ? -1 : found[0].pid;
    }
    // A tool whose supervisor was killed dies with it, and comes to the test, which is a subreaper.
    static bool reap_orphan(int pid) { return pid > 1 && ::waitpid(pid, nullptr, 0) == pid; }
    static void wait_until_dead(int pid) {
        siginfo_t information{};
        EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &information, WEXITED | WNOWAIT), 0);
    }
    void run_well() {
        const Json result = host->run_tool(tool_path("patcher"));
        EXPECT_EQ(result["/state"].text(), "completed") << result["/error"].dump();
    }
};

TEST_F(Supervisors, KilledAtWorkLoseTheirToolWhichIsTriedAgain) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input(),
                                     R"(,"retryPolicy":{"maxRetries":1,"backoffMs":1})")}));
    const Witness first = witnesses.accept(host.get());
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEvent, "tool"); }));
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGKILL));
    EXPECT_TRUE(first.is_gone(host.get()));
    EXPECT_TRUE(reap_orphan(first.pid));
    const Witness second = witnesses.accept(host.get());
    EXPECT_TRUE(second.tell('d'));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].text(), "completed") << result.dump();
    EXPECT_EQ(result["/attempts/0/state"].text(), "failed");
    EXPECT_EQ(result["/attempts/0/code"].text(), "SUPERVISOR_LOST");
    EXPECT_EQ(result["/attempts/0/error"].text(),
              "the process that watched over the tool was killed");
    EXPECT_FALSE(result["/attempts/0/exitStatus"].exists());
    EXPECT_FALSE(result["/attempts/0/signal"].exists());
    // What it had said is kept.
    EXPECT_EQ(result["/attempts/0/events"].dump(), R"({"first":0,"count":1})");
    EXPECT_EQ(result["/events"].size(), 3u);
}

TEST_F(Supervisors, KilledAtWorkWithoutARetryFailTheTool) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGKILL));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/errorCode"].text(), "SUPERVISOR_LOST");
    EXPECT_TRUE(witness.is_gone());
    EXPECT_TRUE(reap_orphan(witness.pid));
    run_well();
}

TEST_F(Supervisors, KilledWhileIdleAreReplaced) {
    make_host();
    run_well();
    const int first = only_supervisor();
    ASSERT_TRUE(signal_descendant(first, SIGKILL));
    wait_until_dead(first);
    // Nobody has looked at its socket yet.
    run_well();
    EXPECT_NE(only_supervisor(), first);
    // And here the loop has.
    const int second = only_supervisor();
    ASSERT_TRUE(signal_descendant(second, SIGKILL));
    wait_until_dead(second);
    host->until([&] { return descendants().empty(); });
    run_well();
    EXPECT_NE(only_supervisor(), second);
    expect_only_supervisors();
}

TEST_F(Supervisors, AreUsedAgain) {
    make_host();
    run_well();
    const int first = only_supervisor();
    for (int i = 0; i < 10; ++i) run_well();
    EXPECT_EQ(only_supervisor(), first);
}

// After twenty at once not all are kept, and those that go leave no zombie behind.
TEST_F(Supervisors, ThatAreNotKeptLeaveNoZombie) {
    make_host({.jobs = 20});
    const Witnesses witnesses;
    std::vector<std::string> tools;
    for (int i = 0; i < 20; ++i) {
        tools.push_back(
            tool_json(std::to_string(i), tool_path("one_then_silence"), witnesses.input()));
    }
    host->begin(plan_json(tools, true));
    {
        std::vector<Witness> all;
        for (int i = 0; i < 20; ++i) all.push_back(witnesses.accept(host.get()));
        EXPECT_EQ(idle_supervisors().size(), 20u);
        for (const Witness& witness : all) EXPECT_TRUE(witness.tell('d'));
        EXPECT_TRUE(host->finish()["/success"].boolean());
    }
    // The engine is idle, and so nobody drives it.
    EXPECT_LE(idle_supervisors().size(), 10u);
    expect_only_supervisors();
}

// A tool may stop whoever watches over it; its time ends it all the same.
TEST_F(Supervisors, StoppedAreWokenWhenTheToolsTimeIsUp) {
    EngineOptions options;
    options.times = times(NAR_NONE, 100);
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input(),
                                     R"(,"timeoutMs":3000)")}));
    const Witness witness = witnesses.accept(host.get());
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGSTOP));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].text(), "timeout");
    EXPECT_TRUE(witness.is_gone_already());
    run_well();
}

TEST_F(Supervisors, StoppedAreWokenWhenTheEngineEnds) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("daemonizes"), witnesses.input(R"(,"stay":true)"))}));
    const Witness one = witnesses.accept(host.get());
    const Witness two = witnesses.accept(host.get());
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGSTOP));
    host.reset();
    EXPECT_TRUE(one.is_gone_already());
    EXPECT_TRUE(two.is_gone_already());
}

TEST_F(Supervisors, MayBeAnInstalledProgram) {
    make_host({.supervisor = kSupervisor});
    run_well();
    // It is that file, not the embedded one.
    char target[PATH_MAX] = {};
    const std::string link = "/proc/" + std::to_string(only_supervisor()) + "/exe";
    ASSERT_GT(::readlink(link.c_str(), target, sizeof target - 1), 0);
    EXPECT_STREQ(target, kSupervisor);
}

TEST_F(Supervisors, ThatAreNotThereFailTheTool) {
    make_host({.supervisor = "/nonexistent/supervisor"});
    const Json result = host->run_tool(tool_path("patcher"), "{}",
                                       R"(,"retryPolicy":{"maxRetries":1,"backoffMs":1})");
    EXPECT_EQ(result["/errorCode"].text(), "SPAWN_FAILED");
    EXPECT_EQ(result["/error"].text(),
              "the supervisor program \"/nonexistent/supervisor\" cannot be opened: "
              "No such file or directory");
    EXPECT_EQ(result["/attempts"].size(), 2u);
}

TEST_F(Supervisors, ThatAreNoProgramsFailTheTool) {
    make_host({.supervisor = "/etc/passwd"});
    const Json result = host->run_tool(tool_path("patcher"));
    EXPECT_EQ(result["/errorCode"].text(), "SPAWN_FAILED");
    EXPECT_EQ(result["/error"].text(),
              "the supervisor cannot be started: Permission denied (/etc/passwd)");
}

// Where files in memory are forbidden the installed program is the way out; the message says so.
TEST_F(Supervisors, InMemoryMayBeForbidden) {
    auto forbid_memfd = [] {
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{4, program};
        return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    };
    Forked refused([&] {
        if (!forbid_memfd()) return std::string("no seccomp");
        Host own;
        return own.run_tool(tool_path("patcher"))["/error"].dump();
    });
    EXPECT_EQ(refused.report(),
              json_string("the supervisor program cannot be put into memory: Operation not "
                          "permitted; where that is forbidden, name the installed "
                          "narratoria-supervisor in the engine's options"));
    Forked installed([&] {
        if (!forbid_memfd()) return std::string("no seccomp");
        Host own({.supervisor = kSupervisor});
        // Also an input that does not fit into a pipe gets through.
        const std::string input = R"({"filling":")" + std::string(300000, 'x') + "\"}";
        const Json result = own.run_tool(tool_path("reporter"), input);
        return result["/state"].text() + " " +
               std::to_string(result["/events/0/fields/invocation/input"].dump() == input);
    });
    EXPECT_EQ(installed.report(), "completed 1");
}

}  // namespace
}  // namespace narratoria::hostile
