// SPDX-License-Identifier: Apache-2.0
// The library leaves the host's process unchanged: its children, signals, limits, folder and
// threads.

#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

// The properties of a process that a library could change unnoticed.
struct Facts {
    std::vector<std::string> status;  // masks, threads
    std::vector<void*> handlers;
    std::vector<std::pair<rlim_t, rlim_t>> limits;
    std::string folder;
    mode_t mask;

    static Facts now() {
        Facts facts;
        std::ifstream file("/proc/self/status");
        for (std::string line; std::getline(file, line);) {
            for (const char* name : {"SigBlk:", "SigIgn:", "SigCgt:", "Threads:", "NoNewPrivs:",
                                     "Seccomp:", "Groups:", "CapEff:"}) {
                if (line.rfind(name, 0) == 0) facts.status.push_back(line);
            }
        }
        for (int number = 1; number < NSIG; ++number) {
            struct sigaction action {};
            ::sigaction(number, nullptr, &action);
            facts.handlers.push_back(reinterpret_cast<void*>(action.sa_handler));
        }
        for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
            rlimit limit{};
            ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
            facts.limits.emplace_back(limit.rlim_cur, limit.rlim_max);
        }
        char path[PATH_MAX];
        facts.folder = ::getcwd(path, sizeof path) != nullptr ? path : "";
        facts.mask = ::umask(0);
        ::umask(facts.mask);
        return facts;
    }

    bool operator==(const Facts&) const = default;
};

class HostProcess : public HostileTest {};

TEST_F(HostProcess, IsNotChanged) {
    const TemporaryFolder root;
    const Facts before = Facts::now();
    EngineOptions options;
    options.root = root.path();
    options.limits.emplace();
    options.limits->open_files = 50;
    options.limits->cpu_seconds = 100;
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    const Facts during = Facts::now();
    EXPECT_EQ(during.status, before.status);
    EXPECT_TRUE(during == before);
    EXPECT_TRUE(witness.tell('d'));
    EXPECT_TRUE(host->finish()["/success"].boolean());
    host.reset();
    EXPECT_TRUE(Facts::now() == before);
}

std::atomic<int> children_heard{0};

// The host waits for its own children and gets every status.
TEST_F(HostProcess, KeepsItsChildrenAndItsSigchldHandler) {
    struct sigaction action {
    }, before{}, after{};
    action.sa_handler = [](int) { ++children_heard; };
    action.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGCHLD, &action, &before), 0);
    make_host({.jobs = 2});
    for (int i = 0; i < 10; ++i) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(40 + i);
        // The host's child ends while the engine waits for its own processes.
        EXPECT_EQ(host->run_tool(tool_path("patcher"))["/state"].string(), "completed");
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(WEXITSTATUS(status), 40 + i);
    }
    const pid_t last = ::fork();
    if (last == 0) ::_exit(77);
    siginfo_t information{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(last), &information, WEXITED | WNOWAIT), 0);
    host.reset();
    int status = 0;
    EXPECT_EQ(::waitpid(last, &status, 0), last);
    EXPECT_EQ(WEXITSTATUS(status), 77);
    ASSERT_EQ(::sigaction(SIGCHLD, &before, &after), 0);
    EXPECT_EQ(after.sa_handler, action.sa_handler);
    EXPECT_GE(children_heard, 11);
}

// A host that reaps every child also takes the supervisors' statuses, which must do no harm.
TEST_F(HostProcess, MayReapAllChildren) {
    make_host({.jobs = 4});
    for (int round = 0; round < 5; ++round) {
        std::vector<std::string> tools;
        for (int i = 0; i < 12; ++i) {
            tools.push_back(tool_json(std::to_string(i), tool_path("patcher")));
        }
        host->begin(plan_json(tools, true));
        ASSERT_TRUE(host->until([&] {
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
            return static_cast<bool>(host->result);
        }));
        EXPECT_TRUE(host->result.success());
        for (const ProcessFacts& each : idle_supervisors()) signal_descendant(each.pid, SIGKILL);
        for (const ProcessFacts& each : descendants()) {
            if (each.name == "narratoria-reap") signal_descendant(each.pid, SIGKILL);
        }
        while (::waitpid(-1, nullptr, 0) > 0) {
        }
    }
}

// With SIGCHLD ignored, the kernel reaps children; the library still detects every end.
TEST_F(HostProcess, MayIgnoreSigchld) {
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
    make_host();
    const Json result = host->run_tool(tool_path("exits_after_done"));
    EXPECT_EQ(result["/attempts/0/exitStatus"].integer(), 3);
    host.reset();
    ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

// Signals that interrupt the library's system calls must have no effect.
TEST_F(HostProcess, MayBeInterruptedContinuously) {
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
    itimerval often{{0, 300}, {0, 300}};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
    make_host();
    std::vector<std::string> tools;
    for (int i = 0; i < 30; ++i) {
        tools.push_back(tool_json(std::to_string(i), tool_path("split_writer"), R"({"chunk":40})"));
    }
    const Json result = host->run(plan_json(tools, true));
    host->engine.destroy();
    often = {};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
    ASSERT_EQ(::sigaction(SIGALRM, &before, nullptr), 0);
    EXPECT_TRUE(result["/success"].boolean()) << result.text();
}

}  // namespace
}  // namespace narratoria::hostile
