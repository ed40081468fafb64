// SPDX-License-Identifier: Apache-2.0
// A session and its plugins through the C ABI: which plugins are loaded, which are called, and the
// consequences of violations (docs/plugin-rules.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "plugin/host.hpp"
#include "support/folders.hpp"
#include "support/variable.hpp"

namespace narratoria::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::string library(const std::string& name) {
    return test::in_build("tests/plugins/") + name + ".so";
}

// A story with libraries in plugins/, and a session of it.
class PluginTest : public PluginHostTest {
protected:
    // Settings for test.probe, which writes its notes to the file "notes".
    void story(const std::string& words, const std::vector<std::string>& libraries = {"probe"},
               const std::string& more = "") {
        std::string toml = "title = \"Plugins\"\n" + more + "\n";
        for (const std::string id : {"test.probe", "test.second"}) {
            if (id == "test.second" &&
                std::find(libraries.begin(), libraries.end(), "second") == libraries.end()) {
                continue;
            }
            toml += "[plugins.\"" + id + "\"]\nfile = \"" + folder / "notes" + "\"\ndo = \"" +
                    words + "\"\n";
        }
        folder.write("story.toml", toml);
        for (const std::string& name : libraries) {
            std::filesystem::create_directories(folder / "plugins");
            std::filesystem::create_symlink(library(name), folder / ("plugins/" + name + ".so"));
        }
    }

    void open(SessionOptions options = {}) {
        open_engine();
        options.story = folder.path();
        open_session(options);
    }
    // A tool that prints `events`.
    std::string says(const std::vector<std::string>& events) {
        std::string script = "#!/bin/sh\n";
        for (const std::string& event : events) script += "printf '%s\\n' '" + event + "'\n";
        folder.tool("says", script + "printf '%s\\n' '" + kDone + "'\n");
        return "says";
    }
    static std::string ui(const std::string& name, const std::string& payload = "") {
        return event("ui_event", "\"event\":\"" + name + "\"" +
                                     (payload.empty() ? "" : ",\"payload\":" + payload));
    }
    std::vector<std::string> notes() const { return lines_of(folder.read("notes")); }
    Json plugin(const std::string& id) const {
        const Json all(session->plugins().view());
        for (const Json& each : all.elements()) {
            if (each["id"].string() == id || each["path"].string() == id) return each;
        }
        throw std::out_of_range("no plugin " + id + " in " + all.text());
    }
};

// ---------------------------------------------------------------- loading

TEST_F(PluginTest, StoryPluginsAreLoadedWithTheirSettings) {
    story("");
    open();
    EXPECT_EQ(plugin("test.probe")["state"].string(), "active");
    EXPECT_EQ(plugin("test.probe")["version"].string(), "1.2.3");
    close();
    EXPECT_THAT(notes(), ElementsAre("test.probe init " + folder.path(), "test.probe deinit"));
}

TEST_F(PluginTest, InstancesEndInTheReverseOrder) {
    story("", {"probe", "second"});
    open();
    close();
    EXPECT_THAT(notes(),
                ElementsAre("test.probe init " + folder.path(), "test.second init " + folder.path(),
                            "test.second deinit", "test.probe deinit"));
}

TEST_F(PluginTest, EachSessionHasItsOwnInstances) {
    story("");
    open();
    const Session other(*engine, {.story = folder.path()});
    EXPECT_THAT(notes(), ElementsAre(HasSubstr("init"), HasSubstr("init")));
}

TEST_F(PluginTest, HostMayDisablePlugins) {
    story("");
    open({.without_plugins = true});
    const Json all(session->plugins().view());
    ASSERT_EQ(all.size(), 1U) << all.text();
    EXPECT_EQ(all[0]["id"].string(), "template") << "the template narrator is built in";
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(PluginTest, HostMayListAFile) {
    folder.write("story.toml", "title = \"None\"\n");
    const std::string file = library("probe");
    const std::string_view list[] = {file};
    open({.plugins = list});
    EXPECT_EQ(plugin("test.probe")["state"].string(), "active");
}

TEST_F(PluginTest, HostSettingsOverrideTheStorys) {
    story("decline");
    open({.plugin_settings = R"({"test.probe":{"do":"read_state"},"test.stranger":{}})"});
    EXPECT_THAT(log, HasSubstr("settings for \"test.stranger\", but no plugin with that id"));
    EXPECT_THAT(log, Not(HasSubstr("settings for \"test.probe\"")));
    run_path(says({ui("probe.show")}));
    EXPECT_THAT(notes(), Contains(HasSubstr("test.probe ui"))) << "\"do\" of the host";
    EXPECT_THAT(notes(), Contains(HasSubstr("state \"probe\""))) << "\"file\" of the story";
}

TEST_F(PluginTest, NonObjectSettingsAreRefusedWithTheirPosition) {
    story("");
    for (const auto& [settings, part] :
         {std::pair("[]", "plugin_settings must be a JSON object"), std::pair("{", "are not valid"),
          std::pair(R"({"a/b":1})", "/a~1b")}) {
        try {
            open({.plugin_settings = settings});
            ADD_FAILURE() << settings << " was accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), NAR_INVALID_DOCUMENT);
            EXPECT_EQ(error.code(), "PLUGIN_SETTINGS");
            EXPECT_THAT(std::string(error.message()) + std::string(error.details()),
                        HasSubstr(part));
        }
    }
}

TEST_F(PluginTest, MissingPluginIsReportedAndTheSessionContinues) {
    folder.write("story.toml", "title = \"None\"\n[plugins.\"test.nowhere\"]\n");
    const std::string_view list[] = {"/no/such/file.so"};
    open({.plugins = list});
    EXPECT_THAT(plugin("test.nowhere")["reason"].string(), HasSubstr("no folder has a plugin"));
    EXPECT_THAT(plugin("/no/such/file.so")["reason"].string(), HasSubstr("No such file"));
    EXPECT_THAT(log, HasSubstr("test.nowhere is left out"));
    engine->run_until_idle();
    std::string warnings;
    for (const auto& record : recorder.of(Kind::Warning)) warnings += record.body.text() + "\n";
    EXPECT_THAT(warnings, HasSubstr(R"("code":"PLUGIN_LEFT_OUT","message":"plugin test.nowhere)"));
    EXPECT_THAT(warnings, HasSubstr("plugin /no/such/file.so is left out"));
    EXPECT_TRUE(run(plan_of({}))["success"].boolean());
}

TEST_F(PluginTest, RefusingEntryIsReportedWithTheReason) {
    story("", {"refuses"});
    open();
    EXPECT_EQ(plugin("test.refuses")["state"].string(), "refused");
    EXPECT_THAT(plugin("test.refuses")["reason"].string(),
                HasSubstr("it refuses this host (ABI 1.0): it wants a host of ABI 9"));
}

TEST_F(PluginTest, PluginWithoutAReadableIdIsSkipped) {
    story("", {"probe", "long_id", "null_id"});
    open();
    EXPECT_EQ(plugin("test.long_id")["state"].string(), "refused");
    EXPECT_THAT(plugin("test.long_id")["reason"].string(),
                HasSubstr("the size of its id is 6148914691236517205 bytes"));
    EXPECT_EQ(plugin("test.null_id")["state"].string(), "refused");
    EXPECT_THAT(plugin("test.null_id")["reason"].string(),
                HasSubstr("its id has a size of 12 bytes but no data"));
    EXPECT_THAT(log, HasSubstr("plugin test.long_id is left out"));
    EXPECT_EQ(plugin("test.probe")["state"].string(), "active");
}

TEST_F(PluginTest, FailedInitIsReportedWithTheReason) {
    story("fail_init");
    open();
    EXPECT_THAT(plugin("test.probe")["reason"].string(), HasSubstr("the moon is in the wrong"));
    EXPECT_EQ(plugin("test.probe")["code"].string(), "WRONG_MOON");
}

TEST_F(PluginTest, ThrowingInitSkipsThePlugin) {
    story("throw_init");
    open();
    EXPECT_THAT(plugin("test.probe")["reason"].string(), HasSubstr("no init today"));
}

TEST_F(PluginTest, StateCannotBeReadInInit) {
    story("state_in_init");
    open();
    EXPECT_THAT(notes(), Contains("state in init: " + std::to_string(NAR_GONE)));
    EXPECT_THAT(log, HasSubstr("state.read was called in init or deinit"));
}

TEST_F(PluginTest, SafeModeLoadsOnlyHostAndInstalledPlugins) {
    story("");
    const Variable safe_mode("NARRATORIA_SAFE_MODE", "1");
    const std::string file = library("second");
    const std::string_view list[] = {file};
    open({.plugins = list});
    EXPECT_EQ(plugin("test.second")["state"].string(), "active");
    EXPECT_THAT(plugin("test.probe")["reason"].string(), HasSubstr("NARRATORIA_SAFE_MODE is set"));
}

TEST_F(PluginTest, SearchLoadsNothingAndExplainsEachFile) {
    story("", {"probe"});
    folder.write("plugins/text.so", "no library");
    nar_text* text = nullptr;
    const std::string path = folder.path();
    ASSERT_EQ(nar_plugins_search({path.data(), path.size()}, nullptr, 0, &text, nullptr), NAR_OK);
    const Json found(detail::to_view(nar_text_view(text)));
    nar_text_release(text);
    int of_the_story = 0;
    for (const Json& place : found["places"].elements()) {
        if (place["from"].string() != "the story") continue;
        ++of_the_story;
        ASSERT_EQ(place["files"].size(), 2U);
        EXPECT_EQ(place["files"][0]["verdict"].string(), "loads");
        EXPECT_EQ(place["files"][0]["id"].string(), "test.probe");
        EXPECT_EQ(place["files"][1]["verdict"].string(), "refused");
        EXPECT_EQ(place["files"][1]["reason"].string(), "it is not a shared library");
    }
    EXPECT_EQ(of_the_story, 1);
    EXPECT_THAT(notes(), IsEmpty());
}

// ---------------------------------------------------------------- user interface

TEST_F(PluginTest, HandlerGetsTheEventsItNames) {
    story("");
    open();
    run_path(says({ui("probe.show", R"({"a":[1, 2]})"), ui("probe.other")}));
    EXPECT_THAT(notes(), IsSupersetOf({R"(test.probe ui probe.show {"a":[1, 2]} by t)",
                                       "test.probe ui probe.other {} by t"}));
    EXPECT_THAT(recorder.of(Kind::UiPlaceholder), IsEmpty());
}

TEST_F(PluginTest, HighestPriorityHandlerIsAskedFirst) {
    story("", {"probe", "second"});  // the plugin "second" has priority 5
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_THAT(notes(), Contains("test.second ui probe.show {} by t"));
    EXPECT_THAT(notes(), Not(Contains("test.probe ui probe.show {} by t")));
}

TEST_F(PluginTest, FailedHandlerIsNamedAndTheNextIsAsked) {
    story("fail_handler");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_EQ(recorder.of(Kind::UiPlaceholder).size(), 1U);
    EXPECT_THAT(log, HasSubstr("plugin test.probe: its ui handler failed (the plugin failed"));
}

TEST_F(PluginTest, ThrowingHandlerIsDisabledAndTheSessionContinues) {
    story("throw_handler");
    open();
    const Json tool = run_path(says({ui("probe.show"), ui("probe.show")}));
    EXPECT_TRUE(tool["ok"].boolean());
    EXPECT_EQ(recorder.of(Kind::UiPlaceholder).size(), 2U);
    EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled");
    EXPECT_THAT(log, HasSubstr("plugin test.probe is disabled for this session"));
    EXPECT_EQ(recorder.one(Kind::Warning).body["code"].string(), "PLUGIN_DISABLED");
    close();
    EXPECT_THAT(notes(), Contains("test.probe deinit")) << "deinit joins the plugin's threads";
}

TEST_F(PluginTest, SlowHandlerIsNamed) {
    story("slow_handler");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_THAT(log, HasSubstr("plugin test.probe: its ui handler held the engine thread for"));
}

TEST_F(PluginTest, HandlerMayReadAndPatchTheState) {
    story("read_state");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_THAT(notes(), Contains("state \"probe\" missing " + std::to_string(NAR_NOT_FOUND)));
    const Json history(session->history().view());
    EXPECT_EQ(history["patches"][0]["toolId"].string(), "test.probe");
}

TEST_F(PluginTest, CallFromAnotherThreadIsRefusedAndReported) {
    story("wrong_thread");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_THAT(notes(), Contains("wrong thread " + std::to_string(NAR_WRONG_THREAD)));
    EXPECT_THAT(log, HasSubstr("state.read was called outside the engine thread"));
}

TEST_F(PluginTest, PostedFunctionRunsOnTheEngineThread) {
    story("post");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_TRUE(until([&] { return folder.read("notes").find("posted 1") != std::string::npos; }));
}

TEST_F(PluginTest, TimerCallsBackOnce) {
    story("timer");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_TRUE(until([&] { return folder.read("notes").find("timer") != std::string::npos; }));
}

TEST_F(PluginTest, ThrowingPostDisablesThePluginAndDropsItsPosts) {
    story("throw_posted");
    open();
    EXPECT_TRUE(run_path(says({ui("probe.show")}))["ok"].boolean());
    engine->run_until_idle();
    EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled");
    EXPECT_THAT(notes(), Contains("dropped"));
    EXPECT_THAT(notes(), Not(Contains("posted all the same")));
    EXPECT_TRUE(run_path(says({ui("probe.show")}))["ok"].boolean()) << "the session continues";
}

TEST_F(PluginTest, EndlesslyPostingPluginBlocksNothing) {
    story("for_ever");
    open();
    EXPECT_TRUE(run_path(says({ui("probe.show")}))["ok"].boolean());
    EXPECT_FALSE(engine->is_busy());
    engine->run_until_idle();
    engine->run_for(std::chrono::microseconds(500));
}

TEST_F(PluginTest, ThrowingDeinitIsReported) {
    story("throw_deinit");
    open();
    close();
    EXPECT_THAT(log, HasSubstr("plugin test.probe: deinit threw an exception: no end today"));
}

// ---------------------------------------------------------------- assets

class AssetPluginTest : public PluginTest {
protected:
    std::string asset(const std::string& id, const std::string& type) {
        const std::string path = folder.write(id, "content");
        return event("asset", "\"assetId\":\"" + id + "\",\"kind\":\"image\",\"mediaType\":\"" +
                                  type + "\",\"path\":\"" + path + "\"");
    }
    size_t place_of(const std::string& note) const {
        const std::vector<std::string> all = notes();
        return static_cast<size_t>(std::find(all.begin(), all.end(), note) - all.begin());
    }
};

TEST_F(AssetPluginTest, AssetIsRenderedAfterItsPlan) {
    story("");
    open();
    run_path(says({asset("torch", "Image/PNG; q=1"), ui("probe.show")}));
    EXPECT_LT(place_of("test.probe ui probe.show {} by t"),
              place_of("test.probe asset torch Image/PNG; q=1"));
    EXPECT_THAT(notes(), Contains("test.probe asset torch Image/PNG; q=1"));
}

TEST_F(AssetPluginTest, AssetNamedByAUiEventIsRenderedOnce) {
    story("");
    open();
    run_path(says(
        {asset("torch", "image/png"), ui("probe.show", R"({"pictures":[{"assetId":"torch"}]})")}));
    const std::vector<std::string> all = notes();
    EXPECT_EQ(std::count(all.begin(), all.end(), "test.probe asset torch image/png"), 1);
    EXPECT_LT(place_of("test.probe asset torch image/png"),
              place_of(R"(test.probe ui probe.show {"pictures":[{"assetId":"torch"}]} by t)"));
}

TEST_F(AssetPluginTest, UnrenderedAssetIsAPlaceholderCard) {
    story("");
    open();
    run_path(says({asset("song", "audio/ogg")}));
    const Record card = recorder.one(Kind::AssetPlaceholder, "t");
    EXPECT_EQ(card.body["assetId"].string(), "song");
    EXPECT_EQ(card.body["mediaType"].string(), "audio/ogg");
    EXPECT_EQ(card.body["path"].string(), folder / "song");
}

TEST_F(AssetPluginTest, ThrowingRendererLeavesAPlaceholder) {
    story("throw_renderer");
    open();
    run_path(says({asset("torch", "image/png")}));
    EXPECT_EQ(recorder.of(Kind::AssetPlaceholder).size(), 1U);
    EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled");
}

// ---------------------------------------------------------------- sinks

TEST_F(PluginTest, SinkGetsEveryRecord) {
    story("count_sink");
    open();
    run_path(says({test::log("m")}));
    const std::vector<std::string> all = notes();
    EXPECT_EQ(static_cast<size_t>(
                  std::count_if(all.begin(), all.end(),
                                [](const std::string& note) { return note.starts_with("sink "); })),
              recorder.records.size());
}

TEST_F(PluginTest, ThrowingSinkIsDisabled) {
    story("throw_sink");
    open();
    EXPECT_TRUE(run_path(says({ui("probe.show")}))["ok"].boolean());
    EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled");
    EXPECT_THAT(log, HasSubstr("its event sink threw an exception: no more events"));
    EXPECT_EQ(recorder.of(Kind::UiPlaceholder).size(), 1U) << "the plugin no longer handles events";
}

TEST_F(PluginTest, SinkThatModifiesRecordsIsDisabledAndTheyAreRestored) {
    for (const std::string way : {"write_sink", "write_body_sink"}) {
        story(way,
              way == "write_sink" ? std::vector<std::string>{"probe"} : std::vector<std::string>());
        open();
        EXPECT_TRUE(run_path(says({ui("probe.show")}))["ok"].boolean());
        EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled") << way;
        EXPECT_THAT(log, HasSubstr("plugin test.probe is disabled for this session: its event sink "
                                   "wrote to a record"));
        uint64_t last = 0;
        for (const auto& record : recorder.records) {
            EXPECT_GT(record.seq, last) << way;
            last = record.seq;
            EXPECT_TRUE(record.body.text().starts_with('{')) << record.body.text();
        }
        close();
        recorder.records.clear();
        log.clear();
    }
}

TEST_F(PluginTest, SlowSinkIsNamed) {
    story("slow_sink");
    open();
    session->detach(recorder_number);
    run_path(says({}));
    EXPECT_THAT(log, HasSubstr("plugin test.probe: its event sink held the engine thread"));
}

TEST_F(PluginTest, SlowSinkAmongSeveralIsFoundTheSecondTime) {
    story("slow_sink");
    open();
    run_path(says({}));
    EXPECT_THAT(log, HasSubstr("its event sink, or another of the 2 sinks called together, held"));
    EXPECT_THAT(log, Not(HasSubstr("its event sink held")));
    run_path(says({}));
    EXPECT_THAT(log, HasSubstr("plugin test.probe: its event sink held the engine thread"));
}

// ---------------------------------------------------------------- narrators

TEST_F(PluginTest, NarratorMayAnswerFromItsOwnThread) {
    story("", {"probe"}, "[narrator]\nname = \"test.probe\"");
    open();
    const Told told = prompt("hello");
    EXPECT_EQ(told.outcome, Outcome::Completed);
    EXPECT_EQ(told.narrative, "The probe speaks.");
}

TEST_F(PluginTest, HostNarratorTakesPrecedence) {
    story("");
    folder.write(
        "prompts.json",
        R"({"prompts":[{"patterns":["hello"],"answers":[{"narrative":"The template speaks."}]}]})");
    open({.narrator_id = "test.probe"});
    EXPECT_EQ(prompt("hello").narrative, "The probe speaks.");
}

TEST_F(PluginTest, MissingNarratorIsRefusedByName) {
    story("");
    try {
        open({.narrator_id = "test.nobody"});
        FAIL() << "the story must be refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), NAR_NOT_FOUND);
        EXPECT_THAT(error.what(), HasSubstr("test.nobody"));
    }
}

TEST_F(PluginTest, SecondAnswerIsStaleAndReported) {
    story("twice", {"probe"}, "[narrator]\nname = \"test.probe\"");
    open();
    EXPECT_EQ(prompt("hello").narrative, "The probe speaks.");
    EXPECT_THAT(notes(), Contains("second " + std::to_string(NAR_STALE)));
    EXPECT_THAT(log, HasSubstr("it replied to a request to which it had already replied"));
}

TEST_F(PluginTest, AnsweredRequestIsNotCancelled) {
    story("at_once", {"probe"}, "[narrator]\nname = \"test.probe\"");
    open();
    session->prompt("hello");
    engine->run_for(std::chrono::microseconds(0));
    close();
    EXPECT_THAT(notes(), Not(Contains(HasSubstr("cancelled"))));
}

TEST_F(PluginTest, OnlyTheSessionsNarratorMayAnswer) {
    story("answer_for_others");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_THAT(notes(), Contains("taken 0"));
    EXPECT_THAT(log, HasSubstr("is not this session's narrator"));
}

TEST_F(PluginTest, ErrorSaysWhyTheNarratorIsMissing) {
    story("fail_init", {"probe"}, "[narrator]\nname = \"test.probe\"");
    try {
        open();
        FAIL() << "the story must be refused";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("the moon is in the wrong house"));
    }
}

// The plugin's narrator is valid, but another extension of the plugin is not.
TEST_F(PluginTest, NarratorOfARefusedPluginIsNotAsked) {
    story("", {"bad_schema"}, "[narrator]\nname = \"test.bad_schema\"");
    try {
        open();
        FAIL() << "the story must be refused";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("/properties/a/type: a type must be"));
    }
}

TEST_F(PluginTest, FailedGenerationIsExplainedInTheStream) {
    story("silent", {"probe"}, "[narrator]\nname = \"test.probe\"\n[times]\nnarrator_ms = 5");
    open();
    prompt("hello");
    const auto warnings = recorder.of(Kind::Warning);
    ASSERT_EQ(warnings.size(), 5U);
    EXPECT_EQ(warnings[4].body["code"].string(), "NARRATOR_TIMEOUT");
    EXPECT_THAT(warnings[4].body["message"].string(),
                HasSubstr("within 5 ms (narrator_ms of [times]) (generation 5 of 5)"));
}

TEST_F(PluginTest, SilentNarratorIsCancelledAndItsLateAnswerGone) {
    story("silent", {"probe"}, "[narrator]\nname = \"test.probe\"\n[times]\nnarrator_ms = 5");
    open();
    const Told told = prompt("hello");
    EXPECT_EQ(told.outcome, Outcome::Fallback);
    EXPECT_EQ(told.generations, 5U);
    EXPECT_THAT(notes(), Contains("cancelled 1 late " + std::to_string(NAR_GONE)));
}

TEST_F(PluginTest, ThrowingNarratorIsDisabledAndTheFallbackUsed) {
    story("throw_narrator", {"probe"}, "[narrator]\nname = \"test.probe\"");
    open();
    EXPECT_EQ(prompt("hello").outcome, Outcome::Fallback);
    EXPECT_EQ(prompt("again").outcome, Outcome::Fallback) << "the session continues";
    EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled");
}

TEST_F(PluginTest, HandlerMaySubmitTheNextPrompt) {
    story("prompt_again");
    folder.write("prompts.json", R"({"prompts":[
        {"patterns":["go"],"answers":[{"plan":{"tools":[{"toolId":"t","toolPath":"says","input":{}}]}}]},
        {"patterns":["again"],"answers":[{"narrative":"Once more."}]}]})");
    says({ui("probe.show")});
    open();
    prompt("go");
    EXPECT_THAT(notes(), Contains("prompt 0"));
    EXPECT_EQ(recorder.of(Kind::Prompt).size(), 2U);
}

TEST_F(PluginTest, HandlerMayCancelTheTurn) {
    story("cancel");
    folder.write("prompts.json", R"({"prompts":[
        {"patterns":["go"],"answers":[{"plan":{"tools":[{"toolId":"t","toolPath":"says","input":{}}]}}]}]})");
    folder.tool("says", "#!/bin/sh\nprintf '%s\\n' '" + ui("probe.show") + "'\nexec sleep 60\n");
    open();
    EXPECT_EQ(prompt("go").outcome, Outcome::Cancelled);
    EXPECT_THAT(notes(), Contains("cancel 0"));
}

TEST_F(PluginTest, PluginPatchIsInTheStreamWithItsId) {
    story("read_state");
    open();
    run_path(says({ui("probe.show")}));
    EXPECT_EQ(recorder.one(Kind::StatePatched).text,
              R"({"patch":{"patched":{"by":"probe"}},"by":"test.probe"})");
}

// ---------------------------------------------------------------- tool runners

TEST_F(PluginTest, RunnerGetsToolsOfItsScheme) {
    story("");
    open();
    const Json tool = run_path("probe:anything");
    EXPECT_TRUE(tool["ok"].boolean()) << tool.text();
    EXPECT_EQ(tool["events"].size(), 2U);
    EXPECT_EQ(tool["result"]["sum"].integer(), 3);
    EXPECT_EQ(tool["stderr"].string(), "a word on the side");
    EXPECT_THAT(tool["attempts"][0].text(), HasSubstr("512"))
        << "the memory that the runner reports";
}

TEST_F(PluginTest, LargeOutputIsCompleteOrderedAndThrottled) {
    story("");
    open();
#ifdef NARRATORIA_SANITIZED  // the thread sanitizer needs too much memory otherwise
    const std::string path = "probe:small_flood";
    const size_t count = 5000;
#else
    const std::string path = "probe:flood";
    const size_t count = 200000;
#endif
    const Json tool = run_path(path, R"("timeoutMs":60000)");
    EXPECT_TRUE(tool["ok"].boolean()) << tool.text().substr(0, 400);
    EXPECT_EQ(tool["events"].size(), count + 1);
    EXPECT_EQ(tool["events"][count - 1]["message"].string(), "number " + std::to_string(count - 1));
}

TEST_F(PluginTest, RunnerMayAnswerFromItsOwnThread) {
    story("");
    open();
    EXPECT_TRUE(run_path("probe:thread")["ok"].boolean());
}

TEST_F(PluginTest, RefusingRunnerGivesItsReasonAndCode) {
    story("");
    open();
    const Json tool = run_path("probe:refuse");
    EXPECT_EQ(tool["errorCode"].string(), "QUEUE_FULL");
    EXPECT_THAT(tool["error"].string(), HasSubstr("the queue is full"));
}

TEST_F(PluginTest, ThrowingRunnerIsDisabledAndItsAttemptFails) {
    story("");
    open();
    EXPECT_EQ(run_path("probe:throw")["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(plugin("test.probe")["state"].string(), "disabled");
    EXPECT_EQ(run_path("probe:anything")["errorCode"].string(), "SPAWN_FAILED");
}

TEST_F(PluginTest, InvalidEventIsAProtocolError) {
    story("");
    open();
    const Json tool = run_path("probe:garbage");
    EXPECT_EQ(tool["errorCode"].string(), "PROTOCOL_ERROR");
    EXPECT_THAT(tool["error"].string(), HasSubstr("line 1"));
    EXPECT_THAT(notes(), Contains("cancel 1"));
}

TEST_F(PluginTest, EndedInvocationIsNotCancelled) {
    story("");
    open();
    EXPECT_EQ(run_path("probe:garbage_and_end")["errorCode"].string(), "PROTOCOL_ERROR");
    EXPECT_THAT(notes(), Not(Contains(HasSubstr("cancel"))));
}

TEST_F(PluginTest, CancelledInvocationCannotBeHandedOver) {
    story("run_in_cancel");
    open();
    run_path("probe:wait", R"("timeoutMs":30,"retryPolicy":{"maxRetries":0})");
    EXPECT_THAT(notes(), Contains("run " + std::to_string(NAR_GONE)));
}

TEST_F(PluginTest, DisabledPluginsInvocationsFailAtOnce) {
    story("throw_posted", {"probe"}, "[times]\ntry_ms = 0\nplan_ms = 0");
    open();
    const Json result = run(plan_of({entry("wait", "probe:wait", "\"async\":true"),
                                     entry("show", says({ui("probe.show")}), "\"async\":true")},
                                    "\"parallel\":true"));
    EXPECT_EQ(tool_of(result, "wait")["errorCode"].string(), "PLUGIN_DISABLED") << result.text();
}

TEST_F(PluginTest, SchemeMayContainAPlus) {
    story("", {"probe", "second"});
    open();
    EXPECT_TRUE(run_path("git+ssh:x")["ok"].boolean());
}

TEST_F(PluginTest, RunnerReportsHowItFailed) {
    story("");
    open();
    const Json code = run_path("probe:code");
    EXPECT_EQ(code["errorCode"].string(), "QUEUE_LOST");
    EXPECT_EQ(code["error"].string(), "the cluster forgot the job");
    EXPECT_EQ(run_path("probe:exit")["errorCode"].string(), "EXIT_STATUS");
}

TEST_F(PluginTest, SecondEndIsStaleAndReported) {
    story("");
    open();
    EXPECT_TRUE(run_path("probe:twice")["ok"].boolean());
    EXPECT_THAT(notes(), Contains("ended again " + std::to_string(NAR_STALE)));
    EXPECT_THAT(log, HasSubstr("ended an invocation twice"));
}

TEST_F(PluginTest, TimeoutCancelsARunner) {
    story("");
    open();
    const Json tool = run_path("probe:wait", R"("timeoutMs":30,"retryPolicy":{"maxRetries":0})");
    EXPECT_EQ(tool["state"].string(), "timeout") << tool.text();
    EXPECT_THAT(notes(), Contains("cancel 1"));
}

TEST_F(PluginTest, EndlessRunnerIsAbandonedAfterTheGracePeriod) {
    story("never_ends", {"probe"}, "[times]\ngrace_ms = 20");
    open();
    const Json tool = run_path("probe:never", R"("timeoutMs":30,"retryPolicy":{"maxRetries":0})");
    EXPECT_EQ(tool["state"].string(), "timeout") << tool.text();
}

TEST_F(PluginTest, RunnerIsCancelledWithItsSession) {
    story("");
    open();
    session->execute(plan_of({entry("t", "probe:wait")}), folder.path());
    ASSERT_TRUE(
        until([&] { return folder.read("notes").find("start probe:wait") != std::string::npos; }));
    close();
    EXPECT_THAT(notes(), Contains("cancel 1"));
}

TEST_F(PluginTest, FailedAttemptIsRetried) {
    story("");
    open();
    run_path("probe:exit", R"("retryPolicy":{"maxRetries":1,"backoffMs":1})");
    EXPECT_THAT(notes(),
                IsSupersetOf({"start probe:exit attempt 1", "start probe:exit attempt 2"}));
}

TEST_F(PluginTest, HandedOverToolRunsAsAProcessWithTheRequest) {
    story("");
    open();
    const Json tool = run_path("probe:run", R"("input":{"a":1})");
    EXPECT_TRUE(tool["ok"].boolean()) << tool.text();
    EXPECT_EQ(tool["result"]["input"]["a"].integer(), 1);
    EXPECT_THAT(notes(), Contains("run 0"));
}

TEST_F(PluginTest, ProgramNotOnThePathIsASpawnFailure) {
    story("");
    open();
    const Json tool = run_path("probe:run_missing");
    EXPECT_EQ(tool["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_THAT(tool["error"].string(), HasSubstr("no-such-program-anywhere"));
}

// ---------------------------------------------------------------- tools

TEST_F(PluginTest, ToolIsCalledByItsName) {
    story("");
    open();
    const Json tool = run_path("probe_add", R"("input":{"a":1})");
    EXPECT_TRUE(tool["ok"].boolean()) << tool.text();
    EXPECT_THAT(notes(), Contains(HasSubstr("invoke probe_add {")));
}

}  // namespace
}  // namespace narratoria::test
