// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/call.hpp"

#include <gtest/gtest.h>

namespace narratoria::tool {
namespace {

Reply read(std::string_view text) {
    Reply reply;
    std::string why;
    EXPECT_TRUE(read_reply(text, reply, why)) << why;
    return reply;
}
std::string refusal(std::string_view text) {
    Reply reply;
    std::string why;
    EXPECT_FALSE(read_reply(text, reply, why)) << text;
    return why;
}

TEST(Replies, OfSpecificationAreParsed) {
    const Reply success = read(
        R"({"ok": true, "protocol_version": 1, "result": { "message": "Hello Ada", "ok": true }})");
    EXPECT_TRUE(success.ok);
    EXPECT_EQ(success.result, R"({ "message": "Hello Ada", "ok": true })");
    const Reply failure =
        read(R"({"ok": false, "protocol_version": 1, "error": { "type": "ValueError",)"
             R"( "message": "Missing input", "reason_code": "guarantee_blocked" }})");
    EXPECT_FALSE(failure.ok);
    EXPECT_EQ(failure.error_type, "ValueError");
    EXPECT_EQ(failure.error_message, "Missing input");
    EXPECT_EQ(failure.reason_code, "guarantee_blocked");
}

TEST(Replies, OfOlderRunnersAreParsed) {
    EXPECT_EQ(read(R"({"ok":true,"output":[1.50]})").result, "[1.50]");
    EXPECT_EQ(read(R"({"ok":true})").result, "null");
    const Reply failure = read(R"({"ok":false,"error_type":"E","error_message":"m"})");
    EXPECT_EQ(failure.error_type, "E");
    EXPECT_EQ(failure.error_message, "m");
    EXPECT_EQ(read(R"({"ok":false,"error":"m"})").error_message, "m");
}

TEST(Replies, KeepWellFormedChecksOnly) {
    const Reply reply = read(
        R"({"ok":true,"capability_checks":[{"capability":"no_network","allowed":false},1,null,)"
        R"({"capability":1,"allowed":true,"guarantee_source":"s","reason":"r"},)"
        R"({"capability":"x","guarantee_source":"s","reason":"r"},)"
        R"({"capability":"no_env_read","allowed":true,"guarantee_source":"s","reason":"r",)"
        R"("duration_ms":7}]})");
    ASSERT_EQ(reply.checks.size(), 1u);
    EXPECT_EQ(reply.checks[0].capability, "no_env_read");
    EXPECT_TRUE(reply.checks[0].allowed);
    EXPECT_EQ(reply.checks[0].duration_ms, "7");
    EXPECT_TRUE(read(R"({"ok":true,"capability_checks":{}})").checks.empty());
}

TEST(Replies, InvalidOnesAreRefusedWithReason) {
    EXPECT_EQ(refusal("[]"), "its reply must be an object, not array");
    EXPECT_EQ(refusal("{}"), "its reply has no \"ok\"");
    EXPECT_EQ(refusal(R"({"ok":1})"), "\"ok\" in its reply must be true or false");
    EXPECT_TRUE(refusal("<html>no</html>").ends_with(": <html>no</html>")) << "it shows the text";
    EXPECT_NE(refusal("").find("its reply is not valid JSON: "), std::string::npos);
    for (const char* version : {"2", "0", "1.5", "\"1\"", "null"}) {
        EXPECT_EQ(refusal(R"({"ok":true,"protocol_version":)" + std::string(version) + "}"),
                  "its reply has protocol version " + std::string(version) +
                      "; only version 1 is supported");
    }
}

}  // namespace
}  // namespace narratoria::tool
