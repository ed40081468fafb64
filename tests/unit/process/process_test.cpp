// SPDX-License-Identifier: Apache-2.0
#include "process/process.hpp"
#include "process/pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "support/leftovers.hpp"
#include "unit/base/fake_clock.hpp"

namespace {

using namespace narratoria;
using hostile::descendants;
using hostile::expect_no_children;
using hostile::expect_only_supervisors;
using hostile::idle_supervisors;
using hostile::open_descriptors;
using process::Command;
using process::Exit;
using process::Pool;
using process::Process;
using process::StartFailure;
using testing::StartsWith;

using Clock = std::chrono::steady_clock;

// Records the output and the exit of a process.
class Heard : public process::Listener {
public:
    void on_output(char* data, size_t size) override {
        ++reads;
        output.append(data, size);
        if (on_read) on_read();
    }
    void on_diagnostics(std::string_view data) override { diagnostics += data; }
    void on_exit(const Exit& how) override {
        ++exits;
        exit = how;
        if (on_end) on_end();
    }

    std::string output;
    std::string diagnostics;
    Exit exit;
    int exits = 0;
    int reads = 0;
    std::function<void()> on_read;
    std::function<void()> on_end;
};

class ProcessTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        { Loop first; }
        before_ = open_descriptors();
        loop = std::make_unique<Loop>();
        pool = std::make_unique<Pool>(*loop, "");
    }
    void TearDown() override {
        pool.reset();
        loop.reset();
        expect_no_children();
        EXPECT_EQ(open_descriptors(), before_);
    }

    // Returns the command for a shell that runs a script.
    Command shell(const std::string& script) const {
        Command command;
        command.path = "/bin/sh";
        command.folder = "/";
        command.arguments = {"sh", "-c", script};
        command.environment = &environment;
        return command;
    }
    std::unique_ptr<Process> start(const Command& command, Heard& heard) {
        StartFailure failure;
        auto made = pool->start(command, heard, failure);
        EXPECT_NE(made, nullptr) << failure.message;
        return made;
    }
    // Runs a command to its end.
    Heard run(const Command& command) {
        Heard heard;
        const auto made = start(command, heard);
        EXPECT_TRUE(until([&] { return heard.exits > 0; }));
        return heard;
    }
    bool until(const std::function<bool()>& condition,
               std::chrono::milliseconds patience = std::chrono::seconds(300)) {
        const Clock::time_point deadline = Clock::now() + patience;
        for (;;) {
            loop->run_for(0);
            if (condition()) return true;
            if (Clock::now() >= deadline) return false;
            pollfd ready{loop->descriptor(), POLLIN, 0};
            const int next = loop->timeout();
            ::poll(&ready, 1, next < 0 || next > 50 ? 50 : next);
        }
    }

    // Reads nothing until the process has ended, so its end is reported while the pipe is nearly
    // full.
    void expect_drained_after_exit() {
        Heard heard;
        // The first block causes a larger pipe, the second one fills it.
        const auto made = start(shell("dd if=/dev/zero bs=60000 count=1 2>&-; "
                                      "exec dd if=/dev/zero bs=900000 count=1 2>&-"),
                                heard);
        ASSERT_TRUE(until([&] { return heard.output.size() >= 60000; }));
        const Clock::time_point deadline = Clock::now() + std::chrono::seconds(300);
        const auto runs = [] {
            const auto all = descendants();
            return std::any_of(all.begin(), all.end(), [](const hostile::ProcessFacts& each) {
                return each.name == "sh" || each.name == "dd";
            });
        };
        while (runs() && Clock::now() < deadline) std::this_thread::yield();
        ASSERT_TRUE(until([&] { return heard.exits > 0; }));
        EXPECT_EQ(heard.output.size(), 960000u);
    }

    std::vector<std::string> environment{"PATH=/usr/bin:/bin", "GREETING=hello"};
    test::FakeClock clock;  // for tests that advance the time of the loop
    std::unique_ptr<Loop> loop;
    std::unique_ptr<Pool> pool;

private:
    std::map<int, std::string> before_;
};

TEST_F(ProcessTest, ReportsOutputDiagnosticsAndStatus) {
    const Heard heard = run(shell("echo out; echo err >&2; exit 7"));
    EXPECT_EQ(heard.output, "out\n");
    EXPECT_EQ(heard.diagnostics, "err\n");
    EXPECT_EQ(heard.exits, 1);
    EXPECT_TRUE(heard.exit.started);
    EXPECT_TRUE(WIFEXITED(heard.exit.wait_status));
    EXPECT_EQ(WEXITSTATUS(heard.exit.wait_status), 7);
    EXPECT_GT(heard.exit.resident_kb, 100u);
    EXPECT_EQ(pool->busy(), 0u);
}

TEST_F(ProcessTest, GetsArgumentsEnvironmentAndFolder) {
    Command command = shell("printf '%s|' \"$@\" \"$GREETING\" \"$(pwd)\" \"${HOME-none}\"");
    command.folder = "/usr/share";
    command.arguments.insert(command.arguments.end(), {"name", "a b", "", "\xC3\xA4"});
    EXPECT_EQ(run(command).output, "a b||\xC3\xA4|hello|/usr/share|none|");
}

// Input larger than a pipe takes a different way, but the same bytes must arrive.
TEST_F(ProcessTest, GetsInputOfEverySizeAndEndOfFile) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537},
                              size_t{1} << 20, size_t{20} << 20}) {
        std::string input(size, 'x');
        for (size_t i = 0; i < size; i += 1000) input[i] = static_cast<char>('a' + i / 1000 % 26);
        Command command = shell("cat");
        command.input = input;
        const Heard heard = run(command);
        EXPECT_TRUE(heard.output == input) << size;
        EXPECT_EQ(heard.exit.wait_status, 0);
    }
}

TEST_F(ProcessTest, MayIgnoreLargeInput) {
    const std::string input(5 << 20, 'x');
    Command command = shell("exec 0<&-; echo done");
    command.input = input;
    EXPECT_EQ(run(command).output, "done\n");
    command = shell("head -c 10; exit 3");
    command.input = input;
    const Heard heard = run(command);
    EXPECT_EQ(heard.output, std::string(10, 'x'));
    EXPECT_EQ(WEXITSTATUS(heard.exit.wait_status), 3);
}

TEST_F(ProcessTest, ReadsAllOutputBeforeReportingExit) {
    for (int i = 0; i < 20; ++i) {
        const Heard heard = run(shell("head -c 300000 /dev/zero"));
        ASSERT_EQ(heard.output.size(), 300000u);
        ASSERT_EQ(heard.exits, 1);
    }
}

TEST_F(ProcessTest, DrainsPipeAfterExit) { expect_drained_after_exit(); }

TEST_F(ProcessTest, TerminatedProcessGetsGracePeriod) {
    Heard heard;
    const auto made =
        start(shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 900 & wait; done"),
              heard);
    ASSERT_TRUE(until([&] { return heard.output == "ready\n"; }));
    made->terminate(20000);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(heard.output, "ready\nbye\n");
    EXPECT_EQ(WEXITSTATUS(heard.exit.wait_status), 5);
}

// The shell forks its next child while its descendants are being listed.
TEST_F(ProcessTest, SignalsProcessesForkedDuringTermination) {
    for (int round = 0; round < 20; ++round) {
        Heard heard;
        const auto made = start(
            shell("trap 'exit 5' TERM; echo ready; while :; do sleep 900 & wait; done"), heard);
        ASSERT_TRUE(until([&] { return heard.output == "ready\n"; }));
        made->terminate(600000);
        ASSERT_TRUE(until([&] { return heard.exits > 0; })) << "round " << round;
        EXPECT_EQ(WEXITSTATUS(heard.exit.wait_status), 5);
    }
}

// Many programs exit at once on a second SIGTERM.
TEST_F(ProcessTest, SendsSigtermOncePerProcess) {
    Heard heard;
    const auto made =
        start(shell("trap 'sleep 0.1; exit 0' TERM\n"
                    "sh -c 'trap \"echo told\" TERM; echo ready\n"
                    "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo done' &\n"
                    "while :; do sleep 0.05; done"),
              heard);
    ASSERT_TRUE(until([&] { return heard.output == "ready\n"; }));
    made->terminate(20000);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(heard.output, "ready\ntold\ndone\n");
}

TEST_F(ProcessTest, KillsProcessThatIgnoresSigterm) {
    Heard heard;
    const auto made =
        start(shell("trap '' TERM; echo ready; while :; do sleep 900 & wait; done"), heard);
    ASSERT_TRUE(until([&] { return heard.output == "ready\n"; }));
    const Clock::time_point start = Clock::now();
    made->terminate(200);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(190));
    EXPECT_EQ(WTERMSIG(heard.exit.wait_status), SIGKILL);
}

TEST_F(ProcessTest, KillsAtOnceWithoutGracePeriod) {
    Heard heard;
    const auto made = start(shell("trap 'exit 1' TERM; echo ready; sleep 900"), heard);
    ASSERT_TRUE(until([&] { return heard.output == "ready\n"; }));
    made->terminate(0);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(WTERMSIG(heard.exit.wait_status), SIGKILL);
}

TEST_F(ProcessTest, SecondTerminateShortensGracePeriod) {
    Heard heard;
    const auto made = start(shell("trap '' TERM; echo ready; sleep 900"), heard);
    ASSERT_TRUE(until([&] { return heard.output == "ready\n"; }));
    made->terminate(60000);
    made->terminate(0);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(WTERMSIG(heard.exit.wait_status), SIGKILL);
    made->terminate(0);  // has no effect after the exit
}

TEST_F(ProcessTest, StopReadingEndsWriter) {
    Heard heard;
    const auto made = start(shell("while :; do echo more; done"), heard);
    ASSERT_TRUE(until([&] { return heard.output.size() > 100000; }));
    const size_t before = heard.output.size();
    made->stop_reading();
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(heard.output.size(), before);
}

TEST_F(ProcessTest, ListenerMayStopProcessOnOutput) {
    Heard heard;
    std::unique_ptr<Process> made;
    heard.on_read = [&] {
        made->stop_reading();
        made->terminate(0);
    };
    made = start(shell("while :; do echo more; done"), heard);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(heard.reads, 1);
}

TEST_F(ProcessTest, ListenerMayDestroyProcessOnOutput) {
    Heard heard;
    std::unique_ptr<Process> made;
    heard.on_read = [&] { made.reset(); };
    made = start(shell("while :; do echo more; done"), heard);
    ASSERT_TRUE(until([&] { return pool->busy() == 0; }));
    EXPECT_EQ(heard.reads, 1);
    EXPECT_EQ(heard.exits, 0);
}

TEST_F(ProcessTest, ListenerMayDestroyProcessOnExit) {
    Heard heard;
    std::unique_ptr<Process> made;
    heard.on_end = [&] { made.reset(); };
    made = start(shell("echo out"), heard);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_EQ(heard.output, "out\n");
}

TEST_F(ProcessTest, DestructionKillsUnlessTerminating) {
    Heard killed, polite;
    const std::string file = testing::TempDir() + "/process-test-" + std::to_string(::getpid());
    auto one = start(shell("trap '' TERM; echo ready; sleep 900"), killed);
    auto two = start(shell("trap 'echo done > " + file +
                           "; exit 0' TERM; echo ready; "
                           "while :; do sleep 900 & wait; done"),
                     polite);
    ASSERT_TRUE(until([&] { return killed.output == "ready\n" && polite.output == "ready\n"; }));
    two->terminate(20000);
    two.reset();
    one.reset();
    EXPECT_EQ(pool->busy(), 2u);
    ASSERT_TRUE(until([&] { return pool->busy() == 0; }));
    // It had its grace period, although its object was destroyed.
    EXPECT_EQ(::unlink(file.c_str()), 0);
    EXPECT_EQ(killed.exits + polite.exits, 0);
}

TEST_F(ProcessTest, ReportsReasonOfFailedStart) {
    Command command = shell("");
    command.path = "/nonexistent/program";
    const Heard missing = run(command);
    EXPECT_FALSE(missing.exit.started);
    EXPECT_EQ(missing.exit.start_failure, "\"/nonexistent/program\" does not exist");
    command = shell("");
    command.folder = "/nonexistent";
    const Heard homeless = run(command);
    EXPECT_FALSE(homeless.exit.started);
    EXPECT_THAT(homeless.exit.start_failure, StartsWith("its working folder \"/nonexistent\""));
}

TEST_F(ProcessTest, RefusesNulInArgument) {
    Command command = shell("");
    command.arguments.push_back(std::string("a\0b", 3));
    Heard heard;
    StartFailure failure;
    EXPECT_EQ(pool->start(command, heard, failure), nullptr);
    EXPECT_FALSE(failure.out_of_descriptors);
    EXPECT_EQ(failure.message, "a path, an argument or a variable contains a NUL character");
    EXPECT_EQ(pool->busy(), 0u);
}

TEST_F(ProcessTest, LimitsNumberAndSizeOfArguments) {
    Command command = shell("echo $#");
    for (int i = 0; i < 8000; ++i) command.arguments.push_back("x");
    EXPECT_EQ(run(command).output, "7999\n");
    for (int i = 0; i < 1000; ++i) command.arguments.push_back("x");
    EXPECT_FALSE(run(command).exit.started);
    command.arguments.resize(4);
    command.arguments.push_back(std::string(192 * 1024, 'x'));
    Heard heard;
    StartFailure failure;
    EXPECT_EQ(pool->start(command, heard, failure), nullptr);
    EXPECT_THAT(failure.message, StartsWith("its arguments and environment are larger"));
}

TEST_F(ProcessTest, AppliesResourceLimits) {
    Command command = shell("ulimit -n; ulimit -f; ulimit -t");
    command.limits.open_files = 77;
    command.limits.file_bytes = 1024 * 1024;
    command.limits.cpu_seconds = 9;
    const Heard heard = run(command);
    // The shell counts files in blocks of 512 bytes.
    EXPECT_EQ(heard.output, "77\n2048\n9\n");
}

// Runs processes in control groups. Skipped unless this machine has a usable cgroup2 folder.
class ProcessGroupTest : public ProcessTest {
protected:
    void SetUp() override {
        ProcessTest::SetUp();
        std::ifstream mounts("/proc/self/mounts");
        for (std::string device, place, type, rest;
             folder.empty() && mounts >> device >> place >> type && std::getline(mounts, rest);) {
            if (type == "cgroup2")
                folder = place + "/narratoria-tests-" + std::to_string(::getpid());
        }
        std::string why = "no cgroup2 is mounted";
        if (folder.empty() || ::mkdir(folder.c_str(), 0755) != 0) {
            if (!folder.empty()) why = "cannot create " + folder + ": " + std::strerror(errno);
            folder.clear();
            GTEST_SKIP() << why << "; tests/machine/ tests it in a virtual machine";
        }
        if (!pool->use_groups(folder, why)) GTEST_SKIP() << why;
    }
    void TearDown() override {
        ProcessTest::TearDown();
        if (folder.empty()) return;
        EXPECT_EQ(groups(), 0);
        EXPECT_EQ(::rmdir(folder.c_str()), 0) << std::strerror(errno);
    }
    int groups() const {
        int count = 0;
        for (const auto& each : std::filesystem::directory_iterator(folder)) {
            count += each.is_directory() ? 1 : 0;
        }
        return count;
    }
    std::string folder;
};

TEST_F(ProcessGroupTest, GroupIsRemovedAfterExit) {
    for (int i = 0; i < 3; ++i) {
        const Heard heard =
            run(shell("grep ^0:: /proc/self/cgroup; (setsid sleep 900 &) ; exit 3"));
        EXPECT_THAT(heard.output,
                    testing::HasSubstr(folder.substr(folder.rfind('/')) + "/narratoria-"));
        EXPECT_EQ(WEXITSTATUS(heard.exit.wait_status), 3);
        EXPECT_EQ(groups(), 0);
    }
}

TEST_F(ProcessGroupTest, RemovesNestedGroupsOfProcess) {
    const Heard heard =
        run(shell("own=" + folder +
                  "/$(sed -n 's|^0::.*/||p' /proc/self/cgroup); mkdir -p $own/a/b $own/c;"
                  "(setsid sh -c \"echo 0 >$own/a/b/cgroup.procs; exec sleep 900\" &);"
                  "until grep -q . $own/a/b/cgroup.procs; do sleep 0.01; done; echo in"));
    EXPECT_EQ(heard.output, "in\n");
    EXPECT_EQ(groups(), 0);
}

TEST_F(ProcessGroupTest, KillsDescendantsOfKilledSupervisor) {
    Heard heard;
    const auto process =
        start(shell("(setsid sleep 900 >/dev/null 2>&1 &); sleep 0.1; kill -KILL $PPID; sleep 900"),
              heard);
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_TRUE(heard.exit.supervisor_lost);
    expect_only_supervisors();
    EXPECT_EQ(idle_supervisors().size(), 0u);
    pool.reset();
    EXPECT_EQ(groups(), 0);
}

TEST_F(ProcessGroupTest, PoolDestructorRemovesGroup) {
    Heard heard;
    auto process = start(shell("trap '' TERM; (setsid sleep 900 &); echo up; sleep 900"), heard);
    ASSERT_TRUE(until([&] { return !heard.output.empty(); }));
    EXPECT_EQ(groups(), 1);
    process.reset();
    pool.reset();
    EXPECT_EQ(groups(), 0);
    EXPECT_TRUE(descendants().empty());
}

TEST_F(ProcessTest, KillsDescendantsAfterExit) {
    const Heard heard = run(shell("(trap '' TERM HUP; sleep 900) & setsid sleep 900 & echo out"));
    EXPECT_EQ(heard.output, "out\n");
    expect_only_supervisors();
}

TEST_F(ProcessTest, ReusesSupervisorsAndKeepsFewIdle) {
    EXPECT_TRUE(descendants().empty());
    run(shell("exit 0"));
    ASSERT_EQ(idle_supervisors().size(), 1u);
    const int first = idle_supervisors()[0].pid;
    for (int i = 0; i < 5; ++i) run(shell("exit 0"));
    ASSERT_EQ(idle_supervisors().size(), 1u);
    EXPECT_EQ(idle_supervisors()[0].pid, first);

    std::vector<Heard> heard(24);
    std::vector<std::unique_ptr<Process>> all;
    for (Heard& each : heard) all.push_back(start(shell("read line"), each));
    EXPECT_EQ(pool->busy(), 24u);
    ASSERT_TRUE(until([&] {
        return std::all_of(heard.begin(), heard.end(), [](const Heard& h) { return h.exits > 0; });
    }));
    ASSERT_TRUE(until([&] { return pool->busy() == 0; }));
    EXPECT_GE(idle_supervisors().size(), 8u);
    EXPECT_LE(idle_supervisors().size(), 13u);
    expect_only_supervisors();
}

TEST_F(ProcessTest, PoolDestructorKillsAtOnce) {
    std::vector<Heard> heard(6);
    std::vector<std::unique_ptr<Process>> all;
    for (Heard& each : heard) {
        all.push_back(start(shell("trap '' TERM; echo ready; sleep 900"), each));
    }
    ASSERT_TRUE(until([&] {
        return std::all_of(heard.begin(), heard.end(),
                           [](const Heard& h) { return h.output == "ready\n"; });
    }));
    all.clear();
    pool.reset();
    expect_no_children();
}

TEST_F(ProcessTest, ReadsPendingReportBeforeGivingUpReaper) {
    pool.reset();
    loop = std::make_unique<Loop>(&clock);
    pool = std::make_unique<Pool>(*loop, "");
    Heard kept, lost;
    auto kept_process = start(shell("echo here; exec sleep 600"), kept);
    auto lost_process = start(shell("echo $PPID; exec sleep 600"), lost);
    ASSERT_TRUE(until([&] { return !kept.output.empty() && !lost.output.empty(); }));
    const int supervisor = std::stoi(lost.output);
    const auto facts_of = [](int pid) {
        for (const hostile::ProcessFacts& each : descendants()) {
            if (each.pid == pid) return each;
        }
        return hostile::ProcessFacts{};
    };
    const int reaper = facts_of(supervisor).parent;
    // Stops the reaper, so that its report does not arrive together with the supervisor's end.
    ASSERT_TRUE(hostile::signal_descendant(reaper, SIGSTOP));
    const Clock::time_point deadline = Clock::now() + std::chrono::seconds(300);
    while (facts_of(reaper).state != 'T' && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_TRUE(hostile::signal_descendant(supervisor, SIGKILL));
    ASSERT_TRUE(until([&] { return clock.running() == 1; }));
    // The host does not drive the loop while the report arrives and the time passes.
    const auto has_report = [] {
        for (const auto& [number, name] : open_descriptors()) {
            int bytes = 0;
            if (name.starts_with("socket:") && ::ioctl(number, FIONREAD, &bytes) == 0 &&
                bytes > 0) {
                return true;
            }
        }
        return false;
    };
    while (!has_report() && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_TRUE(has_report());
    clock.advance(60'000);
    EXPECT_EQ(lost.exits, 1);
    EXPECT_EQ(lost.exit.loss, "was killed");
    EXPECT_EQ(facts_of(reaper).parent, ::getpid());
    EXPECT_EQ(clock.running(), 0u);
    EXPECT_EQ(kept.exits, 0);
    kept_process.reset();
}

TEST_F(ProcessTest, RecoversFromKilledSupervisorAndReaper) {
    EXPECT_EQ(run(shell("exit 0")).exit.wait_status, 0);
    ASSERT_EQ(idle_supervisors().size(), 1u);
    const hostile::ProcessFacts supervisor = idle_supervisors()[0];
    // The loop notices neither end before the next start.
    for (const int pid : {supervisor.pid, supervisor.parent}) {
        const auto is_running = [&] {
            const std::vector<hostile::ProcessFacts> all = descendants();
            return std::any_of(all.begin(), all.end(), [&](const hostile::ProcessFacts& each) {
                return each.pid == pid && each.state != 'Z';
            });
        };
        ASSERT_TRUE(hostile::signal_descendant(pid, SIGKILL));
        const Clock::time_point deadline = Clock::now() + std::chrono::seconds(300);
        while (is_running() && Clock::now() < deadline) std::this_thread::yield();
        ASSERT_FALSE(is_running());
    }
    EXPECT_EQ(run(shell("exit 3")).exit.wait_status, 3 << 8);
    EXPECT_TRUE(until([&] { return pool->busy() == 0; }));
    pool.reset();
    // Reaps the killed supervisor, if its reaper had not done so.
    while (::waitpid(-1, nullptr, 0) > 0) continue;
}

TEST_F(ProcessTest, DescriptorShortageIsNotMissingGuarantee) {
    run(shell("exit 0"));
    Guarantees guarantees;
    guarantees.require(Guarantee::NoNetwork, GuaranteeSource::User);
    Command command = shell("exit 0");
    command.guarantees = &guarantees;
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {3, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    Heard heard;
    StartFailure failure;
    const auto made = pool->start(command, heard, failure);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(made, nullptr);
    EXPECT_TRUE(failure.out_of_descriptors);
    EXPECT_TRUE(failure.may_retry);
    EXPECT_EQ(failure.code, "SPAWN_FAILED");
    Pool other(*loop, "");
    EXPECT_EQ(pool->enforcement(Guarantee::NoNetwork).why,
              other.enforcement(Guarantee::NoNetwork).why);
}

TEST_F(ProcessTest, SupervisorFileEnforcesSameAsMemoryImage) {
    run(shell("exit 0"));
    ASSERT_EQ(idle_supervisors().size(), 1u);
    const std::string file = testing::TempDir() + "supervisor-of-" + std::to_string(::getpid());
    std::filesystem::copy_file("/proc/" + std::to_string(idle_supervisors()[0].pid) + "/exe", file);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    {
        Pool installed(*loop, file);
        for (size_t i = 0; i < kGuarantees; ++i) {
            const auto guarantee = static_cast<Guarantee>(i);
            EXPECT_EQ(installed.enforcement(guarantee).why, pool->enforcement(guarantee).why);
        }
    }
    std::filesystem::remove(file);
}

// With other processes running, the supervisor holds the pipes open until it reports the end, so
// the pipes do not report it.
class ConcurrentProcessTest : public ProcessTest {
protected:
    void SetUp() override {
        ProcessTest::SetUp();
        neighbour_ = start(shell("echo here; exec sleep 600"), heard_of_neighbour_);
        ASSERT_TRUE(until([&] { return heard_of_neighbour_.output == "here\n"; }));
    }
    void TearDown() override {
        EXPECT_EQ(heard_of_neighbour_.exits, 0);
        neighbour_.reset();
        ProcessTest::TearDown();
    }

private:
    Heard heard_of_neighbour_;
    std::unique_ptr<Process> neighbour_;
};

TEST_F(ConcurrentProcessTest, ReadsAllOutputBeforeReportingExit) {
    for (int i = 0; i < 20; ++i) {
        const Heard heard =
            run(shell("head -c 300000 /dev/zero; head -c 50000 /dev/zero >&2; exit 3"));
        ASSERT_EQ(heard.output.size(), 300000u);
        ASSERT_EQ(heard.diagnostics.size(), 50000u);
        ASSERT_EQ(WEXITSTATUS(heard.exit.wait_status), 3);
        ASSERT_EQ(heard.exits, 1);
    }
}

TEST_F(ConcurrentProcessTest, DrainsPipeAfterExit) { expect_drained_after_exit(); }

TEST_F(ConcurrentProcessTest, WaitsForProcessThatClosedItsOutput) {
    const Heard heard = run(
        shell("echo out; exec >&- 2>&-; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 4"));
    EXPECT_EQ(heard.output, "out\n");
    EXPECT_EQ(WEXITSTATUS(heard.exit.wait_status), 4);
}

TEST_F(ConcurrentProcessTest, DoesNotWaitForDescendantThatHoldsPipes) {
    const Heard heard = run(shell("(setsid sleep 600; echo late) & echo out"));
    EXPECT_EQ(heard.output, "out\n");
    EXPECT_EQ(heard.exits, 1);
}

TEST_F(ConcurrentProcessTest, StopReadingEndsWriter) {
    Heard heard;
    const auto made = start(shell("exec yes"), heard);
    heard.on_read = [&] { made->stop_reading(); };
    ASSERT_TRUE(until([&] { return heard.exits > 0; }));
    EXPECT_TRUE(WIFSIGNALED(heard.exit.wait_status));
    EXPECT_EQ(WTERMSIG(heard.exit.wait_status), SIGPIPE);
}

TEST_F(ConcurrentProcessTest, SupervisorLeaksNoDescriptors) {
    const auto most_open = [] {
        size_t most = 0;
        for (const hostile::ProcessFacts& each : descendants()) {
            if (each.name != "narratoria-sup") continue;
            const auto folder = "/proc/" + std::to_string(each.pid) + "/fd";
            most = std::max(
                most, static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                        std::filesystem::directory_iterator())));
        }
        return most;
    };
    Command missing = shell("");
    missing.path = "/not/there";
    run(missing);
    const size_t before = most_open();
    for (int i = 0; i < 20; ++i) {
        run(shell("exit 0"));
        run(missing);
    }
    EXPECT_LE(most_open(), before + 2)
        << "it closes the last process's descriptors after its report";
}

}  // namespace
