// SPDX-License-Identifier: Apache-2.0
// Spec 000 and the events of spec 004 with real tools, through the host's interface. The decoder's
// own tests cover the form of a line; these cover the effect on the invocation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "conformance/stage.hpp"

namespace {

using namespace narratoria;
using namespace narratoria::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kAsset =
    R"("kind":"image","mediaType":"image/png","assetId":"torch","path":)";

// ---- §2 transport

// covers: 000-2.1-process
TEST(ToolProtocol, ToolIsASeparateProcess) {
    Stage stage;
    stage.folder.tool(
        "tool", R"(printf '{"version":"0","type":"done","ok":true,"result":{"pid":%d}}\n' $$)");
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    const int64_t pid = tool_of(result, "a")["result"]["pid"].integer();
    EXPECT_GT(pid, 1);
    EXPECT_NE(pid, ::getpid());
}

// covers: 000-2.2-stderr
TEST(ToolProtocol, StandardErrorIsUnrestricted) {
    Stage stage;
    stage.folder.tool("tool",
                      "echo 'careful: {\"type\":\"done\",\"ok\":false}' >&2\n"
                      "printf '\\377\\000binary\\n' >&2\n"
                      "head -c 300000 /dev/zero | tr '\\0' x >&2\n"
                      "echo the end >&2\n"
                      "echo '" +
                          kDone + "'");
    const Json tool = tool_of(stage.run(plan_of({entry("a", "tool")})), "a");
    EXPECT_EQ(tool["state"].string(), "completed");
    EXPECT_EQ(tool["events"].size(), 1u);
    const std::string kept = tool["stderr"].string();
    EXPECT_LE(kept.size(), 64u * 1024);
    EXPECT_GT(kept.size(), 60u * 1024);
    EXPECT_EQ(kept.substr(kept.size() - 9), "xthe end\n");
}

TEST(ToolProtocol, InvalidUtf8OnStandardErrorIsReplaced) {
    Stage stage;
    stage.folder.tool("tool", "printf 'a\\377b\\n' >&2\necho '" + kDone + "'");
    const Json tool = tool_of(stage.run(plan_of({entry("a", "tool")})), "a");
    EXPECT_EQ(tool["stderr"].string(),
              "a\xEF\xBF\xBD"
              "b\n");
}

// ---- §4.1 log

// covers: 000-4.1-log-is-no-error
TEST(ToolProtocol, LogIsNotAnErrorAtAnyLevel) {
    Stage stage;
    stage.folder.says("tool", {event("log", R"("level":"error","message":"the torch hisses")"),
                               event("log", R"("level":"warn","message":"and smokes")"), kDone});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    const Json tool = tool_of(result, "a");
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(tool["state"].string(), "completed");
    EXPECT_FALSE(tool.has("error"));
    EXPECT_EQ(result["failedTools"].size(), 0u);
    EXPECT_THAT(stage.recorder.of(Kind::Warning), IsEmpty());
}

// ---- §4.2 state_patch

// covers: 000-4.2-merge-objects, 000-4.2-merge-deep, 003-14.1-state
TEST(ToolProtocol, NestedObjectsAreMergedNotReplaced) {
    Stage stage({},
                {.state = R"({"inventory":{"torch":{"lit":false,"age":3},"rope":{}},"room":1})"});
    stage.folder.says("tool", {patch(R"({"inventory":{"torch":{"lit":true}}})"),
                               patch(R"({"inventory":{"key":{"bent":true}}})"), kDone});
    stage.run(plan_of({entry("a", "tool")}));
    EXPECT_EQ(stage.state(),
              Json(R"({"inventory":{"torch":{"lit":true,"age":3},"rope":{},"key":{"bent":true}},)"
                   R"("room":1})"));
}

// covers: 000-4.2-no-assumptions
TEST(ToolProtocol, ToolDoesNotSeeTheState) {
    const auto invocation_with = [](std::string_view state) {
        Stage stage({}, {.state = state, .seed = 1});
        stage.folder.tool("tool", "echo \"$invocation\" > invocation\necho '" + kDone + "'");
        stage.run(plan_of({entry("a", "tool", R"("input":{"x":1})")}));
        return stage.folder.read("invocation");
    };
    const std::string seen = invocation_with(R"({"a":1,"b":{"c":2}})");
    EXPECT_EQ(seen, invocation_with(R"({"b":{"c":2},"a":1,"more":{"of":"it"}})"));
    EXPECT_THAT(Json(seen).keys(), UnorderedElementsAre("requestId", "tool", "operation", "input",
                                                        "seed", "dependencies", "results"));
}

// covers: 004-state-incremental
TEST(ToolProtocol, PatchIsMergedBeforeTheNextEventIsPassedOn) {
    Stage stage;
    stage.folder.says("tool", {patch(R"({"step":1})"), log("one"), patch(R"({"step":2})"),
                               log("two"), patch(R"({"step":null})"), kDone});
    std::vector<std::string> seen;
    stage.recorder.on_record = [&](const Record& record) {
        if (record.kind == Kind::ToolEvent) seen.push_back(stage.state().text());
    };
    stage.run(plan_of({entry("a", "tool")}));
    EXPECT_THAT(seen, ElementsAre(R"({"step":1})", R"({"step":1})", R"({"step":2})",
                                  R"({"step":2})", "{}", "{}"));
}

// covers: 004-state-patches
TEST(ToolProtocol, HistoryHasTheWriterAndTimeOfEachPatch) {
    Limits limits;
    limits.history_patches = 2;
    Stage stage({.limits = limits});
    stage.folder.says("tool", {patch(R"({"step":1})"), patch(R"({"step":2})"), kDone});
    stage.run(plan_of({entry("a", "tool")}));
    stage.session.patch_state(R"({"mine":true})");
    const Json history(stage.session.history().view());
    EXPECT_EQ(history["limit"].integer(), 2);
    EXPECT_EQ(history["dropped"].integer(), 1);
    ASSERT_EQ(history["patches"].size(), 2u);
    const Json tools = history["patches"][0];
    EXPECT_EQ(tools["planId"].string(), "plan-1");
    EXPECT_EQ(tools["toolId"].string(), "a");
    EXPECT_EQ(tools["attempt"].integer(), 1);
    EXPECT_EQ(tools["patch"], Json(R"({"step":2})"));
    const auto events = stage.recorder.of(Kind::ToolEvent);
    EXPECT_EQ(tools["seq"].integer(), static_cast<int64_t>(events[1].seq));
    EXPECT_THAT(tools["time"].string(), ::testing::MatchesRegex("20..-..-..T..:..:.....*Z"));
    const Json own = history["patches"][1];
    EXPECT_EQ(own["toolId"].string(), "");
    EXPECT_EQ(own["patch"], Json(R"({"mine":true})"));
}

// covers: 000-4.2-patch-object, 004-state-patch-object
TEST(ToolProtocol, NonObjectPatchIsAProtocolError) {
    for (const std::string value : {"null", R"([{"lit":true}])", "5", "\"lit\"", "true", ""}) {
        Stage stage;
        const std::string broken = value.empty() ? event("state_patch") : patch(value);
        stage.folder.says("tool", {patch(R"({"before":1})"), broken, kDone});
        const Json result = stage.run(plan_of({entry("a", "tool")}));
        EXPECT_EQ(tool_of(result, "a")["errorCode"].string(), "PROTOCOL_ERROR") << value;
        EXPECT_THAT(tool_of(result, "a")["error"].string(), HasSubstr("patch")) << value;
        EXPECT_EQ(tool_of(result, "a")["events"].size(), 1u) << value;
        EXPECT_EQ(stage.state(), Json(R"({"before":1})")) << value;
    }
}

// covers: 000-8-tool-version
TEST(ToolProtocol, LineWithAnotherVersionIsAProtocolError) {
    for (const char* version : {R"("1")", R"("0.1")", "0", "null"}) {
        Stage stage;
        const std::string other = R"({"version":)" + std::string(version) +
                                  R"(,"type":"state_patch","patch":{"lit":true}})";
        stage.folder.says("tool", {log("first"), other, kDone});
        const Json tool = tool_of(stage.run(plan_of({entry("a", "tool")})), "a");
        EXPECT_EQ(tool["errorCode"].string(), "PROTOCOL_ERROR") << version;
        EXPECT_THAT(tool["error"].string(), HasSubstr("line 2")) << version;
        EXPECT_EQ(tool["events"].size(), 1u) << version;
        EXPECT_EQ(stage.state(), Json("{}")) << version;
    }
}

// covers: 000-6-input-ignored
TEST(ToolProtocol, ToolMayIgnoreOrCloseItsInput) {
    Stage stage;
    stage.folder.write("ignores", "#!/bin/sh\necho '" + kDone + "'\n", 0755);
    stage.folder.write("closes", "#!/bin/sh\nexec <&-\necho '" + kDone + "'\n", 0755);
    // More than a pipe's buffer holds.
    const std::string input = R"("input":{"text":")" + std::string(1 << 20, 'x') + "\"}";
    for (const char* name : {"ignores", "closes"}) {
        const Json result = stage.run(plan_of({entry("a", name, input)}));
        EXPECT_EQ(tool_of(result, "a")["state"].string(), "completed") << name;
    }
}

// ---- §4.3 and §7 assets

// covers: 000-4.3-register, 003-14.1-asset-registry, 003-13.4.7-asset, 004-asset-metadata
TEST(ToolProtocol, AssetIsRegisteredWithAllItsFields) {
    Stage stage;
    const std::string file = stage.folder.write("torch.png", "picture");
    stage.folder.says("tool", {log("painting"),
                               event("asset", std::string(kAsset) + json_text(file) +
                                                  R"(,"metadata":{"width":256,"tags":["lit"]})"),
                               kDone});
    stage.run(plan_of({entry("a", "tool")}));
    ASSERT_EQ(stage.assets().size(), 1u);
    const Json asset = stage.assets()[0];
    EXPECT_EQ(asset["planId"].string(), "plan-1");
    EXPECT_EQ(asset["toolId"].string(), "a");
    EXPECT_EQ(asset["attempt"].integer(), 1);
    EXPECT_EQ(asset["assetId"].string(), "torch");
    EXPECT_EQ(asset["kind"].string(), "image");
    EXPECT_EQ(asset["mediaType"].string(), "image/png");
    EXPECT_EQ(asset["path"].string(), file);
    EXPECT_EQ(asset["metadata"], Json(R"({"width":256,"tags":["lit"]})"));
    EXPECT_EQ(asset["seq"].integer(),
              static_cast<int64_t>(stage.recorder.of(Kind::ToolEvent)[1].seq));
    EXPECT_THAT(stage.recorder.of(Kind::AssetRefused), IsEmpty());
}

// covers: 000-4.3-kind
TEST(ToolProtocol, EveryKindOfAssetIsRegisteredUnchanged) {
    Stage stage;
    stage.folder.write("file", "");
    const std::vector<std::string> kinds = {"image", "audio", "video", "model", "smell", "Картина"};
    std::string script;
    for (const std::string& kind : kinds) {
        script +=
            "echo '" +
            event("asset", R"("mediaType":"application/octet-stream","path":"file","assetId":)" +
                               json_text(kind) + R"(,"kind":)" + json_text(kind)) +
            "'\n";
    }
    stage.folder.tool("tool", script + "echo '" + kDone + "'");
    stage.run(plan_of({entry("a", "tool")}));
    std::vector<std::string> registered;
    for (const Json& asset : stage.assets().elements())
        registered.push_back(asset["kind"].string());
    EXPECT_EQ(registered, kinds);
}

// covers: 000-4.3-temporary-folder
TEST(ToolProtocol, TemporaryFolderReachesTheToolAndIsKept) {
    std::string file;
    Folder temporary;
    {
        const std::string variable = "TMPDIR=" + temporary.path();
        Stage stage({.environment = {variable}});
        stage.folder.tool("tool",
                          "echo picture > \"$TMPDIR/torch.png\"\n"
                          "printf '{\"version\":\"0\",\"type\":\"asset\",\"assetId\":\"t\","
                          "\"kind\":\"image\",\"mediaType\":\"image/png\",\"path\":\"%s\"}\\n'"
                          " \"$TMPDIR/torch.png\"\necho '" +
                              kDone + "'");
        stage.run(plan_of({entry("a", "tool")}));
        ASSERT_EQ(stage.assets().size(), 1u);
        file = stage.assets()[0]["path"].string();
        EXPECT_EQ(file, temporary / "torch.png");
    }
    EXPECT_EQ(temporary.read("torch.png"), "picture\n");
}

// covers: 000-4.3-path-resolvable, 000-7-asset-paths
TEST(ToolProtocol, RelativeAssetPathStartsAtTheRoot) {
    Stage stage;
    stage.folder.write("pictures/torch.png", "picture");
    stage.folder.says("tool",
                      {event("asset", std::string(kAsset) + R"("pictures/torch.png")"), kDone});
    stage.run(plan_of({entry("a", "tool")}));
    ASSERT_EQ(stage.assets().size(), 1u);
    EXPECT_EQ(stage.assets()[0]["path"].string(), stage.folder / "pictures/torch.png");
}

// covers: 000-4.3-defer-rendering
TEST(ToolProtocol, RegisteringAnAssetDoesNotReadIt) {
    // Too large to read: rendering it would show in time and memory.
    Stage stage;
    stage.folder.tool("tool", "truncate -s 64G film.mp4\necho '" +
                                  event("asset", R"("assetId":"film","kind":"video",)"
                                                 R"("mediaType":"video/mp4","path":"film.mp4")") +
                                  "'\necho '" + kDone + "'");
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    ASSERT_EQ(stage.assets().size(), 1u);
    EXPECT_EQ(stage.assets()[0]["assetId"].string(), "film");
    // The events are published, but nothing renders the asset.
    EXPECT_EQ(stage.recorder.of(Kind::ToolEvent).size(), 2u);
}

// covers: 000-7-validate-files, 004-asset-path, 000-4.3-path-readable
TEST(ToolProtocol, AssetIsValidatedBeforeRegistration) {
    Stage stage;
    stage.folder.write("picture.png", "");
    ASSERT_EQ(::symlink("nowhere", (stage.folder / "dangling").c_str()), 0);
    stage.folder.fifo("fifo");
    const auto asset = [](std::string_view id, std::string_view path) {
        return event("asset", R"("kind":"image","mediaType":"image/png","assetId":)" +
                                  json_text(id) + R"(,"path":)" + json_text(path));
    };
    stage.folder.says("tool", {asset("missing", "no/such.png"), asset("folder", "."),
                               asset("dangling", "dangling"), asset("fifo", "fifo"),
                               asset("device", "/dev/null"), asset("good", "picture.png"), kDone});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean()) << "a refused asset does not fail the tool";
    EXPECT_EQ(tool_of(result, "a")["events"].size(), 7u);
    ASSERT_EQ(stage.assets().size(), 1u);
    EXPECT_EQ(stage.assets()[0]["assetId"].string(), "good");
    std::vector<std::string> refused;
    for (const Record& record : stage.recorder.of(Kind::AssetRefused)) {
        EXPECT_EQ(record.body["code"].string(), "ASSET_UNREADABLE");
        EXPECT_THAT(record.body["message"].string(),
                    ::testing::AnyOf(HasSubstr(stage.folder.path()), HasSubstr("/dev/null")));
        EXPECT_EQ(record.tool_id, "a");
        EXPECT_EQ(record.attempt, 1u);
        refused.push_back(record.body["assetId"].string());
    }
    EXPECT_THAT(refused, ElementsAre("missing", "folder", "dangling", "fifo", "device"));
}

// covers: 000-4.3-file-first
TEST(ToolProtocol, FileWrittenAfterItsEventIsRefused) {
    Stage stage;
    stage.folder.fifo("go");
    stage.folder.tool("tool", "echo '" + event("asset", std::string(kAsset) + R"("late.png")") +
                                  "'\nread -r go < go\necho picture > late.png\necho '" + kDone +
                                  "'");
    bool refused = false;
    stage.recorder.on_record = [&](const Record& record) {
        if (record.kind != Kind::AssetRefused) return;
        refused = true;
        EXPECT_FALSE(stage.folder.has("late.png"));
        // The tool continues: it has the fifo open for reading.
        std::ofstream(stage.folder / "go") << "go\n";
    };
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(refused);
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_TRUE(stage.folder.has("late.png"));
    EXPECT_EQ(stage.assets().size(), 0u);
}

// covers: 000-7-any-folder
TEST(ToolProtocol, AssetMayBeInAnyFolder) {
    Folder elsewhere;
    Stage stage;
    std::string script;
    const std::string folders[] = {elsewhere / "deep/er", stage.folder / "story/tools",
                                   stage.folder.path()};
    int number = 0;
    for (const std::string& folder : folders) {
        std::filesystem::create_directories(folder);
        const std::string file = folder + "/asset " + std::to_string(++number) + ".txt";
        script += "echo text > '" + file + "'\necho '" +
                  event("asset", R"("kind":"text","mediaType":"text/plain","assetId":")" +
                                     std::to_string(number) + R"(","path":)" + json_text(file)) +
                  "'\n";
    }
    stage.folder.tool("tool", script + "echo '" + kDone + "'");
    stage.run(plan_of({entry("a", "tool")}));
    EXPECT_EQ(stage.assets().size(), 3u);
    EXPECT_THAT(stage.recorder.of(Kind::AssetRefused), IsEmpty());
}

// covers: 000-4.3-asset-id-unique, 004-asset-id-unique
TEST(ToolProtocol, AssetIdIsUniquePerAttemptAndTool) {
    Stage stage;
    stage.folder.write("one.png", "");
    stage.folder.write("two.png", "");
    stage.folder.says("twice", {event("asset", std::string(kAsset) + R"("one.png")"),
                                event("asset", std::string(kAsset) + R"("two.png")"), kDone});
    const Json result = stage.run(plan_of({entry("a", "twice"), entry("b", "twice")}));
    EXPECT_TRUE(result["success"].boolean());
    ASSERT_EQ(stage.assets().size(), 2u) << "one asset of each tool";
    for (const Json& asset : stage.assets().elements()) {
        EXPECT_EQ(asset["path"].string(), stage.folder / "one.png");
    }
    for (const Record& record : stage.recorder.of(Kind::AssetRefused)) {
        EXPECT_EQ(record.body["code"].string(), "ASSET_DUPLICATE");
    }
    EXPECT_EQ(stage.recorder.of(Kind::AssetRefused).size(), 2u);
}

// covers: 000-4.3-asset-id-unique
TEST(ToolProtocol, LaterAttemptReplacesAnEarlierAsset) {
    Stage stage;
    stage.folder.write("1.png", "");
    stage.folder.write("2.png", "");
    stage.folder.tool("tool",
                      "echo x >> tries\nn=$(wc -l < tries)\n"
                      "printf '{\"version\":\"0\",\"type\":\"asset\",\"assetId\":\"t\","
                      "\"kind\":\"image\",\"mediaType\":\"image/png\",\"path\":\"%d.png\"}\\n' $n\n"
                      "[ $n = 1 ] && exit 1\necho '" +
                          kDone + "'");
    stage.run(plan_of({entry("a", "tool", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    ASSERT_EQ(stage.assets().size(), 1u);
    EXPECT_EQ(stage.assets()[0]["path"].string(), stage.folder / "2.png");
    EXPECT_EQ(stage.assets()[0]["attempt"].integer(), 2);
    EXPECT_THAT(stage.recorder.of(Kind::AssetRefused), IsEmpty());
}

// ---- §4.4 ui_event

// covers: 000-4.4-dispatch, 003-13.4.7-ui-event
TEST(ToolProtocol, UiEventReachesItsHandlerAtOnceAndVerbatim) {
    Stage stage;
    stage.folder.fifo("answer");
    const std::string choice = event(
        "ui_event", R"("event":"narrative_choice", "payload":{"choices":["Open",  "Leave"]})");
    stage.folder.tool("tool",
                      "echo '" + choice + "'\nread -r answer < answer\necho '" + kDone + "'");
    std::string handled;
    // The tool waits for this UI handler's answer.
    const uint64_t handler = stage.session.attach(
        [&](Event event) {
            if (event.type() != Type::UiEvent) return;
            handled = event.body();
            std::ofstream(stage.folder / "answer") << "Open\n";
        },
        kinds(Kind::ToolEvent));
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    stage.session.detach(handler);
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(handled, choice);
}

// covers: 000-4.4-payload
TEST(ToolProtocol, PayloadIsOptionalAndPassedOnVerbatim) {
    Stage stage;
    const std::vector<std::string> lines{
        event("ui_event", R"("event":"bell")"),
        event("ui_event", R"("event":"bell", "payload": {})"),
        event("ui_event", R"("event":"map","payload":{"x": 1e2,"deep":[{"choices":null}, "ä"]})")};
    stage.folder.says("tool", {lines[0], lines[1], lines[2], kDone});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_THAT(stage.recorder.of(Kind::Warning), IsEmpty());
    const std::vector<Record> said = stage.recorder.of(Kind::ToolEvent);
    ASSERT_EQ(said.size(), 4u);
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(said[i].text, lines[i]);
}

// covers: 000-4.4-support-not-assumed, 000-8-unknown-ui-event
TEST(ToolProtocol, UnknownUiEventDoesNotFailTheTool) {
    Stage stage;
    stage.folder.tool("tool", "echo \"$invocation\" > invocation\nenv > environment\necho '" +
                                  event("ui_event", R"("event":"shake_the_screen")") + "'\necho '" +
                                  kDone + "'");
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_EQ(tool_of(result, "a")["state"].string(), "completed");
    EXPECT_THAT(stage.recorder.of(Kind::Warning), IsEmpty());
    for (const char* name : {"invocation", "environment"}) {
        EXPECT_THAT(stage.folder.read(name), ::testing::Not(HasSubstr("narrative_choice"))) << name;
    }
    EXPECT_THAT(Json(stage.folder.read("invocation")).keys(),
                UnorderedElementsAre("requestId", "tool", "operation", "input", "seed",
                                     "dependencies", "results"));
}

// ---- §4.5 error

// covers: 000-4.5-error-not-terminating, 004-error-not-terminating
TEST(ToolProtocol, ErrorEventDoesNotEndTheInvocation) {
    Stage stage;
    const std::string error = event(
        "error", R"("errorCode":"WET","errorMessage":"The torch is wet.","details":{"ml":3})");
    stage.folder.says("tool", {error, log("drying it"), error, kDone});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_EQ(tool_of(result, "a")["state"].string(), "completed");
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(stage.recorder.of(Kind::ToolEvent)[0].text, error)
        << "the event is passed on with its details";
}

// covers: 000-4.5-continue
TEST(ToolProtocol, EventsAfterAnErrorAreProcessed) {
    Stage stage;
    stage.folder.write("picture.png", "");
    const std::string error = event("error", R"("errorCode":"WET","errorMessage":"wet")");
    stage.folder.says("with_done",
                      {error, patch(R"({"after":1})"),
                       event("asset", std::string(kAsset) + R"("picture.png")"), kFailed});
    stage.folder.says("without_done", {error, patch(R"({"exit":1})")}, 3);
    const Json result = stage.run(plan_of({entry("a", "with_done"), entry("b", "without_done")}));
    EXPECT_EQ(stage.state(), Json(R"({"after":1,"exit":1})"));
    EXPECT_EQ(stage.assets().size(), 1u);
    EXPECT_EQ(tool_of(result, "a")["error"].string(), "wet") << "the error event gives the reason";
    EXPECT_EQ(tool_of(result, "b")["errorCode"].string(), "EXIT_STATUS");
}

// covers: 000-4.5-surface, 003-13.4.7-error
TEST(ToolProtocol, ErrorIsReportedWithToolAndAttempt) {
    Stage stage;
    const std::string error = event("error", R"("errorCode":"WET","errorMessage":"wet")");
    stage.folder.says("tool", {error, kFailed});
    stage.run(plan_of({entry("a", "tool", R"("retryPolicy":{"maxRetries":1,"backoffMs":0})")}));
    std::vector<uint32_t> attempts;
    for (const Record& record : stage.recorder.of(Kind::ToolEvent)) {
        if (record.type != Type::Error) continue;
        EXPECT_EQ(record.tool_id, "a");
        EXPECT_EQ(record.text, error);
        attempts.push_back(record.attempt);
    }
    EXPECT_THAT(attempts, ElementsAre(1u, 2u));
}

// ---- §4.6 done and §5.3 exit

// covers: 000-4.6-ok-true, 000-5.3-exit-zero, 004-completion
TEST(ToolProtocol, DoneOkWithExitZeroIsSuccess) {
    Stage stage;
    stage.folder.says("tool", {event("done", R"("ok":true,"summary":"Torch lit.")")});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    const Json tool = tool_of(result, "a");
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_TRUE(tool["ok"].boolean());
    EXPECT_EQ(tool["state"].string(), "completed");
    EXPECT_EQ(tool["attempts"][0]["exitStatus"].integer(), 0);
    EXPECT_FALSE(tool.has("errorCode"));
}

// covers: 000-4.6-ok-false, 000-5.3-exit-zero
TEST(ToolProtocol, DoneNotOkWithExitZeroIsAControlledFailure) {
    Stage stage;
    stage.folder.says("tool", {patch(R"({"tried":true})"), kFailed});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    const Json tool = tool_of(result, "a");
    EXPECT_FALSE(result["success"].boolean());
    EXPECT_EQ(tool["state"].string(), "failed");
    EXPECT_EQ(tool["errorCode"].string(), "TOOL_FAILED");
    EXPECT_EQ(tool["error"].string(), "no luck");
    EXPECT_EQ(tool["output"], Json(R"({"tried":true})"));
}

// covers: 000-4.6-stop-accepting, 000-4.6-nothing-after-done, 004-done-exactly-one
TEST(ToolProtocol, NothingIsAcceptedAfterDone) {
    Stage stage;
    stage.folder.write("picture.png", "");
    stage.folder.says("tool", {patch(R"({"before":1})"), kDone, patch(R"({"behind":1})"),
                               event("asset", std::string(kAsset) + R"("picture.png")"), kFailed,
                               "this is not even JSON"});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    const Json tool = tool_of(result, "a");
    EXPECT_EQ(tool["state"].string(), "completed");
    EXPECT_EQ(stage.state(), Json(R"({"before":1})"));
    EXPECT_EQ(stage.assets().size(), 0u);
    EXPECT_EQ(tool["events"].size(), 2u);
    EXPECT_EQ(tool["attempts"][0]["linesAfterDone"].integer(), 4);
    EXPECT_EQ(stage.recorder.one(Kind::Warning, "a").body["code"].string(), "AFTER_DONE");
}

// The line limit applies to lines that are decoded; lines after done are only counted.
TEST(ToolProtocol, LinesAfterDoneHaveNoSizeLimit) {
    for (const char* end : {"\\n", ""}) {
        Stage stage;
        stage.folder.tool("tool", "echo '" + std::string(kDone) +
                                      "'; head -c 20000000 /dev/zero | tr '\\0' x; printf '" + end +
                                      "'");
        const Json tool = tool_of(stage.run(plan_of({entry("a", "tool")})), "a");
        EXPECT_EQ(tool["state"].string(), "completed");
        EXPECT_EQ(tool["attempts"][0]["linesAfterDone"].integer(), 1);
    }
}

// covers: 000-4.6-missing-done, 000-4.6-exactly-one-done
TEST(ToolProtocol, MissingDoneFailsWhateverTheExitStatus) {
    Stage stage;
    stage.folder.says("three", {log("half way")}, 3);
    stage.folder.says("zero", {log("half way")}, 0);
    const Json result = stage.run(plan_of({entry("a", "three"), entry("b", "zero")}));
    EXPECT_EQ(tool_of(result, "a")["state"].string(), "failed");
    EXPECT_EQ(tool_of(result, "a")["errorCode"].string(), "EXIT_STATUS");
    EXPECT_EQ(tool_of(result, "a")["attempts"][0]["exitStatus"].integer(), 3);
    EXPECT_THAT(tool_of(result, "a")["error"].string(), HasSubstr("3"));
    EXPECT_EQ(tool_of(result, "b")["errorCode"].string(), "MISSING_DONE");
    EXPECT_EQ(tool_of(result, "b")["events"].size(), 1u) << "earlier events are kept";
}

// covers: 000-5.3-exit-nonzero, 004-completion
TEST(ToolProtocol, NonZeroExitStatusFailsWhateverTheEvents) {
    Stage stage;
    stage.folder.says("tool", {patch(R"({"lit":true})"), kDone}, 7);
    stage.folder.tool("killed", "echo '" + kDone + "'\nkill -9 $$");
    const Json result = stage.run(plan_of({entry("a", "tool"), entry("b", "killed")}));
    EXPECT_FALSE(result["success"].boolean());
    const Json tool = tool_of(result, "a");
    EXPECT_EQ(tool["errorCode"].string(), "EXIT_STATUS");
    EXPECT_EQ(tool["attempts"][0]["exitStatus"].integer(), 7);
    EXPECT_THAT(tool["error"].string(), HasSubstr("after its done event"));
    EXPECT_EQ(tool_of(result, "b")["errorCode"].string(), "SIGNALED");
    EXPECT_EQ(tool_of(result, "b")["attempts"][0]["signal"].integer(), 9);
    EXPECT_FALSE(tool_of(result, "b")["attempts"][0].has("exitStatus"));
}

// covers: 000-5.3-exit-nonzero
TEST(ToolProtocol, ExitStatusAfterTheRuntimesSignalIsIgnored) {
    EngineOptions options;
    options.times.emplace();
    options.times->grace_ms = 50;
    Stage stage(std::move(options));
    stage.folder.tool(
        "tool", "trap 'exit 3' TERM\necho '" + kDone + "'\nwhile :; do sleep 60 & wait $!; done");
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_EQ(tool_of(result, "a")["state"].string(), "completed");
    const Json warning = stage.recorder.one(Kind::Warning, "a").body;
    EXPECT_EQ(warning["code"].string(), "LINGERED");
}

// covers: 000-5.3-exit-nonzero
TEST(ToolProtocol, PlanTimeoutKeepsTheDoneOfALingeringTool) {
    EngineOptions options;
    options.times.emplace();
    options.times->plan_ms = 1000;
    options.times->grace_ms = 60'000;
    Stage stage(std::move(options));
    // Ending the session does not wait for the grace period, so the tool dies with the test.
    stage.folder.tool("tool", "echo '" + kDone + "'\nwhile :; do sleep 60 & wait $!; done");
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(tool_of(result, "a")["state"].string(), "completed");
    EXPECT_EQ(stage.recorder.one(Kind::Warning, "a").body["code"].string(), "LINGERED");
}

// covers: 004-done-summary
TEST(ToolProtocol, DoneSummaryIsPassedOnAndExplainsAFailure) {
    Stage stage;
    const std::string fine = event("done", R"("ok":true,"summary":"Torch lit.")");
    const std::string not_fine = event("done", R"("ok":false,"summary":"It is wet.")");
    stage.folder.says("fine", {fine});
    stage.folder.says("fails", {not_fine});
    stage.folder.says("wrong", {event("done", R"("ok":true,"summary":5)")});
    const Json result =
        stage.run(plan_of({entry("a", "fine"), entry("b", "fails"), entry("c", "wrong")}));
    EXPECT_EQ(stage.recorder.one(Kind::ToolEvent, "a").text, fine);
    EXPECT_EQ(stage.recorder.one(Kind::ToolEvent, "b").text, not_fine);
    EXPECT_EQ(tool_of(result, "a")["events"][0]["summary"].string(), "Torch lit.");
    EXPECT_EQ(tool_of(result, "b")["error"].string(), "It is wet.");
    EXPECT_EQ(tool_of(result, "c")["errorCode"].string(), "PROTOCOL_ERROR");
}

// ---- §5.1 order

// covers: 000-5.1-any-order, 004-order-flexible
TEST(ToolProtocol, EveryOrderOfTheOtherFiveTypesIsAccepted) {
    Stage stage;
    stage.folder.write("picture.png", "");
    const std::string lines[] = {log("one"), patch(R"({"a":1})"),
                                 event("asset", std::string(kAsset) + R"("picture.png")"),
                                 event("ui_event", R"("event":"e")"),
                                 event("error", R"("errorCode":"E","errorMessage":"m")")};
    std::vector<int> order(std::size(lines));
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::string> tools;
    std::vector<std::string> expected;
    do {
        const std::string id = "t" + std::to_string(tools.size());
        std::string script;
        std::string types;
        for (const int each : order) {
            script += "echo '" + lines[each] + "'\n";
            types += Json(lines[each])["type"].string() + " ";
        }
        stage.folder.tool(id, script + "echo '" + kDone + "'");
        tools.push_back(entry(id, id, R"("async":true)"));
        expected.push_back(types + "done ");
    } while (std::next_permutation(order.begin(), order.end()));
    const Json result = stage.run(plan_of(tools, R"("parallel":true)"));
    EXPECT_TRUE(result["success"].boolean());
    ASSERT_EQ(result["toolResults"].size(), 120u);
    for (size_t i = 0; i < tools.size(); ++i) {
        std::string types;
        for (const Json& one : result["toolResults"][i]["events"].elements()) {
            types += one["type"].string() + " ";
        }
        EXPECT_EQ(types, expected[i]);
    }
    EXPECT_EQ(stage.assets().size(), 120u);
}

// ---- §8 forward compatibility

// covers: 000-8-only-done-needed
TEST(ToolProtocol, DoneAloneIsEnough) {
    Stage stage;
    stage.folder.says("tool", {kDone});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(tool_of(result, "a")["output"], Json("{}"));
    EXPECT_THAT(stage.recorder.of(Kind::Warning), IsEmpty());
}

// covers: 000-8-unknown-fields, 000-3-additional-fields, 004-envelope-additional-fields
TEST(ToolProtocol, UnknownFieldsArePassedOnButIgnored) {
    Stage stage;
    const std::string line =
        R"({"mood":"dark","version":"0","type":"state_patch","patch":{"lit":true},"patches":[{"lit":0}]})";
    stage.folder.says("tool", {line, event("done", R"("ok":true,"okay":false,"exit":3)")});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    EXPECT_EQ(stage.state(), Json(R"({"lit":true})"));
    EXPECT_EQ(stage.recorder.of(Kind::ToolEvent)[0].text, line);
}

// covers: 000-3-request-id, 000-3-timestamp
TEST(ToolProtocol, UnexpectedRequestIdOrTimestampGivesOneWarning) {
    Stage stage;
    stage.folder.says(
        "tool",
        {event("log", R"("level":"info","message":"m","requestId":"other","timestamp":"noon")"),
         event("log", R"("level":"info","message":"m","requestId":"other","timestamp":"noon")"),
         event("log", R"("level":"info","message":"m","requestId":"plan-1",)"
                      R"("timestamp":"2026-11-21T09:30:00Z")"),
         kDone});
    const Json result = stage.run(plan_of({entry("a", "tool")}));
    EXPECT_TRUE(result["success"].boolean());
    std::vector<std::string> codes;
    for (const Record& record : stage.recorder.of(Kind::Warning)) {
        codes.push_back(record.body["code"].string());
    }
    EXPECT_THAT(codes, UnorderedElementsAre("REQUEST_ID", "TIMESTAMP"));
}

// covers: 003-14.1-event-processing
TEST(ToolProtocol, EachLineIsDispatchedByItsType) {
    Stage stage;
    stage.folder.write("picture.png", "");
    stage.folder.says(
        "tool", {log("reading"), patch(R"({"lit":true})"),
                 event("asset", std::string(kAsset) + R"("picture.png")"),
                 event("ui_event", R"("event":"narrative_choice","payload":{"choices":["Go"]})"),
                 event("error", R"("errorCode":"E","errorMessage":"m")"), kDone});
    std::vector<Type> types;
    stage.session.attach([&](Event event) { types.push_back(event.type()); },
                         kinds(Kind::ToolEvent));
    stage.run(plan_of({entry("a", "tool")}));
    EXPECT_THAT(types, ElementsAre(Type::Log, Type::StatePatch, Type::Asset, Type::UiEvent,
                                   Type::Error, Type::Done));
    EXPECT_EQ(stage.state(), Json(R"({"lit":true})"));
    EXPECT_EQ(stage.assets().size(), 1u);
}

}  // namespace
