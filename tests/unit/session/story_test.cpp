// SPDX-License-Identifier: Apache-2.0
#include "session/story.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "session/text_template.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;
using session::load_story;
using session::Story;

const std::string kTitle = "title = \"T\"\n";

// A story's folder that is gone again after the test.
class Folder {
public:
    Folder() {
        std::string name = testing::TempDir() + "story-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = std::filesystem::canonical(name);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    Folder& with(const std::string& name, std::string_view text) {
        std::ofstream(path_ / name, std::ios::binary) << text;
        return *this;
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

// "file:line:column pointer rule" of each fault.
std::vector<std::string> places(const Faults& faults) {
    std::vector<std::string> all;
    for (const Fault& fault : faults) {
        EXPECT_FALSE(fault.message.empty());
        all.push_back(fault.file + ":" + std::to_string(fault.line) + ":" +
                      std::to_string(fault.column) + " " + fault.pointer + " " + fault.rule);
    }
    return all;
}

std::optional<Story> load(std::string_view toml, Faults& faults) {
    Folder folder;
    folder.with("story.toml", toml);
    return load_story(folder.path(), faults);
}

std::vector<std::string> faults_of(std::string_view toml) {
    Faults faults;
    const bool loaded = load(toml, faults).has_value();
    EXPECT_EQ(loaded, faults.empty());
    return places(faults);
}

std::string message_of(std::string_view toml) {
    Faults faults;
    load(toml, faults);
    return faults.size() == 1 ? faults[0].message : std::to_string(faults.size()) + " faults";
}

std::vector<std::string> faults_of_prompts(std::string_view prompts) {
    Folder folder;
    folder.with("story.toml", kTitle).with("prompts.json", prompts);
    Faults faults;
    const bool loaded = load_story(folder.path(), faults).has_value();
    EXPECT_EQ(loaded, faults.empty());
    return places(faults);
}

std::string message_of_prompts(std::string_view prompts) {
    Folder folder;
    folder.with("story.toml", kTitle).with("prompts.json", prompts);
    Faults faults;
    load_story(folder.path(), faults);
    return faults.size() == 1 ? faults[0].message : std::to_string(faults.size()) + " faults";
}

using List = std::vector<std::string>;

TEST(Story, HoldsEverythingThatIsWritten) {
    Folder folder;
    folder
        .with("story.toml", R"(# a comment
title = "The Torch and the Door"
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
resident_bytes = 12
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
)")
        .with("prompts.json", R"({"prompts":[]})");
    Faults faults;
    const std::optional<Story> story = load_story(folder.path() + "/.", faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->folder, folder.path());
    EXPECT_EQ(story->title, "The Torch and the Door");
    EXPECT_EQ(story->narrator, "template");
    EXPECT_EQ(story->times.try_ms, 1u);
    EXPECT_EQ(story->times.plan_ms, 2u);
    EXPECT_EQ(story->times.narrator_ms, 3u);
    EXPECT_EQ(story->times.prompt_ms, 4u);
    EXPECT_EQ(story->times.grace_ms, 0u) << "none is not the same as not said";
    EXPECT_EQ(story->limits.memory_bytes, 5u);
    EXPECT_EQ(story->limits.cpu_seconds, 6u);
    EXPECT_EQ(story->limits.file_bytes, 7u);
    EXPECT_EQ(story->limits.open_files, 8u);
    EXPECT_EQ(story->limits.processes, 11u);
    EXPECT_EQ(story->limits.resident_bytes, 12u);
    EXPECT_EQ(story->limits.line_bytes, 9u);
    EXPECT_EQ(story->limits.history_patches, 10u);
    EXPECT_EQ(story->allow_paths, (List{folder.path() + "/tools", "/opt/tools"}));
    EXPECT_EQ(story->environment, (std::vector<std::pair<std::string, std::string>>{
                                      {"EMPTY", ""}, {"GREETING", "hello"}}));
    EXPECT_EQ(story->fallback_templates, (List{"{prompt} leads nowhere.", "Nothing."}));
    EXPECT_EQ(story->plugins.at("console"), R"({"colour":true})");
    EXPECT_EQ(story->plugins.at("org.example.llm"),
              R"({"day":"2026-01-24","deep":{"er":{}},"model":"m","retries":3,)"
              R"("stop":["a",[1]],"temperature":0.5})");
}

TEST(Story, NeedsNoMoreThanATitle) {
    Faults faults;
    const std::optional<Story> story = load(kTitle, faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->narrator, "template");
    EXPECT_FALSE(story->times.try_ms);
    EXPECT_FALSE(story->limits.line_bytes);
    EXPECT_TRUE(story->allow_paths.empty());
    EXPECT_TRUE(story->prompts.entries.empty());
    EXPECT_FALSE(story->prompts.unmatched);
}

TEST(Story, AllowsNoToolWhenItListsNone) {
    Faults faults;
    const std::optional<Story> story = load(kTitle + "[tools]\nallow_paths = []\n", faults);
    ASSERT_TRUE(story);
    ASSERT_EQ(story->allow_paths.size(), 1u) << "an empty list restricts, a missing one does not";
    EXPECT_FALSE(std::filesystem::is_directory(story->allow_paths[0]));
}

TEST(Story, TakesTheLargestThatFitsForWhatIsLarger) {
    Faults faults;
    const std::optional<Story> story =
        load(kTitle +
                 "[times]\ntry_ms = 9223372036854775807\n[limits]\nhistory_patches = "
                 "9223372036854775807\nmemory_bytes = 9223372036854775807\n",
             faults);
    ASSERT_TRUE(story);
    EXPECT_EQ(story->times.try_ms, UINT32_MAX);
    EXPECT_EQ(story->limits.history_patches, UINT32_MAX);
    EXPECT_EQ(story->limits.memory_bytes, uint64_t{INT64_MAX});
}

TEST(Story, NamesLineColumnAndKeyOfEveryFault) {
    EXPECT_EQ(
        faults_of("# no title\nauthor = \"me\"\n\n[times]\ntry = 1\n  plan_ms = \"1s\"\n"
                  "prompt_ms = -1\n[tools]\nallow_paths = [\"\", 1]\n"),
        (List{"story.toml:1:1 /title story-missing", "story.toml:2:1 /author story-key",
              "story.toml:5:1 /times/try story-key", "story.toml:6:13 /times/plan_ms story-type",
              "story.toml:7:13 /times/prompt_ms story-range",
              "story.toml:9:16 /tools/allow_paths/0 story-empty",
              "story.toml:9:20 /tools/allow_paths/1 story-type"}));
}

TEST(Story, CountsColumnsInCharactersAndBytesInBytes) {
    Faults faults;
    load(kTitle + "[tools]\nenvironment = { \"é€\" = \"🔥\", N = 1 }\n", faults);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].pointer, "/tools/environment/N");
    EXPECT_EQ(faults[0].line, 3u);
    EXPECT_EQ(faults[0].column, 33u);
    EXPECT_EQ(faults[0].byte, kTitle.size() + 8 + 38);
}

TEST(Story, SaysWhatIsAllowed) {
    EXPECT_EQ(message_of(kTitle + "[times]\ntry = 1\n"),
              "\"try\" is no key of [times]; there are try_ms, plan_ms, narrator_ms, prompt_ms, "
              "grace_ms");
    EXPECT_EQ(message_of(kTitle + "time = 1\n"),
              "\"time\" is no key of story.toml; there are title, narrator, times, limits, tools, "
              "fallback, plugins");
    EXPECT_EQ(message_of(kTitle + "[times]\ntry_ms = 0.5\n"),
              "times/try_ms must be whole milliseconds from 0, which is none, not floating-point");
    EXPECT_EQ(message_of(kTitle + "[limits]\nopen_files = -1\n"),
              "limits/open_files must be a whole number from 0, which leaves the engine's, not -1");
    EXPECT_EQ(message_of("title = \"\"\n"), "title must not be empty");
    EXPECT_EQ(message_of(kTitle + "narrator = \"x\"\n"), "narrator must be a table, not string");
}

// Each of these breaks one rule at one place.
TEST(Story, RefusesWhatItsSchemaRefuses) {
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
        {kTitle + "[fallback]\ntemplates = [\"{thing}\"]\n",
         "3:14 /fallback/templates/0 story-template"},
        {kTitle + "[fallback]\ntemplates = [\"a { b\"]\n",
         "3:14 /fallback/templates/0 story-template"},
        {kTitle + "[plugins.a]\nx = inf\n", "3:5 /plugins/a/x story-range"},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(faults_of(each.toml), List{"story.toml:" + each.fault}) << each.toml;
    }
}

TEST(Story, ThatIsNoTomlSaysWhere) {
    EXPECT_EQ(faults_of(kTitle + "x = \n"), List{"story.toml:2:5  story-toml"});
    EXPECT_EQ(faults_of("title = \"T\"\ntitle = \"U\"\n").size(), 1u) << "a key twice";
    for (const std::string& text :
         {"{\"title\":\"T\"}"s, "title"s, "title = \"\xFF\""s, "title = \"a\0b\""s, "[times"s,
          "\xFF\xFEt\0"s, "a = [[[[[["s}) {
        const List faults = faults_of(text);
        ASSERT_EQ(faults.size(), 1u) << testing::PrintToString(text);
        EXPECT_NE(faults[0].find("story-toml"), std::string::npos) << faults[0];
    }
}

// The TOML library recurses through what it has read.
TEST(Story, NestedWithoutEndIsRefusedBeforeItIsRead) {
    std::string dots = "a";
    for (int i = 0; i < 200000; ++i) dots += ".a";
    std::string headers = kTitle + "[" + dots + "]\n";
    EXPECT_EQ(faults_of(kTitle + dots + " = 1\n"), List{"story.toml:2:258  story-depth"});
    EXPECT_EQ(faults_of(kTitle + dots + " = \n"), List{"story.toml:2:258  story-depth"});
    EXPECT_EQ(faults_of(headers), List{"story.toml:2:257  story-depth"});
    EXPECT_EQ(faults_of(kTitle + "a = [[[\"\"\"\"\"\"\"\",{" + dots + "=1}]]]\n").size(), 1u);
    // A string of three quotes that the text leaves open.
    EXPECT_EQ(faults_of("title = \"\"\"").size(), 1u);
    std::string mixed = kTitle + "x = ";
    for (int i = 0; i < 200; ++i) mixed += "[{a.b.c=\n";
    EXPECT_EQ(faults_of(mixed).size(), 1u);
    // Dots and brackets that nest nothing.
    std::string weights = kTitle + "[plugins.a]\nw = [";
    for (int i = 0; i < 1000; ++i) weights += "0.5, {a.b = 1.5}, [],\n";
    weights += "]\n";
    EXPECT_EQ(faults_of(weights), List{});
    EXPECT_EQ(
        faults_of(kTitle + "[fallback]\ntemplates = ['" + std::string(500, '.') + "', \"\"\"" +
                  std::string(500, '[') + "\n\"\"\"] # " + std::string(500, '.') + "\n"),
        List{});
}

TEST(Story, MustBeAFolderWithAStoryFile) {
    Folder folder;
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), List{"story.toml:1:1  story-file"});
    EXPECT_NE(faults[0].message.find("there is no story.toml in"), std::string::npos);

    for (const std::string& missing : {folder.path() + "/nowhere", ""s, "a\0b"s,
                                       folder.path() + "/file", folder.path() + "/file/below"}) {
        folder.with("file", "");
        faults.clear();
        EXPECT_FALSE(load_story(missing, faults));
        ASSERT_EQ(places(faults), List{":1:1  story-folder"}) << missing;
        EXPECT_EQ(faults[0].rule, session::kStoryFolderRule);
    }
}

TEST(Story, ThatCannotBeReadSaysWhy) {
    Folder folder;
    std::filesystem::create_directory(folder.path() + "/story.toml");
    ASSERT_EQ(mkfifo((folder.path() + "/prompts.json").c_str(), 0600), 0);
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults), (List{"story.toml:1:1  story-file", "prompts.json:1:1  story-file"}))
        << "and a pipe nobody writes to is not waited for";
    Folder large;
    large.with("story.toml", kTitle + "#" + std::string(size_t{2} << 20, 'x'));
    faults.clear();
    EXPECT_FALSE(load_story(large.path(), faults));
    EXPECT_EQ(places(faults), List{"story.toml:1:1  story-file"});
}

TEST(Story, NeedsThePromptsOfTheNarratorItNames) {
    EXPECT_EQ(faults_of(kTitle + "[narrator]\nname = \"template\"\n"),
              List{"prompts.json:1:1  story-file"});
    EXPECT_EQ(faults_of(kTitle + "[narrator]\nname = \"org.example.llm\"\n"), List{});
}

TEST(Story, ListsTheFaultsOfBothFiles) {
    Folder folder;
    folder.with("story.toml", "x = 1\n").with("prompts.json", "{}");
    Faults faults;
    EXPECT_FALSE(load_story(folder.path(), faults));
    EXPECT_EQ(places(faults),
              (List{"story.toml:1:1 /x story-key", "story.toml:1:1 /title story-missing",
                    "prompts.json:1:1 /prompts prompts-missing"}));
}

TEST(Story, OfTheExamplesIsValid) {
    Faults faults;
    const std::optional<Story> story =
        load_story(NARRATORIA_SOURCE_DIR "/examples/stories/torch", faults);
    ASSERT_TRUE(story) << describe_faults(faults, "");
    EXPECT_EQ(story->title, "The Torch and the Door");
    EXPECT_GT(story->prompts.entries.size(), 3u);
    EXPECT_TRUE(story->prompts.unmatched);
}

// The prompts of the corpus are judged as its folders say, with the story's title beside them.
TEST(StoryPrompts, AreJudgedAsTheCorpusSays) {
    const std::filesystem::path corpus = NARRATORIA_SOURCE_DIR "/tests/conformance/schemas/prompts";
    size_t files = 0;
    for (const char* verdict : {"valid", "invalid", "rules"}) {
        for (const auto& entry : std::filesystem::directory_iterator(corpus / verdict)) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string text((std::istreambuf_iterator<char>(file)), {});
            const List faults = faults_of_prompts(text);
            EXPECT_EQ(faults.empty(), verdict == "valid"s)
                << entry.path() << testing::PrintToString(faults);
            ++files;
        }
    }
    EXPECT_GT(files, 35u);
}

TEST(StoryPrompts, ThatAreNoJsonSayWhere) {
    EXPECT_EQ(faults_of_prompts("{\n  \"prompts\": [\n}"), List{"prompts.json:3:1  json-syntax"});
    EXPECT_EQ(faults_of_prompts(""), List{"prompts.json:1:1  json-empty"});
    EXPECT_EQ(faults_of_prompts("[]"), List{"prompts.json:1:1  prompts-type"});
}

TEST(StoryPrompts, NameThePlaceOfEveryFault) {
    EXPECT_EQ(faults_of_prompts(R"({
 "prompts": [
  {"pattern": [], "patterns": ["", 1, "{a", "x {prompt}", "{a} {a}", "ok"], "answers": [
   {"narrative": ""}, {"plan": {}, "narrative": "x"}, {}, 1, {"narrative": 2}
  ]},
  {"patterns": [], "answers": {}},
  {}
 ],
 "unmatched": {"narrative": "{thing}"}
})"),
              (List{"prompts.json:3:4 /prompts/0/pattern prompts-key",
                    "prompts.json:3:32 /prompts/0/patterns/0 prompts-pattern",
                    "prompts.json:3:36 /prompts/0/patterns/1 prompts-type",
                    "prompts.json:3:39 /prompts/0/patterns/2 prompts-pattern",
                    "prompts.json:3:45 /prompts/0/patterns/3 prompts-pattern",
                    "prompts.json:3:59 /prompts/0/patterns/4 prompts-pattern",
                    "prompts.json:4:18 /prompts/0/answers/0/narrative prompts-empty",
                    "prompts.json:4:23 /prompts/0/answers/1 prompts-answer",
                    "prompts.json:4:32 /prompts/0/answers/1/plan/tools plan-field-missing",
                    "prompts.json:4:55 /prompts/0/answers/2 prompts-answer",
                    "prompts.json:4:59 /prompts/0/answers/3 prompts-type",
                    "prompts.json:4:76 /prompts/0/answers/4/narrative prompts-type",
                    "prompts.json:6:16 /prompts/1/patterns prompts-empty",
                    "prompts.json:6:31 /prompts/1/answers prompts-type",
                    "prompts.json:7:3 /prompts/2/patterns prompts-missing",
                    "prompts.json:7:3 /prompts/2/answers prompts-missing",
                    "prompts.json:9:29 /unmatched/narrative prompts-name"}));
}

TEST(StoryPrompts, AreHeldToTheRulesOfPlans) {
    EXPECT_EQ(faults_of_prompts(R"({"prompts":[{"patterns":["x"],"answers":[{"narrative":"n"},
{"plan":{"tools":[{"toolId":"a","toolPath":"t","dependencies":["b"]},{"toolId":"a"},
{"toolId":"c","toolPath":"tools/d.py","retryPolicy":{"maxRetries":11}}],"disabledSkills":["d"]}}]}]})"),
              (List{"prompts.json:2:64 /prompts/0/answers/1/plan/tools/0/dependencies/0 "
                    "plan-dependency-known",
                    "prompts.json:2:70 /prompts/0/answers/1/plan/tools/1/toolPath "
                    "plan-field-missing",
                    "prompts.json:2:80 /prompts/0/answers/1/plan/tools/1/toolId "
                    "plan-tool-id-unique",
                    "prompts.json:3:26 /prompts/0/answers/1/plan/tools/2/toolPath "
                    "plan-skill-disabled",
                    "prompts.json:3:67 /prompts/0/answers/1/plan/tools/2/retryPolicy/maxRetries "
                    "plan-range"}));
    auto plan = [](const std::string& request_id) {
        return R"({"prompts":[],"unmatched":{"plan":{)" + request_id + R"("tools":[]}}})";
    };
    EXPECT_EQ(faults_of_prompts(plan("")), List{}) << "the requestId is made when it is left out";
    EXPECT_EQ(faults_of_prompts(plan(R"("requestId":"p{prompt}",)")), List{});
    EXPECT_EQ(faults_of_prompts(plan(R"("requestId":"",)")),
              List{"prompts.json:1:48 /unmatched/plan/requestId plan-field-empty"});
    EXPECT_EQ(faults_of_prompts(plan(R"("requestId":null,)")),
              List{"prompts.json:1:48 /unmatched/plan/requestId plan-field-type"});
}

TEST(StoryPrompts, CheckTheNamesInEveryStringOfAPlan) {
    EXPECT_EQ(faults_of_prompts(R"({"prompts":[{"patterns":["light {thing}"],"answers":[{"plan":
{"narrative":"{thing}","tools":[{"toolId":"t","toolPath":"t","input":{"{key}":["{thnig}",{"a":"}"}]}}]}
}]}]})"),
              (List{"prompts.json:2:80 "
                    "/prompts/0/answers/0/plan/tools/0/input/{key}/0 prompts-name",
                    "prompts.json:2:95 "
                    "/prompts/0/answers/0/plan/tools/0/input/{key}/1/a prompts-template"}))
        << "keys are not replaced and so not looked at";
}

TEST(StoryPrompts, SayWhatToDo) {
    auto pattern = [](const std::string& text) {
        return message_of_prompts(R"({"prompts":[{"patterns":[")" + text +
                                  R"("],"answers":[{"narrative":"n"}]}]})");
    };
    EXPECT_EQ(pattern("light {thing"),
              "in the pattern \"light {thing\": a { that no } closes; write {{ for a brace");
    EXPECT_EQ(pattern("light }"),
              "in the pattern \"light }\": a } without a { in front of it; "
              "write }} for a brace");
    EXPECT_EQ(pattern("{}"),
              "in the pattern \"{}\": {} has no name; write {thing}, or {{}} for "
              "the braces");
    EXPECT_EQ(pattern("{1}"),
              "in the pattern \"{1}\": what stands between { and } must be a name "
              "of letters, digits and _ that begins with no digit; write {{ and "
              "}} for braces");
    EXPECT_EQ(pattern(" ?! "),
              "in the pattern \" ?! \": a pattern needs more than white space and "
              ". ! ?");
    EXPECT_EQ(message_of_prompts(R"({"prompts":[{"patterns":["a {b} {c}","{c}"],"answers":)"
                                 R"([{"narrative":"{b} {c} {prompt}"}]}]})"),
              "{b} stands for nothing here: not every pattern of this entry captures it; there is "
              "{prompt}, {c}, and {{ and }} for braces");
}

}  // namespace
