// SPDX-License-Identifier: Apache-2.0
// narratoria.process/1 of the real host through the C++ wrapper: real programs and their ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "narratoria/plugin_process.hpp"
#include "plugin/host.hpp"
#include "support/leftovers.hpp"

namespace narratoria::test {
namespace {

using plugin::ProcessStream;
using plugin::Written;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

struct Heard {
    std::string output, diagnostics;
    std::vector<ProcessStream> closed;
    int drained = 0;
    std::optional<plugin::ProcessExit> exit;
};

class ProcessServiceTest : public PluginHostTest {
protected:
    void SetUp() override { open(); }
    void TearDown() override {
        processes.clear();
        close();
        hostile::expect_no_children();
    }

    void open(EngineOptions options = {}) {
        open_engine(options);
        open_session();
        const nar_host* raw = session->extend(
            "test", NAR_EXTENSION_EVENT_SINK, idle_sink(), this, [](void* instance) {
                auto& self = *static_cast<ProcessServiceTest*>(instance);
                self.core->close();
                self.core->end();
            });
        core = std::make_shared<plugin::detail::Core>(raw);
        core->activate();
        host.emplace(core);
    }
    static bool wait_until(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
        while (!condition()) {
            if (std::chrono::steady_clock::now() >= deadline) return false;
            ::poll(nullptr, 0, 5);
        }
        return true;
    }

    plugin::Process& start(Heard& heard, plugin::Program program) {
        plugin::ProcessEvents events;
        events.on_output = [&](std::string_view bytes) { heard.output += bytes; };
        events.on_diagnostics = [&](std::string_view bytes) { heard.diagnostics += bytes; };
        events.on_closed = [&](ProcessStream stream) { heard.closed.push_back(stream); };
        events.on_drained = [&] { ++heard.drained; };
        events.on_exit = [&](const plugin::ProcessExit& exit) { heard.exit = exit; };
        return *processes.emplace_back(
            std::make_unique<plugin::Process>(*host, program, std::move(events)));
    }
    plugin::Process& shell(Heard& heard, const std::string& script,
                           const nar_limits* limits = nullptr) {
        return start(heard, {{"sh", "-c", script}, {}, {}, limits});
    }
    nar_status refusal(plugin::Program program) {
        Heard heard;
        try {
            start(heard, std::move(program));
            return NAR_OK;
        } catch (const Error& error) {
            message = error.what();
            return error.status();
        }
    }

    std::string message;
    std::shared_ptr<plugin::detail::Core> core;
    std::optional<plugin::Host> host;
    std::vector<std::unique_ptr<plugin::Process>> processes;
};

// ---------------------------------------------------------------- streams

TEST_F(ProcessServiceTest, PluginHasALimitedNumberOfProcesses) {
    std::deque<Heard> heard(128);
    for (Heard& each : heard) shell(each, "read line");
    EXPECT_EQ(refusal({{"true"}, {}, {}, nullptr}), NAR_BUSY);
    EXPECT_THAT(message, HasSubstr("128 running processes"));
    processes.front()->close_input();
    ASSERT_TRUE(until([&] { return heard.front().exit.has_value(); }));
    EXPECT_EQ(refusal({{"true"}, {}, {}, nullptr}), NAR_OK);
}

TEST_F(ProcessServiceTest, ProgramAnswersUntilItsInputIsClosed) {
    Heard heard;
    plugin::Process& process = shell(
        heard, "while read -r line; do echo \"heard $line\"; done; echo over; echo aside >&2");
    for (const std::string word : {"one", "two", "three"}) {
        EXPECT_EQ(process.write(word + "\n"), Written::Taken);
        ASSERT_TRUE(
            until([&] { return heard.output.find("heard " + word + "\n") != std::string::npos; }));
    }
    EXPECT_FALSE(heard.exit);
    process.close_input();
    EXPECT_EQ(process.write("four\n"), Written::Closed);
    ASSERT_TRUE(until([&] { return heard.exit.has_value(); }));
    EXPECT_EQ(heard.output, "heard one\nheard two\nheard three\nover\n");
    EXPECT_EQ(heard.diagnostics, "aside\n");
    EXPECT_EQ(heard.exit->status, 0);
    EXPECT_EQ(heard.exit->signal, 0U);
    EXPECT_EQ(heard.exit->error_code, "");
    EXPECT_FALSE(process.is_running());
}

TEST_F(ProcessServiceTest, TenMegabytesPassBothWaysWithoutDeadlock) {
    std::string sent(10'000'000, 'x');
    for (size_t i = 0; i < sent.size(); i += 997) sent[i] = static_cast<char>('a' + i % 26);
    Heard heard;
    plugin::Process& process = start(heard, {{"cat"}, {}, {}, nullptr});
    EXPECT_EQ(process.write(sent), Written::Taken);
    process.close_input();
    ASSERT_TRUE(until([&] { return heard.exit.has_value(); }));
    EXPECT_TRUE(heard.output == sent) << heard.output.size();
    EXPECT_EQ(heard.exit->status, 0);
}

TEST_F(ProcessServiceTest, WriterIsRefusedUntilTheProgramReads) {
    Heard heard;
    plugin::Process& process =
        shell(heard, "until [ -e go ]; do sleep 0.01; done; exec cat >/dev/null");
    EXPECT_EQ(process.write(std::string(70'000'000, 'x')), Written::Taken)
        << "a single write of any size is accepted";
    EXPECT_EQ(process.write("more"), Written::Busy);
    EXPECT_EQ(heard.drained, 0);
    folder.write("go", "");
    ASSERT_TRUE(until([&] { return heard.drained == 1; }));
    EXPECT_EQ(process.write("more"), Written::Taken);
    process.close_input();
    ASSERT_TRUE(until([&] { return heard.exit.has_value(); }));
    EXPECT_EQ(heard.drained, 1);
}

TEST_F(ProcessServiceTest, ClosedInputIsReportedWithoutASignal) {
    for (const size_t size : {size_t{0}, size_t{1'000'000}}) {
        Heard heard;
        plugin::Process& process = shell(heard, "exec <&-; exec sleep 1000");
        process.write(std::string(size, 'x'));
        ASSERT_TRUE(until([&] { return !heard.closed.empty(); })) << size;
        EXPECT_THAT(heard.closed, ::testing::ElementsAre(ProcessStream::Input));
        EXPECT_EQ(process.write("more"), Written::Closed);
        process.terminate(0);
        ASSERT_TRUE(until([&] { return heard.exit.has_value(); }));
        EXPECT_EQ(heard.exit->status, -1);
        EXPECT_EQ(heard.exit->signal, static_cast<unsigned>(SIGKILL));
    }
    sigset_t pending;
    ::sigpending(&pending);
    EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST_F(ProcessServiceTest, ClosedOutputIsReported) {
    Heard heard;
    plugin::Process& process = shell(heard, "exec >&- 2>&-; exec sleep 1000");
    ASSERT_TRUE(until([&] { return heard.closed.size() == 2; }));
    EXPECT_THAT(heard.closed, Contains(ProcessStream::Output));
    EXPECT_THAT(heard.closed, Contains(ProcessStream::Diagnostics));
    EXPECT_TRUE(process.is_running());
}

TEST_F(ProcessServiceTest, CallbackMayDestroyItsProcess) {
    std::optional<plugin::Process> process;
    std::string number;
    bool has_ended = false;
    plugin::ProcessEvents events;
    events.on_output = [&](std::string_view bytes) {
        number = first_line(std::string(bytes));
        process.reset();
    };
    events.on_exit = [&](const plugin::ProcessExit&) { has_ended = true; };
    process.emplace(*host, plugin::Program{{"sh", "-c", "echo $$; exec sleep 1000"}, {}, {}, {}},
                    std::move(events));
    ASSERT_TRUE(until([&] { return !number.empty() && hostile::is_dead(number); }));
    ASSERT_TRUE(until([&] { return !engine->is_busy(); }));
    EXPECT_FALSE(has_ended) << "no further event was due";
}

// ---------------------------------------------------------------- starting

TEST_F(ProcessServiceTest, FolderAndEnvironmentDefaultToTheTools) {
    ::setenv("NARRATORIA_TEST_HIDDEN", "hidden", 1);
    const std::string script = "echo \"$PWD $OWN ${NARRATORIA_TEST_HIDDEN-none}\"";
    Heard as_tools, as_given;
    shell(as_tools, script);
    folder.write("inner/file", "");
    start(as_given, {{"/bin/sh", "-c", script}, {{"OWN=given"}}, folder / "inner", nullptr});
    ASSERT_TRUE(until([&] { return as_tools.exit && as_given.exit; }));
    EXPECT_EQ(as_tools.output, folder.path() + "  none\n");
    EXPECT_EQ(as_given.output, folder / "inner" + " given none\n");
}

TEST_F(ProcessServiceTest, RelativeProgramIsResolvedInItsFolder) {
    folder.write("inner/tool", "#!/bin/sh\necho here\n", 0755);
    Heard heard;
    start(heard, {{"./tool"}, {}, folder / "inner", nullptr});
    ASSERT_TRUE(until([&] { return heard.exit.has_value(); }));
    EXPECT_EQ(heard.output, "here\n") << heard.exit->error;
}

TEST_F(ProcessServiceTest, FailedStartIsReportedWithTheReason) {
    EXPECT_EQ(refusal({{"no-such-program-anywhere"}, {}, {}, nullptr}), NAR_NOT_FOUND);
    EXPECT_THAT(message, HasSubstr("no-such-program-anywhere"));
    EXPECT_EQ(refusal({{}, {}, {}, nullptr}), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(refusal({{"sh"}, {}, "relative", nullptr}), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(message, HasSubstr("absolute"));
    EXPECT_EQ(refusal({{"sh", std::string("a\0b", 3)}, {}, {}, nullptr}), NAR_INVALID_ARGUMENT);

    folder.write("script", "#!/no/such/interpreter\n", 0755);
    Heard script, lost;
    start(script, {{"./script"}, {}, {}, nullptr});
    start(lost, {{"sh"}, {}, folder / "missing", nullptr});
    ASSERT_TRUE(until([&] { return script.exit && lost.exit; }));
    EXPECT_EQ(script.exit->error_code, "SPAWN_FAILED");
    EXPECT_THAT(script.exit->error, HasSubstr("#!/no/such/interpreter"));
    EXPECT_EQ(script.exit->status, -1);
    EXPECT_EQ(lost.exit->error_code, "SPAWN_FAILED");
    EXPECT_THAT(lost.exit->error, HasSubstr("missing"));
}

// ---------------------------------------------------------------- limits

TEST_F(ProcessServiceTest, LimitsDefaultToTheSessionsTools) {
    close();
    EngineOptions options;
    options.limits = Limits{};
    options.limits->memory_bytes = 900u << 20;
    options.limits->open_files = 77;
    open(options);
    const std::string script = "echo $(ulimit -v) $(ulimit -n)";
    auto own = sized<nar_limits>();
    own.open_files = 55;
    Heard as_tools, as_given;
    shell(as_tools, script);
    shell(as_given, script, &own);
    ASSERT_TRUE(until([&] { return as_tools.exit && as_given.exit; }));
    EXPECT_EQ(as_tools.output, "921600 77\n");
    EXPECT_EQ(as_given.output, "921600 55\n");
}

TEST_F(ProcessServiceTest, CpuLimitEndsItAndIsNamed) {
    auto limits = sized<nar_limits>();
    limits.cpu_seconds = 1;
    Heard heard;
    shell(heard, "while :; do :; done", &limits);
    ASSERT_TRUE(until([&] { return heard.exit.has_value(); }));
    EXPECT_EQ(heard.exit->error_code, "CPU_LIMIT");
    EXPECT_EQ(heard.exit->signal, static_cast<unsigned>(SIGXCPU));
    // The limit counts clock ticks and rusage does not: they agree only roughly.
    EXPECT_GE(heard.exit->user_us + heard.exit->system_us, 500'000U);
    EXPECT_GE(heard.exit->resident_bytes, 200'000U);
    EXPECT_LT(heard.exit->resident_bytes, 64U << 20);
}

TEST_F(ProcessServiceTest, CgroupLimitIsRefusedWithoutACgroup) {
    auto limits = sized<nar_limits>();
    limits.resident_bytes = 64u << 20;
    EXPECT_EQ(refusal({{"true"}, {}, {}, &limits}), NAR_UNSUPPORTED);
    EXPECT_THAT(message, HasSubstr("cgroup"));
}

// ---------------------------------------------------------------- ending

TEST_F(ProcessServiceTest, TerminateKillsAfterTheGracePeriod) {
    Heard polite, stubborn;
    plugin::Process& first =
        shell(polite, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
    plugin::Process& second =
        shell(stubborn, "trap '' TERM; echo ready; while :; do sleep 0.01; done");
    ASSERT_TRUE(until([&] { return !polite.output.empty() && !stubborn.output.empty(); }));
    first.terminate(30'000);
    second.terminate(50);
    ASSERT_TRUE(until([&] { return polite.exit && stubborn.exit; }));
    EXPECT_EQ(polite.exit->status, 7);
    EXPECT_EQ(stubborn.exit->signal, static_cast<unsigned>(SIGKILL));
}

TEST_F(ProcessServiceTest, EngineIsBusyOnlyWhileItIsBeingEnded) {
    Heard heard;
    plugin::Process& process = shell(heard, "echo ready; exec sleep 1000");
    ASSERT_TRUE(until([&] { return !heard.output.empty(); }));
    EXPECT_FALSE(engine->is_busy());
    engine->run_until_idle();
    process.terminate(1000);
    EXPECT_TRUE(engine->is_busy());
    engine->run_until_idle();
    EXPECT_TRUE(heard.exit.has_value());
}

TEST_F(ProcessServiceTest, EndOfTheSessionTerminatesThenKills) {
    Heard polite, stubborn;
    shell(polite,
          "trap 'echo bye; echo bye >&2; echo ended >told; exit' TERM; echo $$; "
          "while :; do sleep 0.01; done");
    shell(stubborn, "trap '' TERM; setsid sleep 1000 & echo $!; while :; do sleep 0.01; done");
    ASSERT_TRUE(until([&] { return !polite.output.empty() && !stubborn.output.empty(); }));
    session.reset();
    EXPECT_TRUE(engine->is_busy());
    engine->run_until_idle();
    EXPECT_TRUE(hostile::is_dead(first_line(polite.output)));
    EXPECT_TRUE(hostile::is_dead(first_line(stubborn.output)));
    EXPECT_FALSE(polite.exit) << "the session that would be notified is gone";
}

// The 40 ms for a clean end may pass on a loaded machine, so one success in several ends is enough.
TEST_F(ProcessServiceTest, EndOfTheEngineWaitsForGracePeriods) {
    for (int turn = 0; turn < 50 && folder.read("told").empty(); ++turn) {
        Heard heard;
        shell(heard, "trap 'echo ended >told; exit' TERM; echo $$; while :; do sleep 0.001; done");
        ASSERT_TRUE(until([&] { return !heard.output.empty(); }));
        processes.clear();  // kills the first process
        shell(heard,
              "trap 'echo ended >told; exit' TERM; echo again; "
              "while :; do sleep 0.001; done");
        ASSERT_TRUE(until([&] { return heard.output.find("again") != std::string::npos; }));
        close();
        EXPECT_TRUE(hostile::is_dead(first_line(heard.output)));
        processes.clear();
        open();
    }
    EXPECT_EQ(folder.read("told"), "ended\n");
}

TEST_F(ProcessServiceTest, KilledHostLeavesNoProcess) {
    close();
    const pid_t child = ::fork();
    if (child == 0) {
        open();
        Heard heard;
        shell(heard, "trap '' TERM; setsid sleep 1000 & echo $! $$; while :; do sleep 1000; done");
        until([&] { return heard.output.find('\n') != std::string::npos; });
        folder.write("numbers", heard.output);
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    std::istringstream numbers(folder.read("numbers"));
    std::string inner, outer;
    numbers >> inner >> outer;
    EXPECT_TRUE(wait_until([&] { return hostile::is_dead(inner) && hostile::is_dead(outer); }));
}

// ---------------------------------------------------------------- violations

TEST_F(ProcessServiceTest, DisabledPluginsProcessesAreKilled) {
    const auto* functions = service<nar_host_process>(host->raw(), NAR_HOST_PROCESS);
    auto events = sized<nar_process_events>();
    events.on_output = [](void* user, uint64_t, nar_str bytes) {
        *static_cast<std::string*>(user) += detail::to_view(bytes);
        throw 42;
    };
    const nar_str arguments[] = {NAR_STR("sh"), NAR_STR("-c"),
                                 NAR_STR("echo $$; while :; do sleep 0.01; echo more; done")};
    auto program = sized<nar_program>();
    program.arguments = arguments;
    program.argument_count = 3;
    uint64_t process = 0;
    std::string output;
    ASSERT_EQ(functions->start(host->raw(), &program, &events, &output, &process, nullptr), NAR_OK);
    EXPECT_NE(process, 0U);
    ASSERT_TRUE(until([&] { return !output.empty() && hostile::is_dead(first_line(output)); }));
    EXPECT_THAT(output, Not(HasSubstr("more"))) << "a disabled plugin is not called";
    EXPECT_THAT(log, HasSubstr("is disabled"));
    EXPECT_EQ(functions->start(host->raw(), &program, &events, &output, &process, nullptr),
              NAR_GONE)
        << "no instance would end the process";
}

TEST_F(ProcessServiceTest, UnknownHandleIsGone) {
    const auto* functions = service<nar_host_process>(host->raw(), NAR_HOST_PROCESS);
    EXPECT_EQ(functions->write(host->raw(), 99, NAR_STR("x")), NAR_GONE);
    EXPECT_EQ(functions->close_input(host->raw(), 99), NAR_GONE);
    EXPECT_EQ(functions->terminate(host->raw(), 99, 0), NAR_GONE);
    EXPECT_EQ(functions->release(host->raw(), 99, 0), NAR_GONE);
}

}  // namespace
}  // namespace narratoria::test
