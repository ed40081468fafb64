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
std::string ten_megabytes() { return filling(10 * 1024 * 1024); }

bool is_utf8(const std::string& text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = at + text.size();
    while (at < end) {
        const int more = *at < 0x80             ? 0
                         : (*at & 0xE0) == 0xC0 ? 1
                         : (*at & 0xF0) == 0xE0 ? 2
                         : (*at & 0xF8) == 0xF0 ? 3
                                                : -1;
        if (more < 0 || end - at <= more) return false;
        for (int i = 1; i <= more; ++i) {
            if ((at[i] & 0xC0) != 0x80) return false;
        }
        at += more + 1;
    }
    return true;
}

TEST_F(Streams, UnreadInputDoesNotBlock) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json("tool", tool_path("never_reads_stdin"), ten_megabytes(),
                                     witnesses.environment())}));
    const Witness witness = witnesses.accept(host.get());
    // All its events (1 MiB) arrived while its input was blocked.
    ASSERT_TRUE(host->until([&] {
        return std::count_if(host->records.begin(), host->records.end(),
                             [](const Record& record) { return record.type == Type::Log; }) == 1024;
    }));
    EXPECT_TRUE(witness.does('.', host.get()));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].text(), "completed") << result["/error"].dump();
    EXPECT_EQ(result["/events"].size(), 1025u);
}

TEST_F(Streams, ClosedInputIsNotAFailure) {
    make_host();
    for (const std::string& input : {std::string("{}"), ten_megabytes()}) {
        const Witnesses witnesses;
        host->begin(plan_json(
            {tool_json("tool", tool_path("closes_stdin"), input, witnesses.environment())}));
        const Witness witness = witnesses.accept(host.get());
        EXPECT_TRUE(witness.does('.', host.get()));
        const Json result = host->finish()["/toolResults/0"];
        EXPECT_EQ(result["/state"].text(), "completed") << result["/error"].dump();
    }
}

TEST_F(Streams, LargeInputArrivesComplete) {
    make_host();
    const Json result = host->run_tool(tool_path("reporter"), ten_megabytes());
    // The report repeats the input in one line above the limit, so the input arrived whole up to
    // there.
    EXPECT_EQ(result["/errorCode"].text(), "PROTOCOL_ERROR");
    for (const size_t size : {60000u, 65000u, 66000u, 200000u, 4000000u}) {
        const std::string input = filling(size);
        const Json report = host->run_tool(tool_path("reporter"), input);
        EXPECT_EQ(report["/events/0/fields/invocation/input"].dump(), input) << size;
    }
}

// covers: 000-2.2-stderr
TEST_F(Streams, DiagnosticsBeforeTheFirstEventAreDrained) {
    make_host();
    const MemoryGrowth growth;
    const Json result = host->run_tool(tool_path("floods_stderr"));
    EXPECT_EQ(result["/state"].text(), "completed");
    const std::string kept = result["/stderr"].text();
    EXPECT_EQ(kept.size(), 64u * 1024);
    EXPECT_THAT(kept, testing::EndsWith("diagnostics line 00000000327679\n"
                                        "the last line of standard error\n"));
    growth.expect_at_most_mebibytes(16);
}

TEST_F(Streams, DiagnosticsAreConvertedToUtf8) {
    make_host();
    const Json result = host->run_tool(tool_path("floods_stderr"), R"({"binary":true,"status":5})");
    EXPECT_EQ(result["/errorCode"].text(), "EXIT_STATUS");
    const std::string kept = result["/stderr"].text();
    EXPECT_TRUE(is_utf8(kept));
    // Half of each 256 bytes is ASCII and is kept; the other bytes are replaced.
    EXPECT_EQ(std::count(kept.begin(), kept.end(), 'A'), 256);
    EXPECT_THAT(kept, testing::HasSubstr("\xEF\xBF\xBD"));
    EXPECT_EQ(std::count(kept.begin(), kept.end(), '\0'), 256);
}

TEST_F(Streams, ShortDiagnosticsAreKeptUnchanged) {
    make_host();
    const Json result = host->run_tool(tool_path("floods_stderr"), R"({"size":64})");
    EXPECT_EQ(result["/stderr"].text().substr(0, 32), "diagnostics line 00000000000000\n");
    EXPECT_EQ(host->run_tool(tool_path("patcher"))["/stderr"].exists(), false);
}

TEST_F(Streams, HostGetsNoSigpipe) {
    // The default action would end this process.
    struct sigaction action {};
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &action), 0);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
    make_host();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(host->run_tool(tool_path("closes_stdin"), filling(500000))["/state"].text(),
                  "completed");
    }
}

}  // namespace
}  // namespace narratoria::hostile
