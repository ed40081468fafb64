// SPDX-License-Identifier: Apache-2.0
// Unusual lines from tools: splitting, length, content that is not an event (spec 000 §2, §3, §5).

#include <csignal>

#include "support/host.hpp"
#include "support/memory.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

using namespace std::string_literals;

std::string hex_of(std::string_view bytes) {
    static const char* const kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

class Lines : public HostileTest {
protected:
    // The split writer's events, as the result contains them.
    std::string events_of(const std::string& input) {
        const Json result = host->run_tool(tool_path("split_writer"), input);
        EXPECT_EQ(result["/state"].string(), "completed") << result.text();
        return result["/events"].text();
    }
};

// covers: 000-2.3-newline
TEST_F(Lines, DoNotDependOnHowTheyAreWritten) {
    make_host();
    const std::string whole = events_of(R"({"chunk":0})");
    EXPECT_EQ(Json(whole).size(), 6u);
    const std::string state = host->state().text();
    EXPECT_EQ(state, "{\"split\":{\"text\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5\"}}");
    for (const char* input :
         {R"({"chunk":1})", R"({"chunk":2})", R"({"chunk":3})", R"({"chunk":64})",
          R"({"chunk":0,"newline":false})", R"({"chunk":0,"crlf":true})",
          R"({"chunk":1,"crlf":true,"newline":false})"}) {
        EXPECT_EQ(events_of(input), whole) << input;
        EXPECT_EQ(host->state().text(), state) << input;
    }
}

TEST_F(Lines, AtTheLimitAreAccepted) {
    make_host();
    const Json result = host->run_tool(tool_path("long_line"), R"({"size":8388608})");
    EXPECT_EQ(result["/state"].string(), "completed");
    ASSERT_EQ(result["/events"].size(), 2u);
    EXPECT_EQ(result["/events/0/message"].string().size(), 8388608u - 56u);
}

TEST_F(Lines, OneByteOverTheLimitAreAProtocolError) {
    make_host();
    const Json result = host->run_tool(tool_path("long_line"), R"({"size":8388609})");
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "PROTOCOL_ERROR");
    EXPECT_EQ(result["/error"].string(),
              "an event (line 1) is longer than the limit of 8388608 bytes; write large data to a "
              "file and announce it as an asset");
    EXPECT_EQ(result["/events"].text(), "[]");
}

TEST_F(Lines, HaveAConfigurableLimit) {
    EngineOptions options;
    options.limits.emplace();
    options.limits->line_bytes = 1000;
    make_host(std::move(options));
    EXPECT_EQ(host->run_tool(tool_path("long_line"), R"({"size":1000})")["/state"].string(),
              "completed");
    EXPECT_EQ(host->run_tool(tool_path("long_line"), R"({"size":1001})")["/errorCode"].string(),
              "PROTOCOL_ERROR");
}

TEST_F(Lines, WithoutANewlineAreRefusedInBoundedMemory) {
    make_host();
    const MemoryGrowth growth;
    const Json result =
        host->run_tool(tool_path("long_line"), R"({"size":104857600,"newline":false})");
    EXPECT_EQ(result["/errorCode"].string(), "PROTOCOL_ERROR");
    EXPECT_THAT(result["/error"].string(), testing::HasSubstr("longer than the limit"));
    // The accepted part of the line exists twice while its buffer grows.
    growth.expect_at_most_mebibytes(32);
}

TEST_F(Lines, TenThousandLevelsDeepAreAProtocolError) {
    make_host();
    for (const char* input :
         {R"({"kind":"object"})", R"({"kind":"array"})", R"({"kind":"array","closed":false})",
          R"({"kind":"object","levels":1000000,"closed":false})"}) {
        const Json result = host->run_tool(tool_path("deep_line"), input);
        EXPECT_EQ(result["/errorCode"].string(), "PROTOCOL_ERROR") << input;
        EXPECT_THAT(result["/error"].string(),
                    testing::AllOf(testing::StartsWith("line 1, byte "), testing::HasSubstr("512"),
                                   testing::HasSubstr("[json-depth]")))
            << input;
    }
    const Json at_the_limit =
        host->run_tool(tool_path("deep_line"), R"({"kind":"array","levels":512})");
    EXPECT_EQ(at_the_limit["/state"].string(), "completed") << at_the_limit["/error"].text();
    EXPECT_EQ(host->run_tool(tool_path("deep_line"), R"({"levels":513})")["/errorCode"].string(),
              "PROTOCOL_ERROR");
}

struct BadLine {
    const char* name;
    std::string bytes;
    int byte;  // of the fault, from 1
    std::string pointer;
    std::string rule;
    std::string excerpt;

    friend void PrintTo(const BadLine& line, std::ostream* out) { *out << line.bytes; }
};

class BadLines : public HostileTest, public testing::WithParamInterface<BadLine> {};

// The tool writes two valid lines, the bad one and `done`, then waits: the runtime ends it, and
// nothing after the bad line is accepted.
// covers: 000-2.2-ndjson, 000-2.3-utf8, 000-2.3-whole-object
TEST_P(BadLines, AreAProtocolErrorWithPositionAndReason) {
    make_host();
    const Witnesses witnesses;
    host->begin(plan_json({tool_json(
        "tool", tool_path("bad_line"),
        witnesses.input(R"(,"before":2,"hex":)" + json_text(hex_of(GetParam().bytes))))}));
    const Json result = host->finish()["/toolResults/0"];
    EXPECT_EQ(result["/state"].string(), "failed");
    EXPECT_EQ(result["/errorCode"].string(), "PROTOCOL_ERROR");
    const BadLine& line = GetParam();
    const std::string place = "line 3, byte " + std::to_string(line.byte) + ": " +
                              (line.pointer.empty() ? "" : line.pointer + ": ");
    EXPECT_THAT(result["/error"].string(),
                testing::AllOf(testing::StartsWith(place),
                               testing::EndsWith(" [" + line.rule + "]; near: " + line.excerpt)));
    EXPECT_EQ(result["/events"].size(), 2u);
    EXPECT_EQ(result["/attempts/0/code"].string(), "PROTOCOL_ERROR");
    // SIGPIPE if the tool was still writing when the runtime stopped reading.
    EXPECT_THAT(result["/attempts/0/signal"].integer(), testing::AnyOf(SIGTERM, SIGPIPE));
    EXPECT_EQ(host->state().text(), "{}");
}

// A log event with `bytes` as its message.
std::string message(const std::string& bytes) {
    return R"({"version":"0","type":"log","level":"info","message":")" + bytes + "\"}";
}

// A few of each kind; decoder_test.cpp has all.
const BadLine kBadLines[] = {
    {"HalfAnObject", R"({"version":"0","type":"log")", 28, "", "json-syntax",
     R"({"version":"0","type":"log")"},
    {"TwoObjects", R"({"version":"0","type":"done","ok":true}{})", 40, "", "json-one-value",
     "\xE2\x80\xA6"
     R"(":"0","type":"done","ok":true}{})"},
    {"Array", R"([{"version":"0","type":"done","ok":true}])", 1, "", "event-object",
     R"([{"version":"0","type":"done","ok":true}])"},
    {"InvalidUtf8", message("a\xFFz"), 56, "", "json-utf8",
     "\xE2\x80\xA6"
     R"(g","level":"info","message":"a)"
     "\xEF\xBF\xBD"
     "z\"}"},
    {"NulInAString", message("a\0b"s), 56, "", "json-syntax",
     "\xE2\x80\xA6"
     R"(g","level":"info","message":"a\x00b"})"},
    {"NulBehindTheObject", R"({"version":"0","type":"done","ok":true})" + "\0x"s, 40, "",
     "json-one-value",
     "\xE2\x80\xA6"
     R"(":"0","type":"done","ok":true}\x00x)"},
    {"UnknownType", R"({"version":"0","type":"progress"})", 23, "/type", "event-type",
     R"({"version":"0","type":"progress"})"},
};

INSTANTIATE_TEST_SUITE_P(Each, BadLines, testing::ValuesIn(kBadLines),
                         [](const auto& line) { return line.param.name; });

TEST_F(Lines, ThatAreBlankAreSkippedButNumbered) {
    make_host();
    const Json result = host->run_tool(
        tool_path("bad_line"), R"({"hex":)" + json_text(hex_of("\n \t\r\n\r\n{hello")) + "}");
    EXPECT_THAT(result["/error"].string(), testing::StartsWith("line 4, byte 2: "));
}

}  // namespace
}  // namespace narratoria::hostile
