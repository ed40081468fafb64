// SPDX-License-Identifier: Apache-2.0
#include "process/redactor.hpp"

#include <gtest/gtest.h>

namespace narratoria::process {
namespace {

using Kind = Redactor::Kind;

std::string redacted(const std::vector<std::string>& secrets, std::string_view text, size_t piece,
                     Kind kind = Kind::Text) {
    Redactor redactor(secrets, kind);
    std::string out;
    for (size_t at = 0; at < text.size(); at += piece) out += redactor.pass(text.substr(at, piece));
    return out + redactor.finish();
}

// Expects the same result for every size of reads.
void expect_json(const std::string& secret, const std::string& line, const std::string& wanted) {
    for (size_t piece = 1; piece <= line.size(); ++piece) {
        ASSERT_EQ(redacted({secret}, line, piece, Kind::Json), wanted) << piece;
    }
}

TEST(Redactor, FindsSecretAcrossAnySplit) {
    const std::string text = "key=hunter22 hunter2 hunterhunter2\nhunte";
    for (size_t piece = 1; piece <= text.size(); ++piece) {
        EXPECT_EQ(redacted({"hunter2"}, text, piece), "key=***2 *** hunter***\nhunte");
    }
}

TEST(Redactor, PrefersLongerSecret) {
    for (size_t piece = 1; piece < 12; ++piece) {
        EXPECT_EQ(redacted({"abcd", "abcdefgh"}, "abcdefgh abcdefg abcd", piece), "*** ***efg ***");
    }
}

TEST(Redactor, FindsJsonEscapedSecretInText) {
    const std::vector<std::string> secrets = {"p\"s\\\xC3\xA4\xF0\x9F\x98\x80"};
    EXPECT_EQ(redacted(secrets, "\"p\\\"s\\\\\xC3\xA4\xF0\x9F\x98\x80\"", 3), "\"***\"");
    EXPECT_EQ(redacted(secrets, R"("p\"s\\\u00e4\ud83d\ude00")", 3), "\"***\"");
    EXPECT_EQ(redacted(secrets, secrets.front(), 2), "***");
}

TEST(Redactor, FindsEverySpellingInJsonString) {
    expect_json("tok/en\xC3\x84", R"({"a":"tok\/en\u00C4","b":"\u0074\u006f\u006B/en\u00c4"})",
                R"({"a":"***","b":"***"})");
    expect_json("\xF0\x9F\x98\x80key", R"(["x\uD83D\uDE00key","\ud83d\ude01key","\ud83dkey"])",
                R"(["x***","\ud83d\ude01key","\ud83dkey"])");
    expect_json("a\tb\"c", R"(["a\tb\"c","a\u0009b\u0022c","a\\tb"])", R"(["***","***","a\\tb"])");
    expect_json("tok/en", R"(["tok\/","tok\u00","tok\u","tok\)",
                R"(["tok\/","tok\u00","tok\u","tok\)");
}

TEST(Redactor, IgnoresShortValues) {
    EXPECT_FALSE(Redactor({"abc", ""}, Kind::Text).is_needed());
    EXPECT_EQ(redacted({"true"}, "true", 1), "***");
}

TEST(Redactor, HoldsOnlyPossibleStartOfSecret) {
    Redactor redactor({"secret"}, Kind::Text);
    EXPECT_EQ(redactor.pass("{\"ok\":true}\n"), "{\"ok\":true}\n");
    EXPECT_EQ(redactor.pass("a sec"), "a ");
    EXPECT_EQ(redactor.pass("ond"), "second");
}

TEST(Redactor, RedactsInvalidUtf8) {
    EXPECT_EQ(redacted({"\xFF\xFE\xFD\xFC"}, "a\xFF\xFE\xFD\xFC", 2), "a***");
}

TEST(Redactor, KeepsProtocolLinesValid) {
    expect_json("done", R"({"version":"0","type":"done","ok":true,"result":"all done"})",
                R"({"version":"0","type":"done","ok":true,"result":"all ***"})");
    expect_json("error", R"({ "type" : "log", "level" : "error", "message" : "an error" })",
                R"({ "type" : "log", "level" : "error", "message" : "an ***" })");
    expect_json(
        "2026",
        R"({"timestamp":"2026-11-23T09:00:00.000Z","patch":{"year":2026,"a":-12026.5,"b":202}})",
        R"({"timestamp":"2026-11-23T09:00:00.000Z","patch":{"year":"***","a":"***","b":202}})");
    expect_json("true", R"({"ok":true,"result":[true,"true"]})",
                R"({"ok":true,"result":[true,"***"]})");
    expect_json("type", R"({"type":"type","patch":{"type":1}})",
                R"({"type":"***","patch":{"***":1}})");
    expect_json("patch", "{\"type\":\"state_patch\",\"patch\":{}}\n{\"patch\":\"patch\"}\n",
                "{\"type\":\"state_patch\",\"patch\":{}}\n{\"patch\":\"***\"}\n");
}

TEST(Redactor, RedactsSecretInProtocolField) {
    expect_json("hunter2", R"({"type":"hunter2","hunter2":"x","level":"a hunter2"})",
                R"({"type":"***","***":"x","level":"a ***"})");
    expect_json("0123456789abcdef0123456789", R"({"requestId":"0123456789abcdef0123456789"})",
                R"({"requestId":"***"})");
    expect_json("deadbeefdeadbeef", R"({"requestId":"0deadbeefdeadbeef0123"})",
                R"({"requestId":"0***0123"})");
    expect_json("123456789012", R"({"timestamp":"2026-11-23T09:00:00.123456789012Z"})",
                R"({"timestamp":"2026-11-23T09:00:00.***Z"})");
    expect_json("12345678", R"({"timestamp":"2026-11-23T09:00:00.12345678+01:00"})",
                R"({"timestamp":"2026-11-23T09:00:00.***+01:00"})");
    expect_json("1234567890", R"({"timestamp":"00000000000000001234567890"})",
                R"({"timestamp":"0000000000000000***"})");
}

TEST(Redactor, FindsVerbatimSecretThatBeginsLikeJson) {
    const std::string key = R"({"key":"abc"})";
    expect_json(key, key + "\n", "\"***\"\n");
    expect_json(key, "{\"result\":" + key + ",\"type\":\"done\"}\n",
                "{\"result\":\"***\",\"type\":\"done\"}\n");
    expect_json(key, "the key is \"" + key + "\" or " + key, "the key is \"***\" or ***");
    expect_json("[secret-value]", "[secret-value]\n[[secret-value]]\n", "\"***\"\n[\"***\"]\n");
    expect_json("]secret", "{}]secret\n", "{}\"***\"\n");
    expect_json("}secret", "}secret\n", "\"***\"\n");
    expect_json(",comma", "1,comma\n", "1\"***\"\n");
    expect_json(":colon", "{\"a\":colon}\n", "{\"a\"\"***\"}\n");
    expect_json(" space", "{} space\n", "{}\"***\"\n");
    expect_json("\"quoted secret\"", "\"quoted secret\"\n{\"a\":\"quoted secret\"}\n",
                "\"***\"\n{\"a\":\"***\"}\n");
    expect_json("\"done\" it is", "{\"type\":\"done\" it is}", "{\"type\":\"***\"}");
    expect_json("true story", "true story\n", "***\n");
    expect_json("26, 27", "2026, 27\n", "20***\n");
}

TEST(Redactor, PunctuationSecretKeepsLineStructure) {
    expect_json("\"}}\n", "{\"patch\":{\"a\":\"b\"}}\n", "{\"patch\":{\"a\":\"b\"}}\n");
    expect_json("    ", "{    \"type\":\"done\",\"result\":\"a    b\"}\n",
                "{    \"type\":\"done\",\"result\":\"a***b\"}\n");
    expect_json("\"done\"", "{\"type\":\"done\"}\n", "{\"type\":\"done\"}\n");
}

TEST(Redactor, RecoversAfterUnbalancedLine) {
    for (const char* line : {"[[{\n", "{\"a\":\n", "{\"a\":{\"b\n", "progress: [\"\n"}) {
        expect_json("done", std::string(line) + "{\"type\":\"done\",\"result\":\"done\"}\n",
                    std::string(line) + "{\"type\":\"done\",\"result\":\"***\"}\n");
    }
}

TEST(Redactor, NeverSplitsEscapes) {
    expect_json("nabc", R"({"a":"\nabc nabc \\nabc"})", R"({"a":"\nabc *** \\***"})");
    expect_json("00e4", R"({"a":"\u00e4 00e4"})", R"({"a":"\u00e4 ***"})");
    expect_json("x\",\"y", R"(["x","y","x\",\"y"])", R"(["x","y","***"])");
}

TEST(Redactor, FindsSecretInInvalidJson) {
    expect_json("hunter2", "the key is hunter2\n{\"a\":\"hunter2\"}\n",
                "the key is ***\n{\"a\":\"***\"}\n");
    expect_json("p\"wxy", "key=p\"wxy\n", "key=***\n");
    expect_json("12 monkeys", "12 monkeys", "***");
    expect_json("hunter2", "{\"a\":\"cut\n{\"type\":\"hunter2\"}\n",
                "{\"a\":\"cut\n{\"type\":\"***\"}\n");
}

}  // namespace
}  // namespace narratoria::process
