// SPDX-License-Identifier: Apache-2.0
// Tools that consume without bound: memory, processor time, files, descriptors, events. The
// configured limits hold, and the host is not affected.

#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>

#include "support/host.hpp"
#include "support/memory.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class ToolLimits : public HostileTest {
protected:
    template <class Set>
    Host& make_host_with(Set&& set) {
        EngineOptions options;
        options.limits.emplace();
        set(*options.limits);
        return make_host(std::move(options));
    }
};

TEST_F(ToolLimits, EndAToolAboveItsMemory) {
    make_host_with([](Limits& limits) { limits.memory_bytes = 64u << 20; });
    const Json result = host->run_tool(tool_path("allocates"));
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "OUT_OF_MEMORY");
    EXPECT_EQ(result["/error"].string(), "memory was refused");
    EXPECT_EQ(result["/events/1/fields/error"].string(), "ENOMEM");
    EXPECT_LT(result["/events/1/fields/allocated"].integer(), 64 << 20);
    EXPECT_LT(result["/attempts/0/resources/maximumResidentKiB"].integer(), 64 << 10);
}

TEST_F(ToolLimits, EndAToolAboveItsProcessorTime) {
    make_host_with([](Limits& limits) { limits.cpu_seconds = 1; });
    const Json result = host->run_tool(tool_path("computes"));
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "CPU_LIMIT");
    EXPECT_EQ(result["/error"].string(),
              "the tool used up its processor time (cpu_seconds) and was terminated");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGXCPU);
}

// A tool that ignores SIGXCPU is killed a second later, which is reported as the limit as well.
TEST_F(ToolLimits, KillAToolThatIgnoresSigxcpu) {
    make_host_with([](Limits& limits) { limits.cpu_seconds = 1; });
    const Json result = host->run_tool(tool_path("computes"), R"({"stubborn":true})");
    EXPECT_EQ(result["/errorCode"].string(), "CPU_LIMIT");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGKILL);
}

// Without a limit, the attempt's timeout ends the tool.
TEST_F(ToolLimits, AreNotNeededToEndAnEndlessTool) {
    EngineOptions options;
    options.times = times(300, 200);
    make_host(std::move(options));
    const Json result = host->run_tool(tool_path("computes"), R"({"stubborn":true})");
    EXPECT_EQ(result["/errorCode"].string(), "TIMEOUT");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGKILL);
}

TEST_F(ToolLimits, BoundTheSizeOfAFile) {
    make_host_with([](Limits& limits) { limits.file_bytes = 1000000; });
    const Json result = host->run_tool(tool_path("writes_file"));
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "FILE_SIZE_LIMIT");
    EXPECT_EQ(result["/error"].string(),
              "the tool wrote a file larger than its limit (file_bytes) and was terminated");
    EXPECT_EQ(result["/attempts/0/signal"].integer(), SIGXFSZ);

    const Json stubborn = host->run_tool(tool_path("writes_file"), R"({"stubborn":true})");
    EXPECT_EQ(stubborn["/errorCode"].string(), "FILE_TOO_LARGE");
    EXPECT_EQ(stubborn["/events/1/fields"].text(), R"({"written":1000000,"error":"EFBIG"})");
}

TEST_F(ToolLimits, BoundTheOpenFiles) {
    make_host_with([](Limits& limits) { limits.open_files = 64; });
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("opens_files"), witnesses.input())}));
    const Witness witness = witnesses.accept(host.get());
    // The host can still open files while the tool holds all its descriptors.
    const int mine = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_GE(mine, 0);
    ::close(mine);
    EXPECT_TRUE(witness.does('.', host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/error"].string(), "Too many open files");
    // 64 minus the three standard streams and the witness.
    EXPECT_EQ(result["/events/0/fields"].text(), R"({"opened":60,"error":"EMFILE"})");
}

TEST_F(ToolLimits, DoNotApplyToTheHost) {
    make_host_with([](Limits& limits) {
        limits.memory_bytes = 1u << 30;
        limits.cpu_seconds = 7;
        limits.file_bytes = 12345;
        limits.open_files = 99;
    });
    const Json limits = host->run_tool(tool_path("reporter"))["/events/0/fields/limits"];
    EXPECT_EQ(limits["/memory"].integer(), 1 << 30);
    EXPECT_EQ(limits["/cpu"].integer(), 7);
    EXPECT_EQ(limits["/file"].integer(), 12345);
    EXPECT_EQ(limits["/files"].integer(), 99);
    rlimit own{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
    EXPECT_NE(own.rlim_cur, 99u);
    ASSERT_EQ(::getrlimit(RLIMIT_CPU, &own), 0);
    EXPECT_NE(own.rlim_cur, 7u);
}

// A limit above the host's hard limit is lowered to it.
TEST_F(ToolLimits, AreAtMostTheHostsHardLimits) {
    rlimit own{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
    make_host_with(
        [&](Limits& limits) { limits.open_files = static_cast<uint32_t>(own.rlim_max) + 1000; });
    const Json result = host->run_tool(tool_path("reporter"));
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_GE(result["/events/0/fields/limits/files"].integer(),
              static_cast<int64_t>(own.rlim_max));
}

// Back-pressure on the pipe keeps the host's memory small; every event is in the result, and
// another tool is served meanwhile.
TEST_F(ToolLimits, AreNotNeededForAMillionEvents) {
    EngineOptions options;
    options.times = times(NAR_NONE, 2000);
    make_host(std::move(options), false);
    const Witnesses witnesses;
    const MemoryGrowth growth;
#ifdef NARRATORIA_SANITIZED
    const uint64_t count = 200000;
    const int least_served = 0;
#else
    const uint64_t count = 1000000;
    const int least_served = 5;
#endif
    host->begin(plan_json({tool_json("flood", tool_path("million_logs"),
                                     R"({"count":)" + std::to_string(count) + "}"),
                           tool_json("other", tool_path("patcher"), witnesses.input())},
                          true));
    const Witness witness = witnesses.accept(host.get());
    // Round trips of the other tool, through its pipe and the host, during the flood.
    int served = 0;
    while (!host->has(Kind::ToolEnded, "flood") && !HasFailure()) {
        const Json before = host->state();
        bool heard = false;
        host->on_event = [&](Event event) {
            heard |= event.tool_id() == "other" && event.kind() == Kind::ToolEvent;
        };
        ASSERT_TRUE(witness.does('p', host.get()));
        ASSERT_TRUE(host->until([&] { return heard; }));
        ++served;
    }
    host->on_event = nullptr;
    EXPECT_GT(served, least_served);
    ASSERT_TRUE(witness.tell('d'));
    ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
    EXPECT_TRUE(host->result.success());
    uint64_t commas = 0;
    size_t bytes = 0;
    uint64_t dones = 0;
    std::string last;
    host->result.write([&](std::string_view piece) {
        bytes += piece.size();
        for (size_t at = 0; (at = piece.find("\"tick\"", at)) != std::string_view::npos; ++at) {
            ++commas;
        }
        for (size_t at = 0; (at = piece.find("\"type\":\"done\"", at)) != std::string_view::npos;
             ++at) {
            ++dones;
        }
    });
    growth.expect_at_most_mebibytes(32);
    EXPECT_GT(bytes, count * 80);
    // Matches that span two pieces are not counted.
    EXPECT_GE(commas + 2000, count);
    EXPECT_LE(commas, count);
}

}  // namespace
}  // namespace narratoria::hostile
