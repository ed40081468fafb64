// SPDX-License-Identifier: Apache-2.0
// Hosts in unusual states: killed, forked, large, with many descriptors, without standard streams,
// with blocked signals. None of this affects the tools.

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "support/forked.hpp"
#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Hosts : public HostileTest {
protected:
    Json report_of(Host& of) {
        const Json result = of.run_tool(tool_path("reporter"));
        EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
        return result["/events/0/fields"];
    }
    static void expect_three_pipes(const Json& report) {
        ASSERT_EQ(report["/descriptors"].size(), 3u) << report["/descriptors"].text();
        for (int i = 0; i < 3; ++i) {
            const Json descriptor = report["/descriptors/" + std::to_string(i)];
            EXPECT_EQ(descriptor["/number"].integer(), i);
            EXPECT_THAT(descriptor["/target"].string(), testing::StartsWith("pipe:["));
            EXPECT_EQ(descriptor["/flags"].integer() & O_NONBLOCK, 0);
        }
    }
    static void expect_no_signals(const Json& report) {
        for (const char* set : {"/blocked", "/ignored", "/caught"}) {
            EXPECT_EQ(report[set].string(), "0000000000000000") << set;
        }
    }
    static int64_t processor_microseconds() {
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return now.tv_sec * 1000000 + now.tv_nsec / 1000;
    }
    // The median processor time that this process needs to create an engine, run a tool and destroy
    // both. Processor time excludes other load on the machine.
    static int64_t median_microseconds() {
        std::vector<int64_t> times;
        for (int i = 0; i < 9; ++i) {
            const int64_t start = processor_microseconds();
            Host host;
            host.run_tool(tool_path("patcher"));
            times.push_back(processor_microseconds() - start);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }
    // Four times the baseline plus 20 ms; forking such a large host takes ten times the baseline.
    static int64_t most_microseconds(int64_t before) { return 4 * before + 20000; }
};

// ---- killed

class KilledHost : public Hosts, public testing::WithParamInterface<bool> {};

TEST_P(KilledHost, LeavesNoDescendant) {
    const bool with_sibling = GetParam();
    const Witnesses witnesses;
    Forked killed([&] {
        Host own({.jobs = 8});
        own.begin(plan_json(
            {tool_json("stubborn", tool_path("ignores_sigterm"), witnesses.input()),
             tool_json("daemon", tool_path("daemonizes"), witnesses.input(R"(,"stay":true)")),
             tool_json("parent", tool_path("leaves_child"),
                       witnesses.input(R"(,"stay":true,"stubborn":true)")),
             tool_json("stopped", tool_path("stops_itself"), witnesses.input()),
             tool_json("many", tool_path("many_children"),
                       witnesses.input(R"(,"stay":true,"count":20)"))},
            true));
        // A forked child of the host keeps the supervisors' sockets open.
        if (with_sibling && ::fork() == 0) {
            for (;;) ::pause();
        }
        own.until([] { return false; }, -1, milliseconds(60000));
        return "";
    });
    std::vector<Witness> all;
    for (int i = 0; i < 1 + 2 + 2 + 1 + 21; ++i) all.push_back(witnesses.accept(nullptr));
    killed.kill(SIGKILL);
    for (const Witness& witness : all) {
        EXPECT_TRUE(witness.is_gone()) << witness.role << " " << witness.pid;
    }
    killed.wait();
    if (with_sibling) {
        // The sibling was reparented to this test when its parent died, and would run forever.
        for (const ProcessFacts& each : descendants()) {
            if (each.parent == ::getpid() && !is_of_the_library(each)) {
                signal_descendant(each.pid, SIGKILL);
            }
        }
    }
    EXPECT_TRUE(reap_all()) << describe(descendants());
    expect_the_next_host_removes_the_folder();
}
INSTANTIATE_TEST_SUITE_P(WithAChildThatLives, KilledHost, testing::Bool());

// The kill may come at any moment: while supervisors start or while tools start.
TEST_F(Hosts, KilledAtAnyMomentLeaveNoProcess) {
    for (int moment = 0; moment < 25; ++moment) {
        const Witnesses witnesses;
        int alive[2];
        ASSERT_EQ(::pipe2(alive, 0), 0);  // not close-on-exec: every descendant holds it
        {
            Forked killed([&] {
                ::close(alive[0]);
                Host own({.jobs = 4});
                std::vector<std::string> tools;
                for (int i = 0; i < 20; ++i) {
                    tools.push_back(tool_json(std::to_string(i), tool_path("leaves_child"),
                                              R"({"stubborn":true})"));
                }
                own.on_event = [&, left = moment * 3](Event) mutable {
                    if (left-- == 0) ::raise(SIGKILL);
                };
                own.run(plan_json(tools, true));
                return "";
            });
            killed.wait();
        }
        ::close(alive[1]);
        EXPECT_TRUE(reap_all()) << moment << "\n" << describe(descendants());
        ::close(alive[0]);
    }
    expect_the_next_host_removes_the_folder();
}

// ---- forked

TEST_F(Hosts, ThatForkGetForkedStatusInTheChild) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    nar_engine* const engine = host->engine.raw();
    nar_session* const session = host->session.raw();
    Forked child([&] {
        std::string told;
        nar_error error = NAR_ERROR_INIT;
        nar_text* text = nullptr;
        nar_session* made = nullptr;
        nar_event_sink sink{};
        sink.size = sizeof sink;
        sink.event = [](void*, const nar_event*) {};
        uint64_t number = 0;
        const nar_status answers[] = {
            nar_engine_run_once(engine, &error),
            nar_engine_run_for(engine, 0, &error),
            nar_engine_run_until_idle(engine, &error),
            nar_engine_adopt_thread(engine, &error),
            nar_engine_post(
                engine, [](void*) {}, nullptr, nullptr, &error),
            nar_session_create(engine, nullptr, &made, &error),
            nar_session_attach_sink(session, &sink, &number, &error),
            nar_session_detach_sink(session, 1, &error),
            nar_session_prompt(session, NAR_STR("go"), nullptr, nullptr, &error),
            nar_session_execute(session, NAR_STR("{}"), {nullptr, 0}, nullptr, nullptr, &error),
            nar_session_cancel(session),
            nar_session_read_state(session, {nullptr, 0}, &text, &error),
            nar_session_patch_state(session, NAR_STR("{}"), &error),
            nar_session_read_history(session, &text, &error),
            nar_session_read_assets(session, &text, &error),
            nar_narrator_reply(engine, 1, NAR_STR("{}"), &error),
            nar_narrator_fail(engine, 1, NAR_STR("no"), &error),
            nar_session_destroy(session, &error),
            nar_engine_destroy(engine, &error),
        };
        for (const nar_status answer : answers) told += std::string(nar_status_name(answer)) + " ";
        told += std::to_string(nar_engine_descriptor(engine)) + " " +
                std::to_string(nar_engine_timeout(engine)) + " " +
                std::to_string(nar_engine_is_busy(engine)) + " ";
        // The child can use an engine of its own.
        Host own;
        told += own.run_tool(tool_path("patcher"))["/state"].string();
        return told;
    });
    std::string expected;
    for (int i = 0; i < 19; ++i) expected += "NAR_FORKED ";
    EXPECT_EQ(child.report(), expected + "-1 -1 0 completed");
    // The parent's engine continues unaffected.
    EXPECT_TRUE(witness.does('w', host.get()));
    EXPECT_TRUE(witness.tell('d'));
    EXPECT_EQ(host->finish()["/success"].boolean(), true);
}

TEST_F(Hosts, ThatForkKeepTheirToolsWhenTheChildEnds) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    Forked([] { return ""; }).report();
    EXPECT_TRUE(witness.lives(host.get()));
    EXPECT_TRUE(witness.tell('d'));
    EXPECT_TRUE(host->finish()["/success"].boolean());
}

// ---- state of the host

TEST_F(Hosts, WithFiveThousandDescriptorsPassOnNone) {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit before = limit;
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    const int64_t few = median_microseconds();
    std::vector<int> many;
    // Without close-on-exec, as in a careless host.
    for (int i = 0; i < 5000; ++i) many.push_back(::open("/dev/null", O_RDONLY));
    EXPECT_GT(many.back(), 5000) << "this machine's descriptor limit is too low for the test";
    const int64_t with_many = median_microseconds();
    expect_three_pipes(report_of(make_host()));
    for (const int descriptor : many) ::close(descriptor);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_LT(with_many, most_microseconds(few));
}

TEST_F(Hosts, WithTwoGigabytesResidentStartToolsWithoutDelay) {
    const int64_t small = median_microseconds();
    const size_t size = size_t{2} << 30;
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) GTEST_SKIP() << "this machine has no 2 GiB to spare";
    const int64_t large = median_microseconds();
    ::munmap(memory, size);
    EXPECT_LT(large, most_microseconds(small));
}

TEST_F(Hosts, WithBlockedAndIgnoredSignalsPassOnNone) {
    sigset_t all, before;
    sigfillset(&all);
    std::map<int, struct sigaction> actions;
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction ignore {};
        ignore.sa_handler = SIG_IGN;
        struct sigaction old {};
        if (::sigaction(number, &ignore, &old) == 0) actions[number] = old;
    }
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &all, &before), 0);

    EngineOptions options;
    options.times = times(NAR_NONE, 20000);
    const Json report = report_of(make_host(std::move(options)));
    expect_no_signals(report);
    // SIGTERM must end the tool. If it were blocked, SIGKILL would end it after the grace period.
    const Json ended = host->run_tool(tool_path("one_then_silence"), "{}", R"(,"timeoutMs":100)");
    EXPECT_EQ(ended["/state"].string(), "timeout");
    EXPECT_EQ(ended["/attempts/0/signal"].integer(), SIGTERM);
    host.reset();

    for (const auto& [number, action] : actions) ::sigaction(number, &action, nullptr);
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

// The loop may stall (a sleeping laptop, a debugger, a long frame): a tool that ended in time has
// not timed out.
TEST_F(Hosts, ThatStallDoNotTimeOutToolsThatEndedInTime) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("one_then_silence"), witnesses.input(),
                                     R"(,"timeoutMs":2000)")}));
    const Witness witness = witnesses.accept(host.get());
    const Clock::time_point begun = Clock::now();
    EXPECT_TRUE(witness.tell('d'));
    EXPECT_TRUE(witness.is_gone());
    while (milliseconds_since(begun) < 2500) ::poll(nullptr, 0, 10);
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
}

// A host without descriptors 0 to 2 may still write to them, so the library must not occupy them.
TEST_F(Hosts, WithoutStandardStreamsKeepThemClosed) {
    Forked closed([] {
        for (int i = 0; i < 3; ++i) ::close(i);
        std::string taken;
        std::string report;
        {
            Host own;
            auto look = [&] {
                for (int i = 0; i < 3; ++i) {
                    if (::fcntl(i, F_GETFD) >= 0) taken += std::to_string(i);
                }
            };
            look();
            own.on_event = [&](Event) { look(); };
            // Enough events to be spilled to a file.
            const Json result = own.run(
                plan_json({tool_json("flood", tool_path("million_logs"), R"({"count":150000})"),
                           tool_json("report", tool_path("reporter"),
                                     R"({"filling":")" + std::string(200000, 'x') + "\"}")}));
            look();
            if (!result["/success"].boolean()) taken += " failed: " + result.text().substr(0, 500);
            report = result["/toolResults/1/events/0/fields"].text();
        }
        return taken.substr(0, 600) + "|" + report;
    });
    const std::string told = closed.report();
    const size_t bar = told.find('|');
    EXPECT_EQ(told.substr(0, bar), "");
    ASSERT_NE(bar, std::string::npos);
    expect_three_pipes(Json(std::string_view(told).substr(bar + 1)));
}

// covers: 000-2.1-process
TEST_F(Hosts, GiveToolsACleanEnvironment) {
    ::setenv("NARRATORIA_SECRET", "of the host", 1);
    ::setenv("LC_NUMERIC", "C", 1);
    const TemporaryFolder root;
    EngineOptions options;
    options.root = root.path();
    options.environment = {"STORY=torch", "LANG=xx"};
    make_host(std::move(options));
    const Json result =
        host->run_tool(tool_path("reporter"), "{}", R"(,"environment":{"ROOM":"cellar"})");
    ::unsetenv("NARRATORIA_SECRET");
    ::unsetenv("LC_NUMERIC");
    const Json report = result["/events/0/fields"];
    EXPECT_FALSE(report.has("/environment/NARRATORIA_SECRET"));
    EXPECT_EQ(report["/environment/LC_NUMERIC"].string(), "C");
    EXPECT_EQ(report["/environment/STORY"].string(), "torch");
    EXPECT_EQ(report["/environment/LANG"].string(), "xx");
    EXPECT_EQ(report["/environment/ROOM"].string(), "cellar");
    EXPECT_EQ(report["/environment/TMPDIR"].string(), folder.path());
    const std::string allowed =
        "PATH HOME USER LANG TZ TMPDIR VIRTUAL_ENV STORY ROOM NARRATORIA_OUTPUT_DIR";
    for (const std::string& name : report["/environment"].keys()) {
        EXPECT_TRUE(name.rfind("LC_", 0) == 0 || allowed.find(name) != std::string::npos) << name;
    }
    EXPECT_EQ(report["/arguments"].text(), "[" + json_text(tool_path("reporter")) + "]");
    EXPECT_EQ(report["/folder"].string(), root.path());
    expect_three_pipes(report);
    expect_no_signals(report);
    // The tool has its own session and process group, and no controlling terminal.
    EXPECT_EQ(report["/pid"].integer(), report["/session"].integer());
    EXPECT_EQ(report["/pid"].integer(), report["/group"].integer());
    EXPECT_EQ(report["/invocation/requestId"].string(), "plan");
    EXPECT_EQ(report["/invocation/tool"].string(), "reporter");
    EXPECT_EQ(report["/invocation/operation"].string(), "run");
    EXPECT_EQ(report["/invocation/dependencies"].text(), "{}");
}

}  // namespace
}  // namespace narratoria::hostile
