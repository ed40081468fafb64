// SPDX-License-Identifier: Apache-2.0
#include "session/story_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "conformance/folder.hpp"
#include "support/folders.hpp"

namespace {

using namespace narratoria;
using session::check_story;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kProgram = "#!/bin/sh\n";

class StoryCheck : public testing::Test {
protected:
    StoryCheck() {
        toml("");
        write("prompts.json", R"({"prompts":[]})");
        add("tools/lamp", kProgram);
    }

    void write(const std::string& name, std::string_view text) { folder.write(name, text); }
    void add(const std::string& name, std::string_view text, mode_t mode = 0755) {
        folder.write(name, text, mode);
    }
    void toml(const std::string& rest) { write("story.toml", "title = \"T\"\n" + rest); }
    // Writes prompts.json with one prompt; its plan is on line 2.
    void plan(const std::string& text) {
        write("prompts.json", R"({"prompts":[{"patterns":["go {where}"],"answers":[{"plan":)"
                              "\n" +
                                  text + "}]}]}");
    }
    void tool(const std::string& path) {
        plan(R"({"tools":[{"toolId":"a","toolPath":")" + path + R"("}]})");
    }

    // `more`: members of the metadata, such as R"(,"settings":{})".
    void add_plugin(const std::string& name, const std::string& extensions,
                    const std::string& more = "") {
        std::filesystem::create_directory(folder / "plugins");
        std::filesystem::copy_file(test::in_build("lib/libnarratoria.so.1"),
                                   folder / ("plugins/" + name + ".so"));
        write("plugins/" + name + ".so.json", R"({"schema":"plugin/1","id":"org.example.)" + name +
                                                  R"(","name":"N","version":"1","abi":"1.0",)" +
                                                  R"("extensions":[)" + extensions + "]" + more +
                                                  "}");
    }
    // Adds a plugin that may register tools.
    void add_dice() { add_plugin("dice", "\"narratoria.tool/1\""); }

    // "file:line:column pointer rule" for each warning; faults end with "(fault)".
    std::vector<std::string> places() {
        messages.clear();
        Faults faults;
        check_story(story, faults);
        std::vector<std::string> all;
        for (const Fault& fault : faults) {
            all.push_back(fault.file + ":" + std::to_string(fault.line) + ":" +
                          std::to_string(fault.column) + " " + fault.pointer + " " + fault.rule +
                          (fault.is_warning ? "" : " (fault)"));
            messages += fault.message + "\n";
        }
        return all;
    }
    std::string warning() {
        EXPECT_EQ(places().size(), 1u) << messages;
        return messages;
    }

    const test::Folder folder;
    std::string story = folder.path();
    std::string messages;
};

const std::string kToolPlace = "prompts.json:2:36 /prompts/0/answers/0/plan/tools/0/toolPath ";

TEST_F(StoryCheck, FindsNothingInAValidStory) {
    toml("[tools]\nallow_paths = [\"tools\"]\n");
    tool("tools/lamp");
    EXPECT_THAT(places(), IsEmpty()) << messages;
    tool("lamp");
    EXPECT_THAT(places(), IsEmpty()) << messages << "the story's tools/ is also searched";
}

TEST_F(StoryCheck, NamesAMissingPromptsFileAndTheNearestFile) {
    std::filesystem::rename(folder / "prompts.json", folder / "prompt.json");
    EXPECT_THAT(places(), ElementsAre("prompts.json:0:0  story-file"));
    EXPECT_THAT(messages, HasSubstr("rename \"prompt.json\", or name a different narrator"));
    toml("[narrator]\nname = \"template\"\n");
    EXPECT_THAT(places(), ElementsAre("prompts.json:0:0  story-file (fault)"));
    std::filesystem::remove(folder / "prompt.json");
    EXPECT_THAT(warning(), HasSubstr("write it, or name a different narrator"));
    toml("[narrator]\nname = \"tale.nuwa\"\n");
    write("tale.nuwa", "PRINT(\"a\")\n");
    EXPECT_THAT(places(), IsEmpty()) << messages;
}

TEST_F(StoryCheck, NamesAMissingPictureAndTheNearestFile) {
    std::filesystem::create_directory(folder / "pictures");
    write("pictures/door.png", "x");
    const auto show = [&](const std::string& input) {
        plan(R"({"tools":[{"toolId":"a","toolPath":"tools/lamp","input":)" + input + "}]}");
    };
    show(R"({"image":"pictures/dor.png"})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:2:66 /prompts/0/answers/0/plan/tools/0/input/"
                                      "image story-media-missing"));
    EXPECT_THAT(messages, HasSubstr("the story has no file \"pictures/dor.png\"; did you mean "
                                    "\"pictures/door.png\"?"));
    show(R"({"layers":[{"file":"/nowhere/sea.WAV"},{"file":"/nowhere/sea.wav"}]})");
    EXPECT_THAT(warning(), HasSubstr("\"/nowhere/sea.wav\"; add it, or correct the path"));
    for (const char* const path : {"pictures/door.png", "./pictures/door.png", "door.png",
                                   "pictures/{where}.png", "https://a.example/b.png", "sea"}) {
        show(R"({"image":")" + std::string(path) + "\"}");
        EXPECT_THAT(places(), IsEmpty()) << messages;
    }
}

TEST_F(StoryCheck, NamesAMissingPictureThatAnAnswerPutsIntoTheState) {
    write("prompts.json", R"({"prompts":[{"patterns":["go"],"answers":[{"narrative":"n","set":
{"/picture":"sea.svg"}}]}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:2:13 /prompts/0/answers/0/set/~1picture "
                                      "story-media-missing"));
}

TEST_F(StoryCheck, NamesAMissingToolAndTheNearestFile) {
    tool("tools/lmap");
    EXPECT_THAT(places(), ElementsAre(kToolPlace + "story-tool-missing"));
    EXPECT_THAT(messages, HasSubstr("did you mean \"tools/lamp\"?"));
    tool("lmap");
    EXPECT_THAT(warning(), HasSubstr("did you mean \"lamp\"?"));
    tool("tool/lamp");
    EXPECT_THAT(warning(), HasSubstr("did you mean \"tools/lamp\"?"));
    tool("tools/lamp.py");
    EXPECT_THAT(warning(), HasSubstr("did you mean \"tools/lamp\"?"));
    tool("/nowhere/else/at/all");
    EXPECT_THAT(warning(), Not(HasSubstr("did you mean")));
    // A file name near the limit of the file system must not break the search.
    add("tools/" + std::string(200, 'l'), kProgram);
    tool("tools/" + std::string(20, 'l'));
    EXPECT_THAT(warning(), Not(HasSubstr("did you mean")));
}

TEST_F(StoryCheck, IgnoresToolPathsWithCapturesOrSchemes) {
    tool("tools/{where}");
    EXPECT_THAT(places(), IsEmpty()) << messages;
    tool("http:example");
    EXPECT_THAT(places(), IsEmpty()) << messages;
    std::filesystem::rename(folder / "tools/lamp", folder / "tools/a{b");
    tool("tools/a{{b");
    EXPECT_THAT(places(), IsEmpty()) << messages;
}

TEST_F(StoryCheck, ReportsAnInvalidManifestOnce) {
    tool("tools/lamp");
    write("tools/lamp.tool.json", R"({"name":"lmap"})");
    EXPECT_THAT(places(), ElementsAre("tools/lamp.tool.json:1:9 /name manifest-name (fault)"));
    std::filesystem::create_directory(folder / "more");
    std::filesystem::rename(folder / "tools/lamp", folder / "more/lamp");
    std::filesystem::rename(folder / "tools/lamp.tool.json", folder / "more/lamp.tool.json");
    tool("more/lamp");
    EXPECT_THAT(places(), ElementsAre(kToolPlace + "story-tool-program"));
    EXPECT_THAT(messages, HasSubstr("more/lamp.tool.json\" cannot be used: "));
}

TEST_F(StoryCheck, NamesAToolThatCannotRun) {
    tool("tools/lamp");
    add("tools/lamp", kProgram, 0644);
    EXPECT_THAT(warning(), HasSubstr("chmod +x " + folder / "tools/lamp"));
    std::filesystem::rename(folder / "tools/lamp", folder / "tools/my lamp");
    tool("tools/my lamp");
    EXPECT_THAT(warning(), HasSubstr("chmod +x '" + folder / "tools/my lamp" + "'"));
    tool("tools/lamp");
    add("tools/lamp", "");
    EXPECT_THAT(warning(), HasSubstr("is empty"));
    add("tools/lamp", "echo hi\n");
    EXPECT_THAT(warning(), HasSubstr("is not a program; a script needs a first line"));
    add("tools/lamp", "#!/bin/sh\r\n");
    EXPECT_THAT(warning(), HasSubstr("carriage return"));
    add("tools/lamp", "#!/no/interpreter\n");
    EXPECT_THAT(warning(), HasSubstr("names an interpreter that does not exist"));
    std::filesystem::remove(folder / "tools/lamp");
    std::filesystem::create_directory(folder / "tools/lamp");
    EXPECT_THAT(warning(), HasSubstr("is a folder, not a program"));
    std::filesystem::remove(folder / "tools/lamp");
    ASSERT_EQ(mkfifo((folder / "tools/lamp").c_str(), 0700), 0);
    EXPECT_THAT(warning(), HasSubstr("is not a regular file"));
}

TEST_F(StoryCheck, NamesAnInterpreterThatEnvDoesNotFind) {
    tool("tools/lamp");
    for (const char* const line : {"/usr/bin/env nowhere9", "/usr/bin/env -S nowhere9 -u",
                                   "/usr/bin/env /nowhere9", "/usr/bin/env sh -u"}) {
        add("tools/lamp", "#!" + std::string(line) + "\n");
        EXPECT_THAT(places(), ElementsAre(kToolPlace + "story-tool-program")) << line;
        EXPECT_THAT(messages,
                    HasSubstr("names an interpreter that does not exist: #!" + std::string(line)));
    }
    EXPECT_THAT(messages, HasSubstr("only after -S: #!/usr/bin/env -S sh -u"));
    for (const char* const line : {"/usr/bin/env sh", "/usr/bin/env -S sh -u", "/usr/bin/env -i sh",
                                   "/usr/bin/env -S A=1 nowhere9", "/usr/bin/env /bin/sh"}) {
        add("tools/lamp", "#!" + std::string(line) + "\n");
        EXPECT_THAT(places(), IsEmpty()) << line << messages;
    }
    // The story's own PATH counts.
    std::filesystem::create_directory(folder / "bin");
    add("bin/nowhere9", "#!/bin/sh\n");
    add("tools/lamp", "#!/usr/bin/env nowhere9\n");
    toml("[tools.environment]\nPATH = \"" + folder / "bin" + "\"\n");
    EXPECT_THAT(places(), IsEmpty()) << messages;
}

TEST_F(StoryCheck, MessagesAreUtf8WhateverTheFileNames) {
    add("tools/lamp\xFF", kProgram);
    tool("tools/lampx");
    EXPECT_THAT(warning(), HasSubstr("did you mean \"tools/lamp\"?"));
    toml("[tools]\nallow_paths = [\"nowhere\"]\n");
    tool("tools/lamp");
    const test::Folder other;
    story = other / "\xFF";
    std::filesystem::copy(folder.path(), story, std::filesystem::copy_options::recursive);
    places();
    EXPECT_TRUE(utf8::is_valid(messages)) << messages;
}

TEST_F(StoryCheck, NamesAToolOutsideTheAllowedPaths) {
    add("lamp", kProgram);
    toml("[tools]\nallow_paths = [\"tools\"]\n");
    tool("./lamp");
    EXPECT_THAT(places(), ElementsAre(kToolPlace + "story-tool-forbidden"));
    EXPECT_THAT(messages, HasSubstr("is outside the allowed paths"));
    // A symbolic link to itself resolves to no path, so allow_paths does not apply.
    std::filesystem::create_symlink("loop", folder / "tools/loop");
    tool("tools/loop");
    EXPECT_THAT(warning(), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(StoryCheck, NamesThePluginsThatCouldRegisterATool) {
    add_dice();
    for (const char* rest : {"", "[tools]\nallow_paths = [\"tools\"]\n"}) {
        toml(rest);
        tool("roll");
        EXPECT_THAT(places(), ElementsAre(kToolPlace + "story-tool-plugin"));
        EXPECT_THAT(messages,
                    HasSubstr("\"roll\" is not a file of the story; only a plugin can provide it "
                              "(\"org.example.dice\"); narratoria validate story --plugins " +
                              folder.path() + " loads it and checks\n"));
        tool("lmap");
        EXPECT_THAT(warning(), HasSubstr("did you mean \"lamp\"?"));
        tool("./roll");
        EXPECT_EQ(places().size(), 1u) << messages << "a path is not a tool name";
    }
    add("roll", kProgram);
    tool("roll");
    EXPECT_THAT(places(), ElementsAre(kToolPlace + "story-tool-forbidden"));
}

TEST_F(StoryCheck, NamesAnUnregisteredScriptToolOnce) {
    add_dice();
    toml("[narrator]\nname = \"tale.nuwa\"\n");
    write("tale.nuwa", "CALL lamp {}\nCALL roll {}\nCALL roll {}\nCALL lmap {}\n");
    EXPECT_THAT(places(), ElementsAre("tale.nuwa:2:1  story-tool-plugin",
                                      "tale.nuwa:4:1  story-tool-plugin"));
    EXPECT_THAT(messages, HasSubstr("CALL roll: no file in tools/ has this name; only a plugin can "
                                    "provide it (\"org.example.dice\")"));
    EXPECT_THAT(messages, HasSubstr("did you mean \"lamp\"?"));
}

TEST_F(StoryCheck, SaysNothingOfChoicesIfThePromptsAreNotValid) {
    toml("[opening]\nchoices = [\"sing\"]\n");
    write("prompts.json", "{\"prompts\": [");
    EXPECT_THAT(places(), ElementsAre(HasSubstr("json-syntax")));
}

TEST_F(StoryCheck, NamesAnOpeningChoiceThatMatchesNoPattern) {
    tool("lamp");
    toml("[opening]\nchoices = [\"Go home.\", \"sing\"]\n");
    EXPECT_THAT(places(), ElementsAre("story.toml:3:24 /opening/choices/1 story-choice-unmatched"));
    EXPECT_THAT(messages, HasSubstr("reads that nothing matches"));
    toml("[opening]\nchoices = [\"sing\"]\n[narrator]\nname = \"org.example.bard\"\n");
    EXPECT_THAT(warning(), HasSubstr("the narrator \"")) << "another narrator may know it";
}

TEST_F(StoryCheck, NamesRulesThatAreNeverApplied) {
    write("prompts.json", R"({"prompts":[],"after":[
{"when":{"/late":true},"narrative":"n","ending":"A"},
{"set":{"/late":true},"ending":"B"},
{"narrative":"n"}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:4:1 /after/2 story-answer-unreached"));
}

TEST_F(StoryCheck, KnowsTheStateAndTheChoicesOfRulesAndNamedConditions) {
    write("prompts.json", R"({"prompts":[],"conditions":{"late":{"/mintes":1}},"after":[
{"when":"late","set":{"/minutes":{"+":1}},"choices":["dance"]}]})");
    EXPECT_THAT(places(),
                ElementsAre("prompts.json:1:47 /conditions/late story-state-unknown",
                            "prompts.json:2:54 /after/0/choices/0 story-choice-unmatched"));
}

TEST_F(StoryCheck, NamesAMissingAllowedPath) {
    toml("[tools]\nallow_paths = [\"tools\", \"tool/\",\n \"tools/*\"]\n");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:3:25 /tools/allow_paths/1 story-allow-path-missing",
                            "story.toml:4:2 /tools/allow_paths/2 story-allow-path-missing"));
    EXPECT_THAT(messages, HasSubstr("\"tool/\" does not exist, so it allows no tool; did you mean "
                                    "\"tools\"?"));
    EXPECT_THAT(messages, HasSubstr("patterns are not supported here"));
}

TEST_F(StoryCheck, NamesAMissingNarratorAndMissingPlugins) {
    toml("[narrator]\nname = \"templat\"\n[plugins.\"org.example.rain\"]\nx = 1\n");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:3:8 /narrator/name story-narrator-unknown",
                            "story.toml:4:10 /plugins/org.example.rain story-plugin-unknown"));
    EXPECT_THAT(messages, HasSubstr("did you mean \"template\"?"));
    // Reported once, although the plugin also has settings.
    toml("[narrator]\nname = \"org.example.bard\"\n[plugins.\"org.example.bard\"]\nx = 1\n");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:3:8 /narrator/name story-narrator-unknown",
                            "story.toml:4:10 /plugins/org.example.bard story-plugin-unknown"));
    std::filesystem::create_directory(folder / "plugins");
    write("plugins/rain.so", "no library");
    toml("");
    EXPECT_THAT(places(), ElementsAre("plugins/rain.so:0:0  story-plugin-refused"));
    EXPECT_THAT(messages, HasSubstr("it is not a shared library"));
}

TEST_F(StoryCheck, SaysOnceWhyAPluginOfTheStoryIsNotUsed) {
    const std::string file = folder / "plugins/bell.so";
    toml("[plugins.\"org.example.bell\"]\n");
    add_plugin("bell", "", R"(,"settings":7)");
    EXPECT_THAT(warning(),
                HasSubstr("the plugin \"org.example.bell\" is not used: " + file + ": "));
    EXPECT_THAT(messages, HasSubstr("/settings: it must be a JSON Schema"));
    write("plugins/bell.so.json", "7");
    EXPECT_THAT(warning(), HasSubstr("was not found: no folder has a plugin with this id; " + file +
                                     " is not used: "));
}

TEST_F(StoryCheck, SettingOfAPluginIsNotPlacedAtAnotherNarrator) {
    add_plugin("bell", "", R"(,"settings":{"required":["mood"]})");
    add_plugin("bard", "\"narratoria.narrator/1\"");
    toml("[narrator]\nname = \"org.example.bard\"\n");
    EXPECT_THAT(places(), ElementsAre("story.toml:0:0 /plugins/org.example.bell/mood "
                                      "story-plugin-setting"));
}

TEST_F(StoryCheck, NamesThePluginAndTheTableOfAMissingSetting) {
    add_plugin("bell", "", R"(,"settings":{"required":["mood"]})");
    EXPECT_EQ(warning(),
              "the plugin \"org.example.bell\" needs the setting \"mood\"; write "
              "[plugins.\"org.example.bell\"] mood = …\n");
    toml("[plugins.\"org.example.bell\"]\n");
    EXPECT_EQ(warning(), "\"mood\" is missing\n");
    write("plugins/bell.so.json",
          R"({"schema":"plugin/1","id":"org.example.bell","name":"N","version":"1","abi":"1.0",)"
          R"("extensions":[],"settings":{"minProperties":1}})");
    EXPECT_EQ(warning(), "the settings object has 0 members but must have at least 1\n");
    toml("");
    EXPECT_EQ(warning(),
              "the plugin \"org.example.bell\" needs settings (the settings object has "
              "0 members but must have at least 1); write "
              "[plugins.\"org.example.bell\"]\n");
}

TEST_F(StoryCheck, PlacesASettingAtTheInnermostNodeThatContainsIt) {
    add_plugin(
        "bell", "",
        R"(,"settings":{"properties":{"rooms":{"items":{"required":["name"],)"
        R"("properties":{"name":{"type":"string"},"size":{"items":{"type":"integer"}}}}}}})");
    toml(
        "[[plugins.\"org.example.bell\".rooms]]\nname = \"a\"\n"
        "[[plugins.\"org.example.bell\".rooms]]\nname = 1\nsize = [1,\n \"x\"]\n"
        "[[plugins.\"org.example.bell\".rooms]]\n");
    const std::string setting = " story-plugin-setting";
    const std::string rooms = "/plugins/org.example.bell/rooms/";
    EXPECT_THAT(places(), ElementsAre("story.toml:5:1 " + rooms + "1/name" + setting,
                                      "story.toml:7:2 " + rooms + "1/size/1" + setting,
                                      "story.toml:8:1 " + rooms + "2/name" + setting));
    toml("[plugins.\"org.example.bell\"]\nrooms = [{ name = \"a\" }, { name = 1 }]\n");
    EXPECT_THAT(places(), ElementsAre("story.toml:3:28 " + rooms + "1/name" + setting));
}

TEST_F(StoryCheck, SettingThatIsNotFiniteHasOneFault) {
    add_plugin("bell", "", R"(,"settings":{"properties":{"mood":{"type":"number"}}})");
    toml("[plugins.\"org.example.bell\"]\nmood = inf\n");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:3:8 /plugins/org.example.bell/mood story-range (fault)"));
}

TEST_F(StoryCheck, NamesMisspelledMembersOfPlansAndDuplicateKeys) {
    plan(R"({"tools":[{"toolId":"a","toolPath":"lamp","dependancies":[],)"
         "\n"
         R"("input":{"x":1,"x":2}}]})");
    EXPECT_THAT(
        places(),
        ElementsAre(
            "prompts.json:2:43 /prompts/0/answers/0/plan/tools/0/dependancies plan-member-unknown",
            "prompts.json:3:16 /prompts/0/answers/0/plan/tools/0/input/x json-key-unique"));
    EXPECT_THAT(messages, HasSubstr("did you mean \"dependencies\"?"));
}

TEST_F(StoryCheck, ListsFaultsAndWarningsInFileOrder) {
    toml("[tools]\nallow_paths = [\"nowhere\"]\n[times]\nx = 1\n");
    plan(R"({"tools":[{"toolId":"a","toolPath":"none"},{"toolId":""}]})");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:3:16 /tools/allow_paths/0 story-allow-path-missing",
                            "story.toml:5:1 /times/x story-key (fault)",
                            kToolPlace + "story-tool-forbidden",
                            "prompts.json:2:44 /prompts/0/answers/0/plan/tools/1/toolPath "
                            "plan-field-missing (fault)",
                            "prompts.json:2:54 /prompts/0/answers/0/plan/tools/1/toolId "
                            "plan-field-empty (fault)"));
}

TEST_F(StoryCheck, LoadingAStoryGivesNoWarnings) {
    toml("[narrator]\nname = \"templat\"\n");
    tool("nowhere");
    Faults faults;
    EXPECT_TRUE(session::load_story(folder.path(), faults));
    EXPECT_THAT(faults, IsEmpty());
}

// ---- how prompts and the state fit together

TEST_F(StoryCheck, StateSchemaHoldsForTheBeginningAndForEveryUse) {
    toml("[state]\nlit = 1\n");
    write("state.schema.json",
          R"({"properties":{"lit":{"type":"boolean"},"name":{"type":"string"}},)"
          R"("required":["lit"],"additionalProperties":false})");
    write("prompts.json", R"({"prompts":[
{"patterns":["a"],"when":{"/lit":true,"/name":{"!=":1}},"answers":[{"narrative":"{/nam}"}]},
{"patterns":["b"],"when":{"not":{"/lt":true}},"answers":[{"narrative":"n","set":{"/name":2,"/lit":"{prompt}"}}]}]})");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:2:1 /state story-state-schema (fault)",
                            "prompts.json:2:53 /prompts/0/when story-state-schema (fault)",
                            "prompts.json:2:81 /prompts/0/answers/0/narrative "
                            "story-state-schema (fault)",
                            "prompts.json:3:40 /prompts/1/when story-state-schema (fault)",
                            "prompts.json:3:90 /prompts/1/answers/0/set "
                            "story-state-schema (fault)"));
    EXPECT_THAT(messages, HasSubstr("[state]: \"/lit\" is an integer but must be a boolean"));
    EXPECT_THAT(messages, HasSubstr("the state has no \"/nam\" (state.schema.json)"));
    write("state.schema.json", "{\"type\":3}");
    EXPECT_THAT(places().back(), HasSubstr("state.schema.json:1:9 /type"));
}

TEST_F(StoryCheck, StateSchemaHoldsForElementsAndForTheWholeBeginning) {
    toml("[state]\nplace = \"hall\"\n");
    write("state.schema.json",
          R"({"properties":{"place":{"enum":["hall","attic"]},)"
          R"("bag":{"type":"array","items":{"enum":["rope"]},"minItems":2}},"required":["bag"]})");
    write("prompts.json", R"({"prompts":[{"patterns":["a"],
"when":{"/place":{"in":["hall","atic"]},"/bag":{"contains":"roap"}},
"answers":[{"narrative":"n","set":{"/bag":{"add":"lamp"}}}]},
{"patterns":["b"],"answers":[{"narrative":"n","set":{"/bag":{"add":"rope"}}}]}]})");
    EXPECT_THAT(places(),
                ElementsAre("story.toml:2:1 /state story-state-schema (fault)",
                            "prompts.json:2:32 /prompts/0/when story-state-schema (fault)",
                            "prompts.json:2:60 /prompts/0/when story-state-schema (fault)",
                            "prompts.json:3:50 /prompts/0/answers/0/set "
                            "story-state-schema (fault)"));
}

TEST_F(StoryCheck, APatternForAnythingWithAConditionIsNotForChoices) {
    write("prompts.json", R"({"prompts":[
{"patterns":["{anything}"],"when":{"/late":true},"answers":[{"narrative":"n","ending":"e"}]},
{"patterns":["a"],"answers":[{"narrative":"n","choices":["b"]}]}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:3:58 /prompts/1/answers/0/choices/0 "
                                      "story-choice-unmatched"));
}

TEST_F(StoryCheck, WarnsOfMisspelledNamesOfTheState) {
    toml("[state]\ntorch = {lit = true}\n");
    write("prompts.json", R"({"prompts":[{"patterns":["a"],"when":{"/torch/lt":true,"/mood":1},
"answers":[{"narrative":"{/door/opn} {/weather}","set":{"/door/open":true}}]}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:1:51 /prompts/0/when story-state-unknown",
                                      "prompts.json:2:25 /prompts/0/answers/0/narrative "
                                      "story-state-unknown"));
    EXPECT_THAT(messages, HasSubstr("did you mean \"/torch/lit\"?"));
    EXPECT_THAT(messages, HasSubstr("did you mean \"/door/open\"?"));
}

TEST_F(StoryCheck, WarnsOfMisspelledNamesThatAnAnswerSets) {
    toml("[state]\ntorch = {lit = true}\ndoor1 = 1\n");
    const auto set = [&](const std::string& operations) {
        write("prompts.json", R"({"prompts":[{"patterns":["a"],"answers":[{"narrative":"{/mood}",
"set":)" + operations + "}]}]}");
    };
    set(R"({"/torch/litt":true})");
    EXPECT_THAT(places(),
                ElementsAre("prompts.json:2:22 /prompts/0/answers/0/set story-state-unknown"));
    EXPECT_THAT(messages, HasSubstr("\"/torch/litt\" is not in [state], and nothing reads it; did "
                                    "you mean \"/torch/lit\"?"));
    set(R"({"/weather":1,"/mood":1,"/door2":1,"/torch":null})");
    EXPECT_THAT(places(), IsEmpty()) << messages;
    // A tool reads the name.
    set(R"({"/torch/litt":true})");
    write("tools/lamp.tool.json", R"({"state":["/torch/litt"]})");
    EXPECT_THAT(places(), IsEmpty()) << messages;
    write("tools/lamp.tool.json", R"({"state":["/torch/litt/deep"]})");
    EXPECT_THAT(places(), IsEmpty()) << messages;
    set(R"({"/wether":1})");
    write("state.schema.json", R"({"properties":{"weather":{}},"additionalProperties":true})");
    EXPECT_THAT(warning(), HasSubstr("did you mean \"/weather\"?"));
}

TEST_F(StoryCheck, StateSchemaHoldsForOperationsAndLists) {
    write("state.schema.json", R"({"properties":{"has":{"type":"array"},"oil":{"type":"integer"},)"
                               R"("name":{"type":"string"}}})");
    write("prompts.json", R"({"prompts":[{"patterns":["{x}"],"answers":[
{"when":{"/oil":{">":1},"/name":{"<":1}},"narrative":"n","set":{"/has":{"+":1},"/oil":{"+":1}}},
{"narrative":"n","set":{"/has/0":"q"}},
{"narrative":"n","set":{"/name":{"add":"{x}"},"/has":{"add":"{x}"}}}]}]})");
    places();
    EXPECT_THAT(messages, HasSubstr("\"/name\" must be a string, but \"<\" compares numbers"));
    EXPECT_THAT(messages, HasSubstr("\"/has\" must be an array, but \"+\" changes numbers"));
    EXPECT_THAT(messages, HasSubstr("\"/has/0\" is within a list, of which only the whole can be "
                                    "set"));
    EXPECT_THAT(messages, HasSubstr("\"/name\" must be a string, but \"add\" changes a list"));
    EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 4) << messages;
}

TEST_F(StoryCheck, StateShowsTheTypesWithoutASchema) {
    toml("[state]\nlit = false\noil = 2\nhas = []\nguest = false\nname = \"\"\n");
    const auto answer = [&](const std::string& when, const std::string& set) {
        write("prompts.json", R"({"prompts":[{"patterns":["{x}"],"answers":[{"narrative":"n",
"when":)" + when + ",\n\"set\":" + set +
                                  "}]}]}");
    };
    answer(R"({"/lit":"false"})", "{}");
    EXPECT_THAT(warning(), HasSubstr("\"/lit\" is true or false in [state], but is compared with a "
                                     "text; write it without quotes"));
    answer(R"({"/name":{">":1}})", "{}");
    EXPECT_THAT(warning(), HasSubstr("\"/name\" is a text in [state], but \">\" compares numbers"));
    answer(R"({"/name":{"contains":"A"}})", "{}");
    EXPECT_THAT(warning(), HasSubstr("is a text in [state], but is compared with a list"));
    answer(R"({"/name":{"count":{">":1}}})", "{}");
    EXPECT_THAT(warning(),
                HasSubstr("\"/name\" is a text in [state], but \"count\" is the number"));
    answer("{}", R"({"/oil":"-1"})");
    EXPECT_THAT(places(),
                ElementsAre("prompts.json:3:15 /prompts/0/answers/0/set story-state-type"));
    EXPECT_THAT(messages, HasSubstr("\"/oil\" is a number in [state], but is set to a text; write "
                                    "it without quotes"));
    answer("{}", R"({"/has":{"+":1}})");
    EXPECT_THAT(warning(), HasSubstr("\"/has\" is a list in [state], but \"+\" changes numbers"));
    answer("{}", R"({"/oil":{"add":"{x}"}})");
    EXPECT_THAT(warning(),
                HasSubstr("\"/oil\" is a number in [state], but \"add\" changes a list"));
    answer("{}", R"({"/has/0":"q"})");
    EXPECT_THAT(warning(), HasSubstr("\"/has/0\" is within a list"));
    for (const auto& [condition, set] :
         {std::pair(R"({"/oil":{"<":3},"/has":{"contains":"a"},"/name":false})",
                    R"({"/oil":{"+":1},"/has":{"remove":"{x}"},"/lit":true,"/name":null})"),
          std::pair(R"({"/guest":"Ann"})", R"({"/guest":"Ann"})"),
          std::pair(R"({"/guest":{"=":3}})", R"({"/guest":"{x}"})")}) {
        answer(condition, set);
        EXPECT_THAT(places(), IsEmpty()) << messages;
    }
}

TEST_F(StoryCheck, KnowsWhereNamesOfTheStateLead) {
    toml(R"([opening]
text = "t"
choices = ["take the rope"]
[state]
place = "hall"
bag = ["key"]
names = {rope = "Rope"}
[state.things]
rope = {at = "hall", text = "t"}
lamp = {at = "hall", text = "t", lit = false}
"{odd" = {at = "hall", text = "t"}
"{x}" = {at = "hall", text = "t"}
)");
    std::filesystem::remove_all(folder / "tools");
    const auto entry = [&](const std::string& pattern, const std::string& set,
                           const std::string& text = "t") {
        write("prompts.json", R"({"prompts":[{"patterns":[")" + pattern +
                                  R"("],"answers":[{"narrative":")" + text + R"(","set":)" + set +
                                  R"(}]},{"patterns":["take {y}"],
"when":{"/things/rope/lit":true},"answers":[{"narrative":"n"}]}],"always":["take the rope"]})");
        places();
        return messages;
    };
    EXPECT_EQ(entry("take {x:/things}", R"({"/things/{x}/lit":true,"/things/rope/ta":1})",
                    "{/things/{x}/text} {/things/{x}/lit} {/things/{x}/ta}"),
              "")
        << "one of the things has it, or gets it";
    EXPECT_THAT(entry("take {x:/things}", R"({"/things/{x}/lit":true})", "{/things/{x}/tetx}"),
                HasSubstr("\"/things/lamp/tetx\" is not in [state], and no answer sets it; did you "
                          "mean \"/things/lamp/text\"?"));
    EXPECT_THAT(entry("take {x:/things}", R"({"/things/{x}/lti":true})"),
                HasSubstr("did you mean \"/things/rope/lti\"?"));
    EXPECT_THAT(entry("take {x:/things}", R"({"/things/rope/lit":1,"/names/{x}":{"+":1}})"),
                HasSubstr("\"/names/rope\" is a text in [state], but \"+\" changes numbers"));
    EXPECT_THAT(
        entry("take {x:/place}", "{}"),
        HasSubstr("\"/place\" is a text in [state], but a name stands for a key of an object "
                  "or a text of a list"));
    EXPECT_THAT(entry("take {x:/bag}", R"({"/bag/{x}":true})"),
                HasSubstr("\"/bag/0\" is within a list"));
    EXPECT_THAT(entry("take {x:/thing}", "{}"), HasSubstr("did you mean \"/things\"?"));
    EXPECT_THAT(entry("take {x:/nowhere/{/place}}", "{}"),
                HasSubstr("\"/nowhere\" is not in [state], and no answer sets it\n"));
    write("state.schema.json",
          R"({"properties":{"things":{"additionalProperties":{"type":"object"}},
"bag":{"type":"array"},"place":{"type":"string"},"names":{}},"additionalProperties":false})");
    EXPECT_THAT(entry("take {x:/things}", R"({"/bag/{x}":true})"), HasSubstr("is within a list"));
    EXPECT_THAT(entry("take {x:/thing}", "{}"), HasSubstr("the state has no \"/thing\""));
    EXPECT_THAT(entry("take {x:/things}", R"({"/things/{x}":5})"),
                HasSubstr("\"/things/lamp\" is an integer but must be an object"));
}

TEST_F(StoryCheck, NamesAreDifferentWordsThatAPlayerCanWrite) {
    std::filesystem::remove_all(folder / "tools");
    toml(
        "[state]\nthings = [\"Lamp\", \"lamp\", \"the lamp\", \"a\", \"...\", \"{odd\", "
        "\"a{}b\"]\n");
    write("prompts.json", R"({"prompts":[
{"patterns":["x {t:/things}","the {t:/things}"],"answers":[{"narrative":"{/things/{t}/x}"}]},
{"patterns":["x {u:/things}","my {t:/things}"],"answers":[{"narrative":"n","choices":["x lamp","x hat"]}]}],
"always":["x lamp"]})");
    EXPECT_THAT(places(),
                ElementsAre("prompts.json:2:14 /prompts/0/patterns/0 story-name-hidden",
                            "prompts.json:2:14 /prompts/0/patterns/0 story-name-hidden",
                            "prompts.json:3:14 /prompts/1/patterns/0 story-pattern-shadowed",
                            "prompts.json:3:96 /prompts/1/answers/0/choices/1 "
                            "story-choice-unmatched"));
    EXPECT_THAT(messages, HasSubstr("\"lamp\" at \"/things\" has the same words as \"Lamp\""));
    EXPECT_THAT(messages,
                HasSubstr("\"...\" at \"/things\" has no word that a player could write"));
}

TEST_F(StoryCheck, WarnsOfPatternsThatAreNeverUsed) {
    write("prompts.json", R"({"prompts":[
{"patterns":["take {x}", "go"],"answers":[{"narrative":"n"}]},
{"patterns":["Go!", "take the lamp", "take {y} now", "takes it"],"answers":[{"narrative":"n"}]}]})");
    EXPECT_THAT(places(),
                ElementsAre("prompts.json:3:14 /prompts/1/patterns/0 story-pattern-shadowed",
                            "prompts.json:3:21 /prompts/1/patterns/1 story-pattern-shadowed",
                            "prompts.json:3:38 /prompts/1/patterns/2 story-pattern-shadowed"));
    EXPECT_THAT(messages, HasSubstr("because the pattern \"take {x}\" in line 2 matches"));
    write("prompts.json", R"({"prompts":[
{"patterns":["go"],"when":{"/lit":true},"answers":[{"narrative":"n"}]},
{"patterns":["go"],"answers":[{"when":{"/lit":false},"narrative":"n"}]},
{"patterns":["go"],"answers":[{"narrative":"n"}]}]})");
    EXPECT_THAT(places(), IsEmpty()) << "conditions let later ones through" << messages;
    write("prompts.json", R"({"prompts":[
{"patterns":["take {x}","take {x} now"],"when":{"/lit":true},"answers":[{"narrative":"n"}]}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:2:25 /prompts/0/patterns/1 "
                                      "story-pattern-shadowed"))
        << "the condition is that of both";
    write("prompts.json", R"({"prompts":[
{"patterns":["go"],"answers":[{"plan":{"tools":[{"toolId":"a","toolPath":"tools/lamp"}]}}]},
{"patterns":["go"],"answers":[{"narrative":"n"}]}]})");
    EXPECT_THAT(places(), IsEmpty()) << "the tool may fail" << messages;
}

TEST_F(StoryCheck, WarnsOfPatternsThatLookLikeRegularExpressions) {
    write("prompts.json",
          R"({"prompts":[{"patterns":["take .*"],"answers":[{"narrative":"n"}]}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:1:26 /prompts/0/patterns/0 prompts-pattern"));
    EXPECT_THAT(messages, HasSubstr("{thing} stands for any words"));
}

TEST_F(StoryCheck, WarnsOfAnswersThatAreNeverGiven) {
    write("prompts.json", R"({"prompts":[{"patterns":["a"],"answers":[
{"when":{"/x":1},"narrative":"1"},{"plan":{"tools":[{"toolId":"a","toolPath":"tools/lamp"}]}},
{"narrative":"2"},
{"narrative":"3"}]}],"unmatched":[{"narrative":"4"},{"narrative":"5"}]})");
    EXPECT_THAT(places(),
                ElementsAre("prompts.json:4:1 /prompts/0/answers/3 story-answer-unreached",
                            "prompts.json:4:53 /unmatched/1 story-answer-unreached"));
}

TEST_F(StoryCheck, WarnsOfAnswersAfterWhichNothingIsOffered) {
    write("prompts.json", R"({"prompts":[{"patterns":["a"],"answers":[
{"narrative":"1","choices":["a"],"when":{"/x":1}},{"narrative":"2","when":{"/x":2}},
{"narrative":"3","ending":"e"}]}]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:2:51 /prompts/0/answers/1 story-dead-end"));
    write("prompts.json", R"({"prompts":[{"patterns":["a"],"answers":[{"narrative":"1"}]}]})");
    EXPECT_THAT(places(), IsEmpty()) << "players of this story type" << messages;
}

TEST_F(StoryCheck, WarnsOfToolsThatNothingUses) {
    tool("tools/lamp");
    add("tools/rope", kProgram);
    write("tools/rope.tool.json", "{}");
    EXPECT_THAT(places(), ElementsAre("tools/rope:0:0  story-tool-unused"));
    tool("launcher:tools/rope");
    EXPECT_THAT(places(), ElementsAre("tools/lamp:0:0  story-tool-unused"));
    tool("tools/{where}");
    EXPECT_THAT(places(), IsEmpty()) << "any tool may be meant" << messages;
}

TEST_F(StoryCheck, WarnsOfChoicesOfAnswersThatNothingMatches) {
    write("prompts.json", R"({"prompts":[{"patterns":["a","b {c}"],"answers":[
{"narrative":"1","choices":["a","b x",{"text":"c"},"{prompt}"]}]}],"always":["d"]})");
    EXPECT_THAT(places(), ElementsAre("prompts.json:2:47 /prompts/0/answers/0/choices/2/text "
                                      "story-choice-unmatched",
                                      "prompts.json:2:78 /always/0 story-choice-unmatched"));
}

}  // namespace
