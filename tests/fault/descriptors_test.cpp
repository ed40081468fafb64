// SPDX-License-Identifier: Apache-2.0
// Tools wait when descriptors run out instead of failing, and a failed call releases what it took.

#include <sys/resource.h>

#include <csignal>

#include "support/forked.hpp"
#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

// Leaves exactly `free` descriptors available until it is destroyed.
class FewDescriptors {
public:
    explicit FewDescriptors(int free) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const std::map<int, std::string> open = open_descriptors();
        rlimit limit = before_;
        limit.rlim_cur = static_cast<rlim_t>(open.rbegin()->first + 1 + free);
        ::setrlimit(RLIMIT_NOFILE, &limit);
        // Fills the gaps below the highest open descriptor.
        std::vector<int> found;
        for (int one = 0; (one = ::fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0;) found.push_back(one);
        for (int i = 0; i < free && !found.empty(); ++i) {
            ::close(found.back());
            found.pop_back();
        }
        filling_ = found;
    }
    ~FewDescriptors() {
        for (const int each : filling_) ::close(each);
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
    rlimit before_{};
    std::vector<int> filling_;
};

class DescriptorShortage : public HostileTest {
protected:
    void SetUp() override {
        // Descriptor 0, which is duplicated below, must be open.
        if (::fcntl(0, F_GETFD) < 0) {
            ASSERT_EQ(::open("/dev/null", O_RDONLY), 0);
        }
        HostileTest::SetUp();
    }
};

// No process runs whose end could free descriptors, so waiting would be pointless.
TEST_F(DescriptorShortage, FailsAToolIfNothingCanFreeDescriptors) {
    for (int free = 0; free < 8; ++free) {
        make_host();
        auto few = std::make_unique<FewDescriptors>(free);
        const Json result = host->run_tool(tool_path("patcher"));
        few.reset();
        EXPECT_EQ(result["/errorCode"].string(), "SPAWN_FAILED") << free;
        EXPECT_THAT(result["/error"].string(), testing::HasSubstr("oo many open files")) << free;
        EXPECT_THAT(result["/error"].string(), testing::HasSubstr("ulimit -n")) << free;
        const Json later = host->run_tool(tool_path("patcher"));
        EXPECT_EQ(later["/state"].string(), "completed") << later.text();
    }
}

// The running tool's end frees enough descriptors for the other. The start and the end of the wait
// are reported.
TEST_F(DescriptorShortage, EndsWithTheToolThatHoldsThem) {
    std::vector<std::string> lines;
    EngineOptions options;
    options.log = [&](const LogLine& line) { lines.emplace_back(line.message); };
    make_host(std::move(options));
    const Witnesses witnesses;
    std::unique_ptr<FewDescriptors> few;
    host->begin(plan_json({tool_json("one", tool_path("one_then_silence"), witnesses.input()),
                           tool_json("two", tool_path("patcher"))},
                          true));
    host->on_event = [&](Event event) {
        // The first tool holds two pipes and its supervisor; the second needs 6 descriptors.
        if (event.kind() == Kind::AttemptStarted && !few) {
            few = std::make_unique<FewDescriptors>(4);
        }
    };
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEvent, "one"); }));
    host->until([] { return false; }, -1, milliseconds(60));
    EXPECT_FALSE(host->has(Kind::ToolStarted, "two"));
    EXPECT_EQ(host->told(Kind::Warning).size(), 1u);
    {
        // The test's own connection takes one of the four descriptors and returns it.
        const Witness witness = witnesses.accept(host.get());
        EXPECT_TRUE(witness.does('d', host.get()));
    }
    const Json result = host->finish();
    few.reset();
    EXPECT_TRUE(result["/success"].boolean()) << result.text();
    EXPECT_GE(result["/descriptorWaitTime"].integer(), 60);
    const std::vector<Json> warnings = host->told(Kind::Warning);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_EQ(warnings[0]["/code"].string(), "DESCRIPTORS_SHORT");
    EXPECT_EQ(warnings[1]["/code"].string(), "DESCRIPTORS_WAITED");
    EXPECT_EQ(lines.size(), 2u);
    host.reset();
}

// A cancelled tool frees its slot at once, but its supervisor only when it has ended.
TEST_F(DescriptorShortage, EndsWithACancelledToolInItsGracePeriod) {
    EngineOptions options;
    options.times = times(NAR_NONE, 60000);
    make_host(std::move(options));
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("one", tool_path("ignores_sigterm"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    host->session.cancel();
    ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
    ASSERT_TRUE(host->engine.is_busy());
    // Enough for the tool's pipes, but not for another supervisor.
    auto few = std::make_unique<FewDescriptors>(7);
    host->begin(plan_json({tool_json("two", tool_path("patcher"))}));
    host->until([] { return false; }, -1, milliseconds(60));
    EXPECT_FALSE(host->has(Kind::ToolStarted, "two"));
    EXPECT_FALSE(static_cast<bool>(host->result));
    few.reset();  // descendants() below needs descriptors
    int tool = -1;
    for (const ProcessFacts& each : descendants()) {
        if (each.name == "ignores_sigterm") tool = each.pid;
    }
    ASSERT_TRUE(signal_descendant(tool, SIGKILL));
    few = std::make_unique<FewDescriptors>(7);
    const Json result = host->finish();
    few.reset();
    EXPECT_TRUE(result["/success"].boolean()) << result.text();
    EXPECT_GT(result["/descriptorWaitTime"].integer(), 0);
}

// While a tool waits for descriptors, the host does not spin, and the wait can be cancelled.
TEST_F(DescriptorShortage, CostsNoProcessorTimeAndCanBeCancelled) {
    make_host();
    const Witnesses witnesses;
    std::unique_ptr<FewDescriptors> few;
    host->begin(plan_json({tool_json("one", tool_path("one_then_silence"), witnesses.input()),
                           tool_json("two", tool_path("patcher"))},
                          true));
    host->on_event = [&](Event event) {
        if (event.kind() == Kind::AttemptStarted && !few) few = std::make_unique<FewDescriptors>(1);
    };
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEvent, "one"); }));
    timespec start{}, end{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    host->until([] { return false; }, -1, milliseconds(500));
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const int64_t used_ms =
        (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
    EXPECT_LT(used_ms, 250);
    host->session.cancel();
    ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
    EXPECT_TRUE(host->result.cancelled());
    few.reset();
    host->until([&] { return !host->engine.is_busy(); });
}

TEST_F(DescriptorShortage, RefusesAnEngineWithoutLeaks) {
    const std::map<int, std::string> before = open_descriptors();
    int made = 0;
    for (int free = 0; free < 12; ++free) {
        const FewDescriptors few(free);
        nar_engine* engine = nullptr;
        nar_error error = NAR_ERROR_INIT;
        const nar_status status = nar_engine_create(nullptr, &engine, &error);
        if (status == NAR_OK) {
            ++made;
            EXPECT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
        } else {
            EXPECT_EQ(status, NAR_IO) << free;
            EXPECT_EQ(engine, nullptr);
            EXPECT_THAT(std::string(error.message.data, error.message.size),
                        testing::HasSubstr("oo many open files"));
        }
        nar_error_clear(&error);
    }
    EXPECT_GE(made, 1);
    EXPECT_EQ(open_descriptors(), before);
}

// libuv would abort when it creates a process's first loop without descriptors. Each test runs in
// its own process; this one must not have created an engine before.
TEST(FirstEngine, IsRefusedWithoutDescriptors) {
    Forked child([] {
        std::string told;
        for (const int free : {0, 1, 2, 3, 5, 7}) {
            const FewDescriptors few(free);
            nar_engine* engine = nullptr;
            told +=
                std::string(nar_status_name(nar_engine_create(nullptr, &engine, nullptr))) + " ";
        }
        nar_engine* engine = nullptr;
        told += nar_status_name(nar_engine_create(nullptr, &engine, nullptr));
        nar_engine_destroy(engine, nullptr);
        return told;
    });
    EXPECT_EQ(child.report(), "NAR_IO NAR_IO NAR_IO NAR_IO NAR_IO NAR_IO NAR_OK");
}

}  // namespace
}  // namespace narratoria::hostile
