// SPDX-License-Identifier: Apache-2.0
#include "session/story_toml.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/choices.hpp"
#include "session/text_template.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;
using session::Choices;
using session::Story;

const std::string kTitle = "title = \"T\"\n";

// "line:column pointer rule" for each fault.
std::vector<std::string> places(const Faults& faults) {
    std::vector<std::string> all;
    for (const Fault& fault : faults) {
        EXPECT_FALSE(fault.message.empty());
        all.push_back(std::to_string(fault.line) + ":" + std::to_string(fault.column) + " " +
                      fault.pointer + " " + fault.rule);
    }
    return all;
}

std::optional<Story> load(std::string_view toml, Faults& faults) {
    Story story;
    story.folder = "/story";
    session::read_story_toml(toml, story, faults);
    for (const Fault& fault : faults) EXPECT_EQ(fault.file, "story.toml");
    return faults.empty() ? std::optional<Story>(story) : std::nullopt;
}

std::vector<std::string> faults_of(std::string_view toml) {
    Faults faults;
    load(toml, faults);
    return places(faults);
}

std::string message_of(std::string_view toml) {
    Faults faults;
    load(toml, faults);
    return faults.size() == 1 ? faults[0].message : std::to_string(faults.size()) + " faults";
}

using List = std::vector<std::string>;

TEST(StoryToml, HasGuaranteesForAllToolsAndForOne) {
    Faults faults;
    const std::optional<Story> story = load(R"(title = "T"
[sandbox]
no_network = true
no_env_read = false
[tools]
allow_paths = ["tools"]
[tools."weather"]
no_filesystem_write = true
secrets_allowed = ["KEY"]
)",
                                            faults);
    ASSERT_TRUE(story) << places(faults).front();
    const Guarantees dice = story->sandbox.guarantees_of("dice", "tools/dice", "");
    EXPECT_TRUE(dice.requires_one(Guarantee::NoNetwork));
    EXPECT_FALSE(dice.requires_one(Guarantee::NoEnvRead));
    EXPECT_FALSE(dice.requires_one(Guarantee::NoFilesystemWrite));
    EXPECT_FALSE(dice.secrets());
    for (const char* path : {"weather", "other"}) {
        const Guarantees both = story->sandbox.guarantees_of(
            path == std::string("weather") ? "x" : "weather", path, "");
        EXPECT_TRUE(both.requires_one(Guarantee::NoNetwork));
        EXPECT_TRUE(both.requires_one(Guarantee::NoFilesystemWrite));
        EXPECT_EQ(both.secrets(), List{"KEY"});
    }
    EXPECT_EQ(story->allow_paths.size(), 1U);
}

TEST(StoryToml, RefusesInvalidGuarantees) {
    EXPECT_EQ(message_of("title = 'T'\n[sandbox]\nno_netwrk = true\n"),
              R"("no_netwrk" is not a key of [sandbox]; did you mean "no_network"?)");
    EXPECT_EQ(message_of("title = 'T'\n[tools.weather]\nno_network = 'yes'\n"),
              "tools/weather/no_network must be true or false, not a string");
    EXPECT_EQ(message_of("title = 'T'\n[sandbox]\nsecrets_allowed = ['A=B']\n"),
              R"(the name of an environment variable must not contain "=")");
    EXPECT_EQ(message_of("title = 'T'\n[tools]\nallow_path = []\n"),
              R"("allow_path" is not a key of [tools]; did you mean "allow_paths"?)");
}

TEST(StoryToml, KeepsEveryField) {
    Faults faults;
    const std::optional<Story> story = load(R"(# a comment
title = "The Torch and the Door"
language = "en-GB"
[opening]
text = "It is dark."
choices = ["I light the torch", "I say \"light\""]
[narrator]
name = "template"
[times]
try_ms = 1
plan_ms = 2
narrator_ms = 3
prompt_ms = 4
grace_ms = 0
[limits]
memory_bytes = 5
cpu_seconds = 6
file_bytes = 7
open_files = 8
processes = 11
resident_bytes = 1048588
line_bytes = 9
history_patches = 10
[tools]
allow_paths = ["tools", "/opt/tools"]
environment = { GREETING = "hello", EMPTY = "" }
[fallback]
templates = ["{prompt} leads nowhere.", "Nothing."]
[plugins.console]
colour = true
[plugins."org.example.llm"]
model = "m"
retries = 3
temperature = 0.5
day = 2026-01-24
stop = ["a", [1]]
[plugins."org.example.llm".deep]
er = {}
)",
                                            faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->title, "The Torch and the Door");
    EXPECT_EQ(story->opening,
              R"({"text":"It is dark.","choices":["I light the torch","I say \"light\""]})");
    EXPECT_EQ(story->language, "en-GB");
    EXPECT_EQ(story->narrator, "template");
    EXPECT_TRUE(story->names_narrator);
    EXPECT_EQ(story->times.try_ms, 1u);
    EXPECT_EQ(story->times.plan_ms, 2u);
    EXPECT_EQ(story->times.narrator_ms, 3u);
    EXPECT_EQ(story->times.prompt_ms, 4u);
    EXPECT_EQ(story->times.grace_ms, 0u) << "zero differs from unset";
    EXPECT_EQ(story->limits.memory_bytes, 5u);
    EXPECT_EQ(story->limits.cpu_seconds, 6u);
    EXPECT_EQ(story->limits.file_bytes, 7u);
    EXPECT_EQ(story->limits.open_files, 8u);
    EXPECT_EQ(story->limits.processes, 11u);
    EXPECT_EQ(story->limits.resident_bytes, 1048588u);
    EXPECT_EQ(story->limits.line_bytes, 9u);
    EXPECT_EQ(story->limits.history_patches, 10u);
    EXPECT_EQ(story->allow_paths, (List{"/story/tools", "/opt/tools"}));
    EXPECT_EQ(story->environment, (std::vector<std::pair<std::string, std::string>>{
                                      {"EMPTY", ""}, {"GREETING", "hello"}}));
    EXPECT_EQ(story->fallback_templates, (List{"{prompt} leads nowhere.", "Nothing."}));
    EXPECT_EQ(story->plugins.at("console"), R"({"colour":true})");
    EXPECT_EQ(story->plugins.at("org.example.llm"),
              R"({"day":"2026-01-24","deep":{"er":{}},"model":"m","retries":3,)"
              R"("stop":["a",[1]],"temperature":0.5})");
}

TEST(StoryToml, NeedsOnlyATitle) {
    Faults faults;
    const std::optional<Story> story = load(kTitle, faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->narrator, "template");
    EXPECT_FALSE(story->times.try_ms);
    EXPECT_FALSE(story->limits.line_bytes);
    EXPECT_TRUE(story->allow_paths.empty());
    EXPECT_FALSE(story->names_narrator);
    EXPECT_EQ(story->opening, "");
}

TEST(StoryToml, LanguageIsALanguageTag) {
    Faults faults;
    EXPECT_EQ(load(kTitle + "language = \"pt-BR\"\n", faults)->language, "pt-BR");
    EXPECT_EQ(load(kTitle, faults)->language, "");
    EXPECT_EQ(faults_of(kTitle + "language = \"de_DE\"\n"), List{"2:12 /language story-language"});
    EXPECT_EQ(message_of(kTitle + "language = \"de_DE\"\n"),
              R"("de_DE" is not a BCP 47 language tag; write for example "de" or "pt-BR")");
    EXPECT_EQ(faults_of(kTitle + "language = \"\"\n"), List{"2:12 /language story-empty"});
    EXPECT_EQ(faults_of(kTitle + "language = 5\n"), List{"2:12 /language story-type"});
}

TEST(StoryToml, OpensWithTextOrChoices) {
    Faults faults;
    EXPECT_EQ(load(kTitle + "[opening]\ntext = \"Dark.\"\n", faults)->opening,
              R"({"text":"Dark.","choices":[]})");
    EXPECT_EQ(load(kTitle + "[opening]\nchoices = [\"I wait\"]\n", faults)->opening,
              R"({"text":"","choices":["I wait"]})");
    EXPECT_EQ(faults_of(kTitle + "[opening]\ntext = \"\"\nchoices = [\"\", 5]\nwords = 1\n"),
              (List{"3:8 /opening/text story-empty", "4:12 /opening/choices/0 story-empty",
                    "4:16 /opening/choices/1 story-type", "5:1 /opening/words story-key"}));
    EXPECT_EQ(faults_of(kTitle + "[opening]\nchoices = \"I wait\"\n"),
              List{"3:11 /opening/choices story-type"});
}

// The same choices as those that a tool may not offer.
TEST(StoryToml, OpeningChoicesMustBeVisibleAndShort) {
    EXPECT_EQ(faults_of(kTitle + "[opening]\nchoices = [\"\u200b\", \"I wait\"]\n"),
              List{"3:12 /opening/choices/0 story-empty"});
    const std::string longest(Choices::kMaxBytes, 'x');
    EXPECT_EQ(
        faults_of(kTitle + "[opening]\nchoices = [\"" + longest + "\", \"y" + longest + "\"]\n"),
        List{"3:65552 /opening/choices/1 story-range"});
}

TEST(StoryToml, EmptyAllowListForbidsAllTools) {
    Faults faults;
    const std::optional<Story> story = load(kTitle + "[tools]\nallow_paths = []\n", faults);
    ASSERT_TRUE(story);
    ASSERT_EQ(story->allow_paths.size(), 1u) << "an empty list restricts, a missing one does not";
    EXPECT_FALSE(std::filesystem::is_directory(story->allow_paths[0]));
}

TEST(StoryToml, NumberOverflowNamesTheLargestValue) {
    Faults faults;
    const std::optional<Story> story =
        load(kTitle +
                 "[times]\ntry_ms = 4294967294\n[limits]\nhistory_patches = 4294967295\n"
                 "memory_bytes = 9223372036854775807\n",
             faults);
    ASSERT_TRUE(story);
    EXPECT_EQ(story->times.try_ms, UINT32_MAX - 1);
    EXPECT_EQ(story->limits.history_patches, UINT32_MAX);
    EXPECT_EQ(story->limits.memory_bytes, uint64_t{INT64_MAX});
    EXPECT_EQ(message_of(kTitle + "[times]\ntry_ms = 4294967297\n"),
              "times/try_ms must be at most 4294967294, not 4294967297");
    EXPECT_EQ(message_of(kTitle + "[limits]\nopen_files = 4294967296\n"),
              "limits/open_files must be at most 4294967295, not 4294967296");
}

TEST(StoryToml, EveryFaultHasLineColumnAndKey) {
    EXPECT_EQ(
        faults_of("# no title\nauthor = \"me\"\n\n[times]\ntry = 1\n  plan_ms = \"1s\"\n"
                  "prompt_ms = -1\n[tools]\nallow_paths = [\"\", 1]\n"),
        (List{"1:1 /title story-missing", "2:1 /author story-key", "5:1 /times/try story-key",
              "6:13 /times/plan_ms story-type", "7:13 /times/prompt_ms story-range",
              "9:16 /tools/allow_paths/0 story-empty", "9:20 /tools/allow_paths/1 story-type"}));
}

TEST(StoryToml, RefusesALimitThatASessionWouldRefuse) {
    EXPECT_EQ(faults_of(kTitle + "[limits]\nresident_bytes = 1048575\n"),
              (List{"3:18 /limits/resident_bytes story-range"}));
    EXPECT_EQ(faults_of(kTitle + "[limits]\nresident_bytes = 1048576\nprocesses = 1\n"), List());
    EXPECT_EQ(faults_of(kTitle + "[limits]\nresident_bytes = 0\n"), List());
}

TEST(StoryToml, CountsColumnsInCharactersAndBytesInBytes) {
    Faults faults;
    load(kTitle + "[tools]\nenvironment = { \"é€\" = \"🔥\", N = 1 }\n", faults);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].pointer, "/tools/environment/N");
    EXPECT_EQ(faults[0].line, 3u);
    EXPECT_EQ(faults[0].column, 33u);
    EXPECT_EQ(faults[0].byte, kTitle.size() + 8 + 38);
}

TEST(StoryToml, MessagesSayWhatIsAllowed) {
    EXPECT_EQ(message_of(kTitle + "[times]\ntry = 1\n"),
              "\"try\" is not a key of [times]; there are try_ms, plan_ms, narrator_ms, "
              "narrator_first_ms, narrator_between_ms, prompt_ms, "
              "grace_ms");
    EXPECT_EQ(message_of(kTitle + "time = 1\n"),
              "\"time\" is not a key of story.toml; did you mean \"times\"?");
    EXPECT_EQ(
        message_of(kTitle + "author = 1\n"),
        "\"author\" is not a key of story.toml; there are title, language, opening, narrator, "
        "times, limits, tools, sandbox, fallback, plugins, state");
    EXPECT_EQ(
        message_of(kTitle + "[times]\ntry_ms = 0.5\n"),
        "times/try_ms must be whole milliseconds (0: no timeout), not a floating-point number");
    EXPECT_EQ(message_of(kTitle + "[limits]\nopen_files = -1\n"),
              "limits/open_files must be a whole number (0: the engine's limit), not -1");
    EXPECT_EQ(message_of("title = \"\"\n"), "title must not be empty");
    EXPECT_EQ(message_of(kTitle + "narrator = \"x\"\n"), "narrator must be a table, not a string");
}

// Each case breaks one rule at one place.
TEST(StoryToml, RefusesWhatItsSchemaRefuses) {
    struct Case {
        std::string toml;
        std::string fault;
    };
    const Case cases[] = {
        {"title = 1\n", "1:9 /title story-type"},
        {kTitle + "[narrator]\nname = \"\"\n", "3:8 /narrator/name story-empty"},
        {kTitle + "[narrator]\nname = true\n", "3:8 /narrator/name story-type"},
        {kTitle + "[narrator]\nmodel = \"m\"\n", "3:1 /narrator/model story-key"},
        {kTitle + "times = 1\n", "2:9 /times story-type"},
        {kTitle + "limits = []\n", "2:10 /limits story-type"},
        {kTitle + "tools = 1\n", "2:9 /tools story-type"},
        {kTitle + "fallback = 1\n", "2:12 /fallback story-type"},
        {kTitle + "plugins = 1\n", "2:11 /plugins story-type"},
        {kTitle + "[plugins]\nconsole = true\n", "3:11 /plugins/console story-type"},
        {kTitle + "[tools]\nallow = 1\n", "3:1 /tools/allow story-key"},
        {kTitle + "[tools]\nallow_paths = \"tools\"\n", "3:15 /tools/allow_paths story-type"},
        {kTitle + "[tools]\nallow_paths = [\"a\\u0000b\"]\n",
         "3:16 /tools/allow_paths/0 story-nul"},
        {kTitle + "[tools]\nenvironment = [\"A=b\"]\n", "3:15 /tools/environment story-type"},
        {kTitle + "[tools.environment]\n\"\" = \"x\"\n",
         "3:1 /tools/environment/ story-environment"},
        {kTitle + "[tools.environment]\n\"A=B\" = \"x\"\n",
         "3:1 /tools/environment/A=B story-environment"},
        {kTitle + "[tools.environment]\nA = \"x\\u0000\"\n", "3:5 /tools/environment/A story-nul"},
        {kTitle + "[fallback]\ntemplate = 1\n", "3:1 /fallback/template story-key"},
        {kTitle + "[fallback]\ntemplates = \"x\"\n", "3:13 /fallback/templates story-type"},
        {kTitle + "[fallback]\ntemplates = [1]\n", "3:14 /fallback/templates/0 story-type"},
        {kTitle + "[fallback]\ntemplates = [\"\"]\n", "3:14 /fallback/templates/0 story-empty"},
        {kTitle + "[fallback]\ntemplates = [\"{/a/{thing}}\"]\n",
         "3:14 /fallback/templates/0 story-template"},
        {kTitle + "[fallback]\ntemplates = [\"{thing}\"]\n",
         "3:14 /fallback/templates/0 story-template"},
        {kTitle + "[fallback]\ntemplates = [\"a { b\"]\n",
         "3:14 /fallback/templates/0 story-template"},
        {kTitle + "[plugins.a]\nx = inf\n", "3:5 /plugins/a/x story-range"},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(faults_of(each.toml), List{"" + each.fault}) << each.toml;
    }
}

TEST(StoryToml, InvalidTomlIsReportedWithItsPosition) {
    EXPECT_EQ(faults_of(kTitle + "x = \n"), List{"2:5  story-toml"});
    EXPECT_EQ(faults_of("title = \"T\"\ntitle = \"U\"\n").size(), 1u)
        << "a duplicate key is one fault";
    for (const std::string& text :
         {"{\"title\":\"T\"}"s, "title"s, "title = \"\xFF\""s, "title = \"a\0b\""s, "[times"s,
          "\xFF\xFEt\0"s, "a = [[[[[["s}) {
        const List faults = faults_of(text);
        ASSERT_EQ(faults.size(), 1u) << testing::PrintToString(text);
        EXPECT_NE(faults[0].find("story-toml"), std::string::npos) << faults[0];
    }
}

TEST(StoryToml, SyntaxErrorsHaveNoWordsOfTheParser) {
    EXPECT_EQ(message_of("title = \n"), "a value is missing after \"title =\"");
    EXPECT_EQ(message_of("\n  title =  \n"), "a value is missing after \"  title =\"");
    EXPECT_EQ(message_of("title = \"x"),
              "the file is not valid TOML: the file ends in the middle of a value");
    EXPECT_EQ(message_of("[a\n"),
              "the file is not valid TOML: expected ']', found the end of the line");
    EXPECT_EQ(message_of("title \"T\""), "the file is not valid TOML: expected '=', saw '\"'");
}

TEST(StoryToml, SyntaxErrorsSayWhatIsWrongWithTheQuotes) {
    const std::string invalid = "the file is not valid TOML: ";
    const std::string quotes = invalid + "a text must be in double quotes: ";
    EXPECT_EQ(message_of("title = The Lamp\n"), quotes + "\"The Lamp\"");
    EXPECT_EQ(message_of("title = Dark # now"), quotes + "\"Dark\"");
    EXPECT_EQ(message_of("title = info\n"), quotes + "\"info\"");
    EXPECT_EQ(message_of("title = Äh\n"), quotes + "\"Äh\"");
    EXPECT_EQ(message_of("choices = [\"a\",\n No,\n]"), quotes + "\"No\"");
    EXPECT_EQ(message_of("title = " + std::string(99, 'x')),
              invalid + "a text must be in double quotes");
    EXPECT_EQ(message_of("title = Well, [now]\n"), quotes + "\"Well, [now]\"");
    EXPECT_EQ(message_of("title = " + std::string(40, 'x') + "\xFF\n"),
              invalid + "a text must be in double quotes");
    EXPECT_EQ(message_of("a = {b = False}"), invalid + "write false in small letters");
    EXPECT_NE(message_of("title = “T”").find("not a straight double quote"), std::string::npos);
    for (const char* const text : {"title = \"Dark\nx = 1\n", "title = 'Dark\r\n"}) {
        EXPECT_NE(message_of(text).find("has no closing quote"), std::string::npos) << text;
    }
}

// The TOML library recurses over what it reads.
TEST(StoryToml, DeepNestingIsRefusedBeforeParsing) {
    std::string dots = "a";
    for (int i = 0; i < 200000; ++i) dots += ".a";
    std::string headers = kTitle + "[" + dots + "]\n";
    EXPECT_EQ(faults_of(kTitle + dots + " = 1\n"), List{"2:258  story-depth"});
    EXPECT_EQ(faults_of(kTitle + dots + " = \n"), List{"2:258  story-depth"});
    EXPECT_EQ(faults_of(headers), List{"2:257  story-depth"});
    EXPECT_EQ(faults_of("\"a.b\"" + dots.substr(1) + " = 1\n"), List{"1:262  story-depth"});
    EXPECT_EQ(faults_of(kTitle + "a = [[[\"\"\"\"\"\"\"\",{" + dots + "=1}]]]\n").size(), 1u);
    // A multi-line string without an end.
    EXPECT_EQ(faults_of("title = \"\"\"").size(), 1u);
    std::string mixed = kTitle + "x = ";
    for (int i = 0; i < 200; ++i) mixed += "[{a.b.c=\n";
    EXPECT_EQ(faults_of(mixed).size(), 1u);
    // Dots and brackets that do not nest.
    std::string weights = kTitle + "[plugins.a]\nw = [";
    for (int i = 0; i < 1000; ++i) weights += "0.5, {a.b = 1.5}, [],\n";
    weights += "]\n";
    EXPECT_EQ(faults_of(weights), List{});
    EXPECT_EQ(
        faults_of(kTitle + "[fallback]\ntemplates = ['" + std::string(500, '.') + "', \"\"\"" +
                  std::string(500, '[') + "\n\"\"\"] # " + std::string(500, '.') + "\n"),
        List{});
}

}  // namespace
