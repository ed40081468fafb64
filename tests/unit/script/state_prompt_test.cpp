// SPDX-License-Identifier: Apache-2.0
#include "script/state_prompt.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::script {
namespace {

std::string prompt(const std::string& state, const state::Metadata& metadata = {}) {
    json::Document document;
    json::ParseError error;
    EXPECT_TRUE(document.parse(state, error)) << error.message;
    return format_state_for_prompt(document.root(), metadata);
}

// covers: 002-language-state-for-prompt
TEST(StateForPrompt, HasALineForEachKeyInOrder) {
    EXPECT_EQ(prompt("{}"), "No state information available.");
    EXPECT_EQ(prompt(R"({"b":1.0,"a":"x\"y","z":null,"t":true})"),
              "b: 1\na: \"x\\\"y\"\nz: null\nt: true");
}

// covers: 002-language-state-for-prompt
TEST(StateForPrompt, DescribesAndFormats) {
    state::Metadata metadata;
    metadata.set("gold", {"coins of the player", {}});
    metadata.set("hp", {"health", [](std::string_view value) -> std::optional<std::string> {
                            return std::string(value) + " of 10";
                        }});
    metadata.set("plain", {"", {}});
    // If a formatter fails, the default form is used.
    metadata.set("list", {"", [](std::string_view) { return std::nullopt; }});
    EXPECT_EQ(prompt(R"({"gold":5,"hp":7,"plain":1,"other":2,"list":[]})", metadata),
              "gold: 5 (coins of the player)\nhp: 7 of 10 (health)\nplain: 1\nother: 2\nlist: []");
}

// covers: 002-language-state-for-prompt
TEST(StateForPrompt, ShowsTimes) {
    EXPECT_EQ(prompt(R"({"startTime":1732354323045,"UPDATED":1732354323045.9})"),
              "startTime: 1732354323045 (2024-11-23T09:32:03.045Z)\n"
              "UPDATED: 1732354323045.9 (2024-11-23T09:32:03.045Z)");
    EXPECT_EQ(prompt(R"({"time":1000000000,"date":99999999999999,"times":1000000001})"),
              "time: 1000000000\ndate: 99999999999999\n"
              "times: 1000000001 (1970-01-12T13:46:40.001Z)");
    EXPECT_EQ(prompt(R"({"age":1732354323045,"time":"1732354323045"})"),
              "age: 1732354323045\ntime: \"1732354323045\"");
}

TEST(StateForPrompt, KeepsAKeyAndADescriptionOnOneLine) {
    state::Metadata metadata;
    metadata.set("a\nGAME MASTER", {"first\r\nhp: 9\x7F", {}});
    EXPECT_EQ(prompt("{\"a\\nGAME MASTER\":1,\"\\t\\u0001ü\\\\\":2}", metadata),
              "a\\nGAME MASTER: 1 (first\\r\\nhp: 9\\u007f)\n\\t\\u0001ü\\: 2");
}

// covers: 002-language-state-for-prompt
TEST(StateForPrompt, IndentsShortAndCutsLongCollections) {
    EXPECT_EQ(prompt(R"({"l":[1,{"a":[],"b":{}}],"e":[],"o":{}})"),
              "l: [\n  1,\n  {\n    \"a\": [],\n    \"b\": {}\n  }\n]\ne: []\no: {}");
    // 200 characters fit, 201 do not.
    const std::string fits = "[\"" + std::string(196, 'x') + "\"]";
    EXPECT_EQ(prompt("{\"l\":" + fits + "}"), "l: [\n  \"" + std::string(196, 'x') + "\"\n]");
    EXPECT_EQ(prompt("{\"l\":[\"" + std::string(197, 'x') + "\"]}"),
              "l: [\"" + std::string(195, 'x') + "...");
    EXPECT_EQ(prompt("{\"s\":\"" + std::string(300, 'x') + "\"}"),
              "s: \"" + std::string(300, 'x') + "\"");
}

// covers: 002-language-state-for-prompt
TEST(StateForPrompt, CountsUtf16UnitsLikeEcmaScript) {
    std::string faces, letters;
    for (int i = 0; i < 98; ++i) faces += "🙂", letters += "ü";
    // The brackets and quotes count 4 UTF-16 units, each face counts 2.
    EXPECT_EQ(prompt("{\"l\":[\"" + faces + "\"]}"), "l: [\n  \"" + faces + "\"\n]");
    EXPECT_EQ(prompt("{\"l\":[\"" + letters + letters + "\"]}"),
              "l: [\n  \"" + letters + letters + "\"\n]");
    std::string kept;
    for (int i = 0; i < 97; ++i) kept += "🙂";
    EXPECT_EQ(prompt("{\"l\":[\"" + faces + "x\"]}"), "l: [\"" + kept + "...");
}

}  // namespace
}  // namespace narratoria::script
