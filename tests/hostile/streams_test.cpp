// SPDX-License-Identifier: Apache-2.0
// Standard input and standard error: neither may block the host or the tool (spec 000 §2.2, §6).

#include <csignal>

#include "support/host.hpp"
#include "support/memory.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Streams : public HostileTest {};

std::string filling(size_t bytes) { return R"({"filling":")" + std::string(bytes, 'x') + "\"}"; }

TEST_F(Streams, UnreadInputDoesNotBlock) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("never_reads_stdin"), filling(10 << 20),
                                     witnesses.environment())}));
    const Witness witness = witnesses.accept(host.get());
    // All its events (1 MiB) arrived while its input was blocked.
    ASSERT_TRUE(host->until([&] {
        return std::count_if(host->records.begin(), host->records.end(),
                             [](const Record& record) { return record.type == Type::Log; }) == 1024;
    }));
    EXPECT_TRUE(witness.does('.', host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "completed") << result["/error"].text();
    EXPECT_EQ(result["/events"].size(), 1025u);
}

// covers: 000-2.2-stderr
TEST_F(Streams, DiagnosticsBeforeTheFirstEventAreDrained) {
    make_host();
    const MemoryGrowth growth;
    const Json result = host->run_tool(tool_path("floods_stderr"));
    EXPECT_EQ(result["/state"].string(), "completed");
    const std::string kept = result["/stderr"].string();
    EXPECT_EQ(kept.size(), 64u * 1024);
    EXPECT_THAT(kept, testing::EndsWith("diagnostics line 00000000327679\n"
                                        "the last line of standard error\n"));
    growth.expect_at_most_mebibytes(16);
}

TEST_F(Streams, HostGetsNoSigpipe) {
    // The default action would end this process.
    struct sigaction action {};
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &action), 0);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
    make_host();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(host->run_tool(tool_path("closes_stdin"), filling(500000))["/state"].string(),
                  "completed");
    }
}

}  // namespace
}  // namespace narratoria::hostile
