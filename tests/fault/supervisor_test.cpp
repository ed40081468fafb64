// SPDX-License-Identifier: Apache-2.0
// Supervisors that are killed while working or idle, stopped, or cannot be started.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "support/folders.hpp"
#include "support/forked.hpp"
#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

// Makes a system call of this process fail from now on, by seccomp.
bool forbid(uint32_t call, uint32_t error) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

const std::string kSupervisor = test::in_build("libexec/narratoria/narratoria-supervisor");

class Supervisors : public HostileTest {
protected:
    static int only_supervisor() {
        const std::vector<ProcessFacts> found = idle_supervisors();
        EXPECT_EQ(found.size(), 1u) << describe(descendants());
        return found.empty() ? -1 : found[0].pid;
    }
    static int only_reaper() {
        for (const ProcessFacts& each : descendants()) {
            if (each.name == "narratoria-reap") return each.pid;
        }
        ADD_FAILURE() << "no reaper: " << describe(descendants());
        return -1;
    }
    static bool lives(int pid) {
        const std::vector<ProcessFacts> all = all_processes();
        return std::any_of(all.begin(), all.end(), [&](const ProcessFacts& each) {
            return each.pid == pid && each.state != 'Z';
        });
    }
    static void wait_until_dead(int pid) {
        const Clock::time_point deadline = Clock::now() + kPatience;
        while (lives(pid) && Clock::now() < deadline) ::poll(nullptr, 0, 2);
        EXPECT_FALSE(lives(pid));
    }
    static void limit_descriptors(int pid, rlim_t most) {
        rlimit limit{};
        ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &limit), 0);
        limit.rlim_cur = most;
        ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
    }
    // Writes a shell script and returns its path.
    std::string script(const std::string& text) const {
        const std::string path = folder.path() + "/tool";
        {
            std::ofstream file(path);
            file << "#!/bin/sh\n" << text;
        }
        EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
        return path;
    }
    // Runs a script to its end and returns its result. Afterwards only the library's processes may
    // live.
    Json run_script(const std::string& text, const std::string& more = "") {
        const std::string path = script(text);
        const Json result = host->run_tool(path, "{}", more);
        ::unlink(path.c_str());
        // Children of a killed reaper are reparented to the test, which is a subreaper.
        host->until([] { return only_ours_live(); });
        EXPECT_TRUE(only_ours_live()) << describe(descendants());
        return result;
    }
    static bool only_ours_live() {
        const std::vector<ProcessFacts> all = descendants();
        return std::all_of(all.begin(), all.end(), [](const ProcessFacts& each) {
            return each.state == 'Z' || is_of_the_library(each);
        });
    }
    void TearDown() override {
        host.reset();
        reap_all();
        HostileTest::TearDown();
    }
    void run_well() {
        const Json result = host->run_tool(tool_path("patcher"));
        EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    }
};

TEST_F(Supervisors, KilledWhileWorkingLoseTheirToolWhichIsRetried) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input(),
                                     R"(,"retryPolicy":{"maxRetries":1,"backoffMs":1})")}));
    const Witness first = witnesses.accept(host.get());
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEvent, "tool"); }));
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGKILL));
    EXPECT_TRUE(first.is_gone(host.get()));
    const Witness second = witnesses.accept(host.get());
    EXPECT_TRUE(second.tell('d'));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result.text();
    EXPECT_EQ(result["/attempts/0/state"].string(), "failed");
    EXPECT_EQ(result["/attempts/0/code"].string(), "SUPERVISOR_LOST");
    EXPECT_EQ(result["/attempts/0/error"].string(), "the tool's supervisor was killed");
    EXPECT_FALSE(result.has("/attempts/0/exitStatus"));
    EXPECT_FALSE(result.has("/attempts/0/signal"));
    // The events written before the kill are kept.
    EXPECT_EQ(result["/attempts/0/events"].text(), R"({"first":0,"count":1})");
    EXPECT_EQ(result["/events"].size(), 3u);
}

TEST_F(Supervisors, KilledWhileWorkingFailAToolWithoutRetries) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGKILL));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/errorCode"].string(), "SUPERVISOR_LOST");
    EXPECT_TRUE(witness.is_gone_already());
    run_well();
}

TEST_F(Supervisors, KilledWhileIdleAreReplaced) {
    make_host();
    run_well();
    const int first = only_supervisor();
    ASSERT_TRUE(signal_descendant(first, SIGKILL));
    wait_until_dead(first);
    // The loop has not polled its socket yet.
    run_well();
    EXPECT_NE(only_supervisor(), first);
    // Here the loop has polled it.
    const int second = only_supervisor();
    ASSERT_TRUE(signal_descendant(second, SIGKILL));
    wait_until_dead(second);
    host->until([] { return false; }, -1, milliseconds(20));
    run_well();
    EXPECT_NE(only_supervisor(), second);
    expect_only_supervisors();
}

TEST_F(Supervisors, AreReused) {
    make_host();
    run_well();
    const int first = only_supervisor();
    for (int i = 0; i < 10; ++i) run_well();
    EXPECT_EQ(only_supervisor(), first);
}

// Not all of the twenty supervisors are kept; those that exit must not remain as zombies.
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
    // The engine is idle, so no call drives it.
    EXPECT_LE(idle_supervisors().size(), 10u);
    expect_only_supervisors();
}

// The tool kills its supervisor; descendants that the tool left must not survive it.
TEST_F(Supervisors, KilledByTheirToolLeaveNothingBehind) {
    make_host();
    const struct {
        const char* script;
        const char* error;
    } cases[] = {
        {"kill -9 $PPID; sleep 39", "the tool's supervisor was killed"},
        {"sleep 39 & (setsid sleep 39 &); kill -9 $PPID; sleep 39",
         "the tool's supervisor was killed"},
        {"(setsid sh -c 'trap \"\" TERM HUP; sleep 39; sleep 39' &); "
         "(kill -STOP $$; kill -9 $PPID) & sleep 39",
         "the tool's supervisor was killed"},
        {"kill -STOP $PPID; sleep 39", "the tool's supervisor was stopped"},
        {"(setsid sleep 39 &); kill -STOP $PPID; sleep 39", "the tool's supervisor was stopped"},
    };
    for (const auto& each : cases) {
        const Json result = run_script(each.script);
        EXPECT_EQ(result["/state"].string(), "failed") << each.script;
        EXPECT_EQ(result["/errorCode"].string(), "SUPERVISOR_LOST") << each.script;
        EXPECT_EQ(result["/error"].string(), each.error) << each.script;
        expect_only_supervisors();
        run_well();
    }
}

constexpr const char* kGrandparent = "up=$(cut -d' ' -f4 /proc/$PPID/stat)\n";

// The supervisors notice that the reaper has exited; a new one is started for the next tool.
TEST_F(Supervisors, EndTheirToolsWhenTheReaperIsKilled) {
    make_host();
    run_well();
    const int first = only_reaper();
    const Json result = run_script(std::string(kGrandparent) +
                                   "(setsid sleep 39 &); kill -9 $up; sleep 39; sleep 39");
    EXPECT_EQ(result["/errorCode"].string(), "SUPERVISOR_LOST");
    EXPECT_EQ(result["/error"].string(),
              "the tool's supervisor ended because its parent process was killed");
    run_well();
    EXPECT_NE(only_reaper(), first);
    reap_all(milliseconds(0));
    expect_only_supervisors();
}

// The tool itself dies with its supervisor. Processes that it started before would survive.
TEST_F(Supervisors, KilledWithTheReaperEndTheTool) {
    make_host();
    for (const char* both :
         {"kill -9 $up $PPID; while :; do :; done", "kill -9 $PPID $up; while :; do :; done"}) {
        const Json result = run_script(std::string(kGrandparent) + both);
        EXPECT_EQ(result["/errorCode"].string(), "SUPERVISOR_LOST") << both;
        run_well();
    }
}

// Supervisors work without the reaper, and a stopped reaper is woken when it is needed.
TEST_F(Supervisors, WithAStoppedReaperEndTheirTools) {
    EngineOptions options;
    options.times = times(NAR_NONE, 100);
    make_host(std::move(options));
    Json result = run_script(std::string(kGrandparent) + "kill -STOP $up; kill -9 $PPID; sleep 39");
    EXPECT_EQ(result["/errorCode"].string(), "SUPERVISOR_LOST");
    result = run_script(std::string(kGrandparent) + "kill -STOP $up; kill -STOP $PPID; sleep 39",
                        R"(,"timeoutMs":500)");
    EXPECT_EQ(result["/state"].string(), "timeout");
    run_well();
    expect_only_supervisors();
}

// Whatever a tool does to the reaper and its supervisor, in either order, its timeout ends it with
// all processes that it started. (Killing both: see KilledWithTheReaperEndTheTool.)
TEST_F(Supervisors, ThatAToolStopsOrTracesEndOnTime) {
    EngineOptions options;
    options.times = times(NAR_NONE, 100);
    make_host(std::move(options));
    const std::string trace = tool_path("traces") + " $PPID & sleep 0.1";
    const std::string reapers[] = {"true", "kill -KILL $up", "kill -STOP $up"};
    const std::string supervisors[] = {"kill -STOP $PPID",
                                       "while :; do kill -STOP $PPID; done & true", trace};
    for (const std::string& reaper : reapers) {
        for (const std::string& supervisor : supervisors) {
            for (const std::string& both :
                 {reaper + "; " + supervisor, supervisor + "; " + reaper}) {
                const Json result = run_script(
                    std::string(kGrandparent) + "(setsid sleep 39 &)\n" + both + "\nsleep 39",
                    R"(,"timeoutMs":500)");
                const std::string code = result["/errorCode"].string();
                EXPECT_TRUE(code == "SUPERVISOR_LOST" || code == "TIMEOUT") << both << ": " << code;
                // The tool may have killed the reaper just after the reaper had ended it, so one
                // retry is allowed.
                const Json next = host->run_tool(tool_path("patcher"), "{}",
                                                 R"(,"retryPolicy":{"maxRetries":1})");
                EXPECT_EQ(next["/state"].string(), "completed") << both << next.text();
            }
        }
    }
    host.reset();
    EXPECT_TRUE(reap_all()) << describe(descendants());
}

// The engine ends while a tool has stopped or traced both, or the supervisor without a reaper.
TEST_F(Supervisors, ThatAToolStopsOrTracesEndWithTheEngine) {
    const std::string trace = tool_path("traces") + " $PPID & sleep 0.1";
    const struct {
        std::string script;
        bool kills_reaper;
    } cases[] = {{"kill -STOP $up $PPID", false}, {trace, false}, {trace, true}};
    for (const auto& each : cases) {
        make_host();
        const Witnesses witnesses;
        const std::string path =
            script(std::string(kGrandparent) + "cat > " + folder.path() + "/input\n" + each.script +
                   "\n" + tool_path("daemonizes") + " < " + folder.path() + "/input\n");
        host->begin(plan_json({tool_json("tool", path, witnesses.input(R"(,"stay":true)"))}));
        const Witness one = witnesses.accept(host.get());
        const Witness two = witnesses.accept(host.get());
        if (each.kills_reaper) {
            ASSERT_TRUE(signal_descendant(only_reaper(), SIGKILL));
        }
        host.reset();
        EXPECT_TRUE(one.is_gone()) << each.script;
        EXPECT_TRUE(two.is_gone()) << each.script;
        ::unlink(path.c_str());
        ::unlink((folder.path() + "/input").c_str());
        reap_all();
    }
}

// The host is dead and cannot end them: the parent's death wakes the reaper and a supervisor.
TEST_F(Supervisors, ThatAreStoppedEndWithTheHost) {
    const struct {
        bool supervisor_is_stopped, reaper_is_killed;
    } cases[] = {{false, false}, {true, false}, {true, true}};
    for (const auto& each : cases) {
        const Witnesses witnesses;
        Forked host_process([&] {
            Host own;
            own.begin(
                plan_json({tool_json("tool", tool_path("ignores_sigterm"), witnesses.input())}));
            own.until([] { return false; }, -1, milliseconds(60000));
            return "";
        });
        const Witness witness = witnesses.accept(nullptr);
        const int supervisor = only_supervisor(), reaper = only_reaper();
        host_process.kill(SIGSTOP);
        ASSERT_TRUE(signal_descendant(reaper, SIGSTOP));
        if (each.supervisor_is_stopped) {
            ASSERT_TRUE(signal_descendant(supervisor, SIGSTOP));
        }
        if (each.reaper_is_killed) {
            ASSERT_TRUE(signal_descendant(reaper, SIGKILL));
        }
        host_process.kill(SIGKILL);
        EXPECT_TRUE(witness.is_gone());
        host_process.wait();
        EXPECT_TRUE(reap_all()) << describe(descendants());
        expect_the_next_host_removes_the_folder();
    }
}

TEST_F(Supervisors, ThatAreStoppedAreEndedWithTheirTool) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("daemonizes"), witnesses.input(R"(,"stay":true)"))}));
    const Witness one = witnesses.accept(host.get());
    const Witness two = witnesses.accept(host.get());
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGSTOP));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/errorCode"].string(), "SUPERVISOR_LOST");
    EXPECT_TRUE(one.is_gone_already());
    EXPECT_TRUE(two.is_gone_already());
    run_well();
}

TEST_F(Supervisors, WithAStoppedReaperEndWithTheEngine) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("daemonizes"), witnesses.input(R"(,"stay":true)"))}));
    const Witness one = witnesses.accept(host.get());
    const Witness two = witnesses.accept(host.get());
    ASSERT_TRUE(signal_descendant(only_reaper(), SIGSTOP));
    host.reset();
    EXPECT_TRUE(one.is_gone_already());
    EXPECT_TRUE(two.is_gone_already());
}

// A forked child holds copies of all sockets and pipes; the end of the engine must not wait for it.
TEST_F(Supervisors, EndWithTheEngineWhileAForkedChildLives) {
    make_host({.jobs = 8});
    const Witnesses witnesses;
    std::vector<std::string> tools;
    for (int i = 0; i < 8; ++i) {
        tools.push_back(
            tool_json(std::to_string(i), tool_path("one_then_silence"), witnesses.input()));
    }
    host->begin(plan_json(tools, true));
    {
        std::vector<Witness> all;
        for (int i = 0; i < 8; ++i) all.push_back(witnesses.accept(host.get()));
        for (const Witness& witness : all) EXPECT_TRUE(witness.tell('d'));
        EXPECT_TRUE(host->finish()["/success"].boolean());
    }
    host->begin(plan_json({tool_json("tool", tool_path("ignores_sigterm"), witnesses.input())}));
    const Witness running = witnesses.accept(host.get());
    const pid_t child = ::fork();
    if (child == 0) {
        for (;;) ::pause();
    }
    ASSERT_GT(child, 1);
    const Clock::time_point start = Clock::now();
    host.reset();
    // Ended one after the other, each of the eight would take 6 s.
    EXPECT_LT(milliseconds_since(start), 30000);
    EXPECT_TRUE(running.is_gone_already());
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(Supervisors, ArePreparedBeforeTheFirstTool) {
    make_host();
    host->engine.prepare(12);
    const Clock::time_point deadline = Clock::now() + kPatience;
    while (idle_supervisors().size() < 12 && Clock::now() < deadline) ::poll(nullptr, 0, 2);
    EXPECT_EQ(idle_supervisors().size(), 12u);
    // Idle supervisors above the prepared number are kept.
    for (int i = 0; i < 3; ++i) run_well();
    host->engine.prepare(4);
    EXPECT_EQ(idle_supervisors().size(), 12u);
    EXPECT_FALSE(host->engine.is_busy());
    EXPECT_THROW(host->engine.prepare(NAR_MAX_PREPARED + 1), Error);
}

TEST_F(Supervisors, ThatCannotBePreparedAreAnError) {
    make_host({.supervisor = "/nonexistent/supervisor"});
    EXPECT_THROW(host->engine.prepare(1), Error);
}

TEST_F(Supervisors, CanBeAnInstalledProgram) {
    make_host({.supervisor = kSupervisor});
    run_well();
    // The given file runs, not the embedded one.
    char target[PATH_MAX] = {};
    const std::string link = "/proc/" + std::to_string(only_supervisor()) + "/exe";
    ASSERT_GT(::readlink(link.c_str(), target, sizeof target - 1), 0);
    EXPECT_EQ(target, kSupervisor);
}

// If the supervisor has no free descriptors, the kernel drops those attached to a request.
TEST_F(Supervisors, WithoutDescriptorsReportIt) {
    make_host();
    run_well();
    const int supervisor = only_supervisor();
    const std::filesystem::directory_iterator open("/proc/" + std::to_string(supervisor) + "/fd");
    const auto count = static_cast<rlim_t>(std::distance(open, {}));
    for (rlim_t free = 0; free < 3; ++free) {
        limit_descriptors(supervisor, count + free);
        const Json result = host->run_tool(tool_path("patcher"));
        EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED") << free;
        EXPECT_EQ(result["/error"].string(),
                  "its supervisor has no file descriptors left for the tool's pipes: Too many open "
                  "files; raise the limit on open files (ulimit -n)")
            << free;
    }
    limit_descriptors(supervisor, 64);
    run_well();
    EXPECT_EQ(only_supervisor(), supervisor);
}

// The reaper must not report that nothing is left when it could not look: with no descriptor free
// it cannot list /proc, and with one it cannot open any process in it.
class Remains : public Supervisors, public testing::WithParamInterface<int> {
protected:
    static rlim_t first_free_descriptor(int pid) {
        for (rlim_t number = 0;; ++number) {
            const std::string path =
                "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number);
            struct stat status {};
            if (::lstat(path.c_str(), &status) != 0) return number;
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Descriptors, Remains, testing::Values(0, 1));

TEST_P(Remains, ThatCannotBeListedAreLogged) {
    std::vector<std::string> lines;
    EngineOptions options;
    options.log = [&](const LogLine& line) { lines.emplace_back(line.message); };
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(plan_json(
        {tool_json("tool", tool_path("daemonizes"), witnesses.input(R"(,"stay":true)"))}));
    const Witness one = witnesses.accept(host.get());
    const Witness two = witnesses.accept(host.get());
    const int reaper = only_reaper();
    limit_descriptors(reaper, first_free_descriptor(reaper) + static_cast<rlim_t>(GetParam()));
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGKILL));
    EXPECT_EQ(host->finish()["/toolResults/0/errorCode"].string(), "SUPERVISOR_LOST");
    EXPECT_THAT(lines, testing::ElementsAre(testing::HasSubstr("/proc could not be read")));
    // The reaper looks again when the next supervisor ends.
    limit_descriptors(only_reaper(), 64);
    run_well();
    ASSERT_TRUE(signal_descendant(only_supervisor(), SIGKILL));
    EXPECT_TRUE(one.is_gone(host.get()));
    EXPECT_TRUE(two.is_gone(host.get()));
    run_well();
    EXPECT_EQ(lines.size(), 1u);
    host.reset();
}

TEST_F(Supervisors, ThatAreMissingAreLoggedOnceWithTheSession) {
    std::vector<std::string> lines;
    EngineOptions options;
    options.supervisor = "/nonexistent/supervisor";
    options.log = [&](const LogLine& line) {
        lines.push_back(std::string(line.session_id) + ": " + std::string(line.message));
    };
    make_host(std::move(options));
    for (int i = 0; i < 3; ++i) host->run_tool(tool_path("patcher"));
    // Each tool that cannot be started is logged as well.
    EXPECT_THAT(lines, testing::SizeIs(4));
    EXPECT_EQ(std::count(lines.begin(), lines.end(),
                         std::string(host->session.id()) +
                             ": no tool of this session can be started: the supervisor program "
                             "\"/nonexistent/supervisor\" cannot be opened: No such file or "
                             "directory"),
              1);
    host.reset();
}

TEST_F(Supervisors, ThatAreTheWrongProgramFailTheToolWithTheReason) {
    make_host({.supervisor = "/bin/true"});
    // The library may notice the program's exit at different points of a start.
    for (int i = 0; i < 20; ++i) {
        const Json result = host->run_tool(tool_path("patcher"));
        EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED");
        EXPECT_EQ(result["/error"].string(),
                  "the supervisor program \"/bin/true\" exited with status 0; name the installed "
                  "narratoria-supervisor in the engine's options");
    }
}

// The exit of an earlier program in the supervisor's place must not explain a later failure.
TEST_F(Supervisors, ThatReplaceAWrongProgramAreNotBlamedForIt) {
    const std::string path = folder.path() + "/supervisor";
    const auto install = [&](const std::string& program) {
        std::filesystem::copy_file(program, path + ".new");
        std::filesystem::rename(path + ".new", path);
    };
    install("/bin/true");
    Forked refused([&] {
        Host own({.supervisor = path});
        std::string said = own.run_tool(tool_path("patcher"))["/errorCode"].string();
        install(kSupervisor);
        said += " " + own.run_tool(tool_path("patcher"))["/state"].string();
        if (!forbid(SYS_sendmsg, EPERM)) return std::string("no seccomp");
        // The first run uses the idle supervisor.
        own.run_tool(tool_path("patcher"));
        return said + " " + own.run_tool(tool_path("patcher"))["/error"].string();
    });
    EXPECT_EQ(refused.report(),
              "SPAWN_FAILED completed the supervisor cannot be started: Operation not permitted");
    std::filesystem::remove(path);
}

TEST_F(Supervisors, NeedPidfds) {
    Forked refused([&] {
        if (!forbid(SYS_pidfd_open, ENOSYS)) return std::string("no seccomp");
        Host own;
        return own.run_tool(tool_path("patcher"))["/error"].text();
    });
    EXPECT_EQ(refused.report(),
              json_text("the supervisors cannot be watched: Function not implemented; narratoria "
                        "needs Linux 5.4 or later, and a sandbox (seccomp) must allow "
                        "pidfd_open"));
}

TEST_F(Supervisors, ThatAreMissingFailTheTool) {
    make_host({.supervisor = "/nonexistent/supervisor"});
    const Json result = host->run_tool(tool_path("patcher"), "{}",
                                       R"(,"retryPolicy":{"maxRetries":1,"backoffMs":1})");
    EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(result["/error"].string(),
              "the supervisor program \"/nonexistent/supervisor\" cannot be opened: "
              "No such file or directory");
    EXPECT_EQ(result["/attempts"].size(), 2u);
}

TEST_F(Supervisors, ThatAreNotProgramsFailTheTool) {
    make_host({.supervisor = "/etc/passwd"});
    const Json result = host->run_tool(tool_path("patcher"));
    EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(result["/error"].string(),
              "the supervisor cannot be started: Permission denied (/etc/passwd)");
}

// Where memfd_create is forbidden, the installed program can be used instead; the message says so.
TEST_F(Supervisors, CanBeInstalledIfMemfdIsForbidden) {
    auto forbid_memfd = [] { return forbid(SYS_memfd_create, EPERM); };
    Forked refused([&] {
        if (!forbid_memfd()) return std::string("no seccomp");
        Host own;
        return own.run_tool(tool_path("patcher"))["/error"].text();
    });
    EXPECT_EQ(refused.report(),
              json_text("the supervisor program cannot be put into memory: Operation not "
                        "permitted; where that is forbidden, name the installed "
                        "narratoria-supervisor in the engine's options"));
    Forked installed([&] {
        if (!forbid_memfd()) return std::string("no seccomp");
        Host own({.supervisor = kSupervisor});
        // Input larger than a pipe's buffer gets through as well.
        const std::string input = R"({"filling":")" + std::string(300000, 'x') + "\"}";
        const Json result = own.run_tool(tool_path("reporter"), input);
        return result["/state"].string() + " " +
               std::to_string(result["/events/0/fields/invocation/input"].text() == input);
    });
    EXPECT_EQ(installed.report(), "completed 1");
}

}  // namespace
}  // namespace narratoria::hostile
