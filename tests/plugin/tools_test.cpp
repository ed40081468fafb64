// SPDX-License-Identifier: Apache-2.0
// A session's tools as its host registers, finds, lists and removes them (tools.h, tools.hpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "narratoria/host_loop.h"
#include "narratoria/host_session.h"
#include "narratoria/tool.h"
#include "narratoria/tools.hpp"
#include "plugin/host.hpp"

namespace narratoria::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Counts its live copies, so that a test can observe when the library drops a function.
class Alive {
public:
    explicit Alive(int& count) : count_(&count) { ++*count_; }
    Alive(const Alive& other) : count_(other.count_) { ++*count_; }
    Alive& operator=(const Alive&) = delete;
    ~Alive() { --*count_; }

private:
    int* count_;
};

// An engine and a story with the executable file "sexton" in its tools folder.
class ToolsTest : public PluginHostTest {
protected:
    void SetUp() override {
        folder.write("story.toml", "title = \"Tools\"\n");
        folder.says("tools/sexton", {kDone});
        open_engine();
        open();
    }
    void open() { open_session({.story = folder.path()}); }
    Json call(const std::string& name, std::string_view members = {}) {
        return run_path(name, members);
    }
    template <class Call>
    static Error refusal(Call&& call) {
        try {
            call();
        } catch (const Error& error) {
            return error;
        }
        throw std::runtime_error("the call was not refused");
    }
    void add(const ToolOptions& options, std::string result = "1") {
        session->tools().add(
            options, [result](const plugin::InvocationRequest&, const plugin::Invocation& its) {
                its.result(result);
            });
    }
};

// covers: 002-registry-register, 002-function-result
TEST_F(ToolsTest, HostFunctionIsAToolWithTheEventsOfAProcess) {
    session->tools().add({.name = "dice", .description = "Rolls"},
                         [](const plugin::InvocationRequest& request, plugin::Invocation its) {
                             EXPECT_THAT(std::string(request.request()),
                                         HasSubstr(R"("input":{"sides":6})"));
                             its.event(patch(R"({"rolled":4})"));
                             its.result("4");
                         });
    const Json tool = call("dice", R"("input":{"sides":6})");
    EXPECT_EQ(tool["state"].string(), "completed");
    EXPECT_EQ(tool["result"].text(), "4");
    EXPECT_EQ(std::string(session->state("/rolled").view()), "4");
    EXPECT_EQ(recorder.of(Kind::ToolEvent, "t").size(), 2u);
}

// covers: 002-function-result
TEST_F(ToolsTest, FunctionMayEndLaterFromAnotherThread) {
    std::thread worker;
    session->tools().add({.name = "slow", .waits = true},
                         [&](const plugin::InvocationRequest&, plugin::Invocation its) {
                             worker = std::thread([its] { its.result("\"late\""); });
                         });
    EXPECT_EQ(call("slow")["result"].text(), "\"late\"");
    worker.join();
}

TEST_F(ToolsTest, ResultIsAcceptedWhileMuchOutputIsUnread) {
    int calls = 0;
    session->tools().add({.name = "loud"},
                         [&](const plugin::InvocationRequest&, const plugin::Invocation& its) {
                             ++calls;
                             std::thread([&] {
                                 const std::string line = test::log(std::string(60'000, 'x'));
                                 while (its.event(line)) {
                                 }
                                 EXPECT_TRUE(its.result("1"));
                             }).join();
                         });
    EXPECT_EQ(call("loud")["result"].text(), "1");
    EXPECT_EQ(calls, 1);
    EXPECT_THAT(log, HasSubstr("failed: busy: too much is running or waiting"));
}

TEST_F(ToolsTest, FaultOfAFunctionIsLogged) {
    session->tools().add({.name = "bad"},
                         [](const plugin::InvocationRequest&, const plugin::Invocation&) -> void {
                             throw std::runtime_error("oops");
                         });
    call("bad");
    session->tools().add({.name = "drops"},
                         [](const plugin::InvocationRequest&, const plugin::Invocation&) {});
    call("drops");
    EXPECT_THAT(log, HasSubstr("the tool \"drops\" failed: the function dropped the invocation"));
    EXPECT_THAT(log, HasSubstr("a tool threw: oops"));
}

TEST_F(ToolsTest, OutputThatMustWaitIsNotAFault) {
    session->tools().add({.name = "loud", .waits = true},
                         [&](const plugin::InvocationRequest&, const plugin::Invocation& its) {
                             const std::string line = test::log(std::string(60'000, 'x')) + '\n';
                             nar_status status = NAR_OK;
                             while (status == NAR_OK) status = its.try_output(line);
                             EXPECT_EQ(status, NAR_BUSY);
                             EXPECT_TRUE(its.result("1"));
                             EXPECT_EQ(its.try_output(line), NAR_GONE);
                         });
    EXPECT_EQ(call("loud")["result"].text(), "1");
    EXPECT_THAT(log, Not(HasSubstr("busy")));
}

TEST_F(ToolsTest, TimeInsideAFunctionIsThatOfItsAttempt) {
    session->tools().add(
        {.name = "slow"}, [](const plugin::InvocationRequest&, const plugin::Invocation& its) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
            while (std::chrono::steady_clock::now() < end) {
            }
            its.result("1");
        });
    const Json tool = call("slow");
    EXPECT_GE(tool["executionTime"].integer(), 30);
    EXPECT_GE(tool["attempts"][0]["executionTime"].integer(), 30);
}

TEST_F(ToolsTest, TimedOutFunctionIsCancelledAndMayEndItself) {
    std::optional<plugin::Invocation> running;
    session->tools().add({.name = "slow", .time_limit = std::chrono::milliseconds(20)},
                         [&](const plugin::InvocationRequest& request, plugin::Invocation its) {
                             EXPECT_EQ(request.time_limit(), std::chrono::milliseconds(20));
                             running = its;
                         });
    const Json tool = call("slow");
    EXPECT_EQ(tool["state"].string(), "timeout");
    EXPECT_TRUE(running->is_cancelled());
}

TEST_F(ToolsTest, ExceptionFailsTheAttemptAndKeepsTheTool) {
    int calls = 0;
    session->tools().add({.name = "torn"},
                         [&](const plugin::InvocationRequest&, plugin::Invocation its) {
                             if (++calls == 1) throw std::runtime_error("a torn page");
                             its.result("2");
                         });
    const Json tool = call("torn");
    EXPECT_EQ(tool["errorCode"].string(), "TOOL_EXCEPTION");
    EXPECT_THAT(tool["error"].string(), HasSubstr("a torn page"));
    EXPECT_EQ(call("torn")["result"].text(), "2");
}

TEST_F(ToolsTest, ExceptionOfACFunctionFailsTheAttempt) {
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("torn");
    auto given = sized<nar_tool_registration>();
    given.tool = &tool;
    given.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {
        throw std::runtime_error("a torn page");
    };
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, nullptr, nullptr), NAR_OK);
    const Json result = call("torn");
    EXPECT_EQ(result["errorCode"].string(), "TOOL_EXCEPTION");
    EXPECT_THAT(result["error"].string(), HasSubstr("a torn page"));
}

TEST_F(ToolsTest, InputAndResultAreChecked) {
    add({.name = "dice",
         .input_schema = R"({"required":["sides"]})",
         .result_schema = R"({"type":"integer"})"},
        "\"four\"");
    EXPECT_EQ(call("dice")["errorCode"].string(), "INPUT_INVALID");
    const Json tool = call("dice", R"("input":{"sides":6})");
    EXPECT_EQ(tool["errorCode"].string(), "RESULT_INVALID");
    EXPECT_THAT(log, AllOf(HasSubstr("(INPUT_INVALID)"), HasSubstr("(RESULT_INVALID)")));
}

TEST_F(ToolsTest, InvalidSchemaIsRefusedWithItsPointer) {
    const Error input = refusal([&] {
        add({.name = "dice", .input_schema = R"({"properties":{"a":{"type":"nummer"}}})"});
    });
    EXPECT_EQ(input.status(), NAR_INVALID_DOCUMENT);
    EXPECT_EQ(input.code(), "INPUT_SCHEMA");
    EXPECT_EQ(Json(input.details())[0]["pointer"].string(), "/properties/a/type");
    const Error result =
        refusal([&] { add({.name = "dice", .result_schema = R"({"minimum":"1"})"}); });
    EXPECT_EQ(result.code(), "RESULT_SCHEMA");
    EXPECT_EQ(Json(result.details())[0]["pointer"].string(), "/minimum");
    EXPECT_FALSE(session->tools().find("dice").has_value());
}

// covers: 002-schema-name
TEST_F(ToolsTest, NameInUseIsRefusedWithBothOwners) {
    add({.name = "dice", .owner = "rules"}, "1");
    const Error error = refusal([&] { add({.name = "dice", .owner = "my-game"}, "2"); });
    EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.code(), "TOOL_NAME_IN_USE");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the host rules"), HasSubstr("the host my-game")));
    EXPECT_EQ(call("dice")["result"].text(), "1");
    add({.name = "dice", .owner = "my-game", .replaces = true}, "2");
    EXPECT_EQ(call("dice")["result"].text(), "2");
}

// covers: 002-registry-lookup
TEST_F(ToolsTest, FindAndListDescribeToolsAndFiles) {
    add({.name = "dice",
         .description = "Rolls",
         .input_schema = R"({"type":"object"})",
         .result_schema = R"({"type":"integer"})",
         .owner = "my-game",
         .time_limit = std::chrono::milliseconds(70)});
    const auto found = session->tools().find("dice");
    ASSERT_TRUE(found.has_value());
    const Json dice(found->view());
    EXPECT_EQ(dice["description"].string(), "Rolls");
    EXPECT_EQ(dice["inputSchema"].text(), R"({"type":"object"})");
    EXPECT_EQ(dice["resultSchema"].text(), R"({"type":"integer"})");
    EXPECT_EQ(dice["runner"].string(), "function");
    EXPECT_EQ(dice["origin"].text(), R"({"kind":"host","place":"my-game"})");
    EXPECT_EQ(dice["times"].text(), R"({"try_ms":70})");
    EXPECT_FALSE(dice.has("problem"));
    const Json sexton(session->tools().find("sexton").value().view());
    EXPECT_EQ(sexton["runner"].string(), "process");
    EXPECT_EQ(sexton["origin"]["place"].string(), folder / "tools/sexton");
    const Json all(session->tools().list().view());
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]["name"].string(), "sexton");
    EXPECT_EQ(all[1]["name"].string(), "dice");
    EXPECT_FALSE(session->tools().find("nobody").has_value());
}

TEST_F(ToolsTest, DroppedInvocationFailsUnderItsToolsName) {
    session->tools().add({.name = "dice"},
                         [](const plugin::InvocationRequest&, const plugin::Invocation&) {});
    const Json tool = call("dice");
    EXPECT_EQ(tool["errorCode"].string(), "TOOL_DROPPED");
    EXPECT_EQ(tool["error"].string().find("plugin"), std::string::npos) << tool["error"].string();
}

TEST_F(ToolsTest, InvalidOwnerIdIsRefusedWithTheRule) {
    for (const char* owner : {"-game", "My game", ".x"}) {
        const Error error = refusal([&] { add({.name = "dice", .owner = owner}); });
        EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
        EXPECT_THAT(error.what(), HasSubstr("the owner must begin with a-z or 0-9"));
    }
    add({.name = "dice"});
    EXPECT_THAT(
        refusal([&] { add({.name = "dice"}); }).what(),
        HasSubstr("\"dice\" of the host cannot be registered: the name belongs to a tool of the "
                  "host; "));
}

TEST_F(ToolsTest, EachToolHasOneNameInScripts) {
    auto lines_of = [&](const std::string& script) {
        std::string lines;
        session->run_script(
            script, "", "", [&](std::string_view line) { (lines += line) += '\n'; },
            [&](const ScriptEnd& end) { lines += end.error; });
        engine->run_until_idle();
        return lines;
    };
    for (const char* name : {"ring-bell", "3d", "LET", "plain"}) add({.name = name});
    folder.says("tools/toll-bell.sh", {kDone});
    std::map<std::string, std::string> names;
    for (const Json& each : Json(session->tools().list().view()).elements()) {
        names[std::string(each["name"].string())] = each["scriptName"].string();
    }
    EXPECT_THAT(names,
                UnorderedElementsAre(Pair("sexton", "sexton"), Pair("toll-bell.sh", "toll_bell"),
                                     Pair("ring-bell", "ring_bell"), Pair("3d", "_3d"),
                                     Pair("LET", "_LET"), Pair("plain", "plain")));
    EXPECT_EQ(Json(session->tools().find("ring-bell").value().view())["scriptName"].string(),
              "ring_bell");
    EXPECT_EQ(session->script_names().view(),
              R"(["_3d","_LET","plain","ring_bell","sexton","toll_bell"])");
    for (const auto& [name, script_name] : names) {
        EXPECT_EQ(lines_of("CALL " + script_name + " {} PRINT(1)"), "1\n") << name;
    }
    // A name shared by two tools is not offered.
    add({.name = "ring_bell", .owner = "my-game"});
    EXPECT_EQ(session->script_names().view(), R"(["_3d","_LET","plain","sexton","toll_bell"])");
    EXPECT_THAT(lines_of("CALL ring_bell {}"),
                AllOf(HasSubstr("of the host my-game and "), HasSubstr("of the host; rename")));
}

TEST_F(ToolsTest, InputOfARenamedFunctionIsCheckedInScripts) {
    add({.name = "ring-bell", .input_schema = R"({"required":["times"]})"});
    std::string error;
    session->run_script(
        "CALL ring_bell {}", "", "", [](std::string_view) {},
        [&](const ScriptEnd& end) { error = end.error; });
    engine->run_until_idle();
    EXPECT_EQ(Json(error)["name"].string(), "ToolArgumentError");
}

TEST_F(ToolsTest, ModelToolsHaveTheModelsForm) {
    add({.name = "dice", .input_schema = R"({"required":["sides"]})"});
    add({.name = "odd", .input_schema = R"({"type":"string"})"});
    folder.says("tools/bell.sh", {kDone});
    session->tools().add_path({.name = "gone"}, "nobody:x");
    const Json openai(session->tools().for_models(ModelForm::Openai).view());
    ASSERT_EQ(openai["tools"].size(), 2u) << openai.text();
    EXPECT_EQ(openai["tools"][0]["function"]["name"].string(), "sexton");
    EXPECT_EQ(openai["tools"][1]["function"]["parameters"].text(),
              R"({"type":"object","required":["sides"]})");
    ASSERT_EQ(openai["leftOut"].size(), 3u) << openai.text();
    EXPECT_EQ(openai["leftOut"][0]["name"].string(), "bell.sh");
    EXPECT_THAT(openai["leftOut"][1]["reason"].string(), HasSubstr("input schema"));
    EXPECT_THAT(openai["leftOut"][2]["reason"].string(), HasSubstr("it cannot run: "));
    const Json mcp(session->tools().for_models(ModelForm::Mcp).view());
    EXPECT_EQ(mcp["tools"][0]["name"].string(), "bell.sh");
    EXPECT_EQ(mcp["leftOut"].size(), 2u);
    EXPECT_EQ(refusal([&] { session->tools().for_models(ModelForm{3}); }).status(),
              NAR_INVALID_ARGUMENT);
}

TEST_F(ToolsTest, NameOfAToolAndAFileIsAnErrorNamingBoth) {
    add({.name = "sexton", .owner = "my-game"});
    auto names_both = [&](std::string_view text) {
        EXPECT_THAT(std::string(text),
                    AllOf(HasSubstr("the host my-game"), HasSubstr(folder / "tools/sexton")));
    };
    names_both(refusal([&] { run(plan_of({entry("t", "sexton")})); }).what());
    const Error error = refusal([&] { session->tools().find("sexton"); });
    EXPECT_EQ(error.code(), "TOOL_AMBIGUOUS");
    names_both(error.what());
    for (const Json& each : Json(session->tools().list().view()).elements()) {
        names_both(each["problem"].string());
    }
    // A path always means the file.
    EXPECT_EQ(call("./tools/sexton")["state"].string(), "completed");
    EXPECT_EQ(call("tools/sexton")["state"].string(), "completed");
}

TEST_F(ToolsTest, ScriptErrorNamesAllOwnersOfAName) {
    auto error_of = [&](std::string_view script) {
        std::string error;
        session->run_script(
            script, "", "", [](std::string_view) {},
            [&](const ScriptEnd& end) { error = end.error; });
        engine->run_until_idle();
        return Json(error)["message"].string();
    };
    add({.name = "sexton", .owner = "my-game"});
    EXPECT_THAT(error_of("CALL sexton {}"),
                AllOf(HasSubstr("the host my-game"), HasSubstr(folder / "tools/sexton")));
    folder.says("tools/bell.sh", {kDone});
    folder.says("tools/bell.py", {kDone});
    EXPECT_THAT(error_of("CALL bell {}"),
                AllOf(HasSubstr(folder / "tools/bell.sh"), HasSubstr(folder / "tools/bell.py")));
}

TEST_F(ToolsTest, FileCreatedAfterTheRegistrationIsAnError) {
    add({.name = "late"});
    EXPECT_EQ(call("late")["state"].string(), "completed");
    folder.says("tools/late", {kDone});
    EXPECT_THROW(run(plan_of({entry("t", "late")})), Error);
}

TEST_F(ToolsTest, RemovedToolIsGoneAndItsFunctionDropped) {
    int alive = 0;
    session->tools().add({.name = "dice"},
                         [kept = Alive(alive)](const plugin::InvocationRequest&,
                                               plugin::Invocation its) { its.result("1"); });
    EXPECT_EQ(alive, 1);
    session->tools().remove("dice");
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(call("dice")["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(refusal([&] { session->tools().remove("dice"); }).status(), NAR_NOT_FOUND);
    const Error file = refusal([&] { session->tools().remove("sexton"); });
    EXPECT_THAT(file.what(), HasSubstr(folder / "tools/sexton"));
}

TEST_F(ToolsTest, ToolRemovedWhileRunningEndsNormally) {
    int alive = 0;
    std::optional<plugin::Invocation> running;
    session->tools().add(
        {.name = "slow"},
        [&, kept = Alive(alive)](const plugin::InvocationRequest&, plugin::Invocation its) {
            running = its;
            // The function may also remove itself.
            session->tools().remove("slow");
            engine->post([&] {
                EXPECT_EQ(alive, 1);
                running->result("3");
            });
        });
    EXPECT_EQ(call("slow")["result"].text(), "3");
    EXPECT_EQ(alive, 0);
}

TEST_F(ToolsTest, ToolReplacedWhileRunningEndsNormally) {
    add({.name = "slow"});
    session->tools().add({.name = "slow", .replaces = true},
                         [&](const plugin::InvocationRequest&, plugin::Invocation its) {
                             add({.name = "slow", .replaces = true}, "2");
                             its.result("1");
                         });
    EXPECT_EQ(call("slow")["result"].text(), "1");
    EXPECT_EQ(call("slow")["result"].text(), "2");
}

TEST_F(ToolsTest, EndedSessionDropsFunctionsAndLateReports) {
    int alive = 0;
    std::optional<plugin::Invocation> running;
    session->tools().add({.name = "slow"},
                         [&, kept = Alive(alive)](const plugin::InvocationRequest&,
                                                  plugin::Invocation its) { running = its; });
    session->execute(plan_of({entry("t", "slow")}), folder.path());
    while (!running) engine->run_once();
    session.reset();
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(running->result("1"));
}

TEST_F(ToolsTest, ReleaseCallbackMayRegisterATool) {
    struct Chain {
        Session& session;
        int released = 0;
    } chain{*session};
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("dice");
    auto given = sized<nar_tool_registration>();
    given.tool = &tool;
    given.user = &chain;
    given.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {};
    given.released = [](void* user) {
        auto& its = *static_cast<Chain*>(user);
        if (++its.released > 1) return;
        its.session.tools().add({.name = "dice"}, [](const plugin::InvocationRequest&,
                                                     plugin::Invocation of) { of.result("5"); });
    };
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, nullptr, nullptr), NAR_OK);
    session->tools().remove("dice");
    EXPECT_EQ(chain.released, 1);
    EXPECT_EQ(call("dice")["result"].text(), "5");
}

TEST_F(ToolsTest, DestroyedFunctionMayRemoveItsReplacement) {
    int alive = 0;
    struct Last {
        explicit Last(Session& its) : session(its) {}
        ~Last() { session.tools().remove("dice"); }
        Session& session;
    };
    session->tools().add({.name = "dice"},
                         [last = std::make_shared<Last>(*session)](const plugin::InvocationRequest&,
                                                                   plugin::Invocation) {});
    session->tools().add({.name = "dice", .replaces = true},
                         [kept = Alive(alive)](const plugin::InvocationRequest&,
                                               plugin::Invocation its) { its.result("1"); });
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(session->tools().find("dice").has_value());
    add({.name = "dice"}, "2");
    EXPECT_EQ(call("dice")["result"].text(), "2");
}

TEST_F(ToolsTest, ToolIsReleasedWithinTheReplacingCall) {
    struct Old {
        Session& session;
        const nar_host* host = nullptr;
        bool saw_host = false;
        std::string seen = {};
    } old{*session};
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("dice");
    tool.description = detail::to_c("old");
    auto given = sized<nar_tool_registration>();
    given.tool = &tool;
    given.user = &old;
    given.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {};
    given.released = [](void* user) {
        auto& its = *static_cast<Old*>(user);
        its.saw_host = its.host != nullptr;
        its.seen = Json(its.session.tools().find("dice").value().view())["description"].string();
        // An attempt that starts here must find a complete tool.
        its.session.execute(plan_of({entry("t", "dice")}), "/");
    };
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, nullptr, nullptr), NAR_OK);
    int calls = 0;
    session->tools().add({.name = "dice", .description = "new", .replaces = true},
                         [&](const plugin::InvocationRequest&, plugin::Invocation its) {
                             ++calls;
                             its.result("1");
                         });
    EXPECT_EQ(old.seen, "new");
    engine->run_until_idle();
    EXPECT_EQ(calls, 1);
    tool.description = detail::to_c("newest");
    given.flags = NAR_TOOL_REGISTRATION_REPLACES;
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, nullptr, nullptr), NAR_OK);
    given.released = nullptr;
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, &old.host, nullptr), NAR_OK);
    EXPECT_FALSE(old.saw_host);
    EXPECT_NE(old.host, nullptr);
}

TEST_F(ToolsTest, ThrowingPostDisablesNoTool) {
    add({.name = "dice"}, "4");
    const nar_host* host = nullptr;
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("coin");
    auto given = sized<nar_tool_registration>();
    given.tool = &tool;
    given.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {};
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, &host, nullptr), NAR_OK);
    const auto* posts = service<nar_host_post>(host, NAR_HOST_POST);
    ASSERT_EQ(posts->post(
                  host, [](void*) { throw std::runtime_error("a lost coin"); }, nullptr, nullptr),
              NAR_OK);
    engine->run_until_idle();
    EXPECT_THAT(log, HasSubstr("a posted function threw an exception: a lost coin"));
    EXPECT_EQ(call("dice")["result"].text(), "4");
    EXPECT_EQ(Json(session->tools().list().view()).size(), 3u);
}

TEST_F(ToolsTest, UnrunnableToolIsListedWithItsProblem) {
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("torn");
    const nar_tool* const tools = &tool;
    auto functions = sized<nar_tool_extension>();
    functions.tools = &tools;
    functions.tool_count = 1;
    functions.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {
        throw std::runtime_error("a torn page");
    };
    session->extend("book", NAR_EXTENSION_TOOL, &functions, nullptr);
    EXPECT_EQ(call("torn")["state"].string(), "failed");
    const Json all(session->tools().list().view());
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[1]["name"].string(), "torn");
    EXPECT_THAT(all[1]["problem"].string(),
                AllOf(HasSubstr("book is disabled"), HasSubstr("a torn page")));
    const Json found(session->tools().find("torn").value().view());
    EXPECT_EQ(found["problem"].string(), all[1]["problem"].string());
    session->tools().remove("torn");
    EXPECT_EQ(Json(session->tools().list().view()).size(), 1u);
    session.reset();
}

TEST_F(ToolsTest, TimeLimitIsClampedAndNeverNegative) {
    using std::chrono::milliseconds;
    auto limit_of = [&](int64_t given) {
        add({.name = "slow", .time_limit = milliseconds(given), .replaces = true});
        return Json(session->tools().find("slow").value().view())["times"].text();
    };
    EXPECT_EQ(limit_of(0), R"({"try_ms":0})");
    EXPECT_EQ(limit_of(4294967294), R"({"try_ms":4294967294})");
    for (const int64_t long_one : {4294967295, 4294967296, 4294967301}) {
        EXPECT_EQ(limit_of(long_one), R"({"try_ms":4294967294})");
    }
    const Error error = refusal([&] { limit_of(-1); });
    EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("slow"), HasSubstr("negative")));
}

TEST_F(ToolsTest, NameForAFileUsesTheFilesManifest) {
    folder.says("bin/bell", {kDone});
    folder.write("bin/bell.tool.json",
                 R"({"description":"Tolls","input":{"required":["hour"]},"times":{"try_ms":900}})");
    session->tools().add_path({.name = "toll"}, "bin/bell");
    const Json toll(session->tools().find("toll").value().view());
    EXPECT_EQ(toll["description"].string(), "Tolls");
    EXPECT_EQ(toll["runner"].string(), "process");
    EXPECT_EQ(toll["target"].string(), folder / "bin/bell");
    EXPECT_EQ(toll["times"]["try_ms"].text(), "900");
    EXPECT_EQ(call("toll")["errorCode"].string(), "INPUT_INVALID");
    EXPECT_EQ(call("toll", R"("input":{"hour":12})")["state"].string(), "completed");
}

TEST_F(ToolsTest, NameForAFileHasItsOwnLimits) {
    folder.says("bin/bell", {kDone});
    auto limits = sized<nar_limits>();
    limits.cpu_seconds = 5;
    limits.memory_bytes = UINT64_MAX;
    session->tools().add_path({.name = "toll"}, folder / "bin/bell", &limits);
    const Json toll(session->tools().find("toll").value().view());
    EXPECT_EQ(toll["limits"].text(), R"({"memory_bytes":null,"cpu_seconds":5})");
    EXPECT_EQ(call("toll")["state"].string(), "completed");
}

TEST_F(ToolsTest, NameForAnUnknownSchemeIsReported) {
    session->tools().add_path({.name = "toll"}, "belfry:toll");
    const Json toll(session->tools().find("toll").value().view());
    EXPECT_EQ(toll["runner"].string(), "belfry");
    EXPECT_THAT(toll["problem"].string(), HasSubstr("no tool runner has the scheme"));
    EXPECT_EQ(call("toll")["errorCode"].string(), "SPAWN_FAILED");
}

TEST_F(ToolsTest, NameDoesNotBypassTheAllowedPaths) {
    folder.says("bin/bell", {kDone});
    folder.write("story.toml", "title = \"Tools\"\n[tools]\nallow_paths = [\"bin\"]\n");
    open();
    session->tools().add_path({.name = "toll"}, "bin/bell");
    EXPECT_EQ(call("toll")["state"].string(), "completed");
    session->tools().add_path({.name = "dig"}, "tools/sexton");
    EXPECT_THROW(call("dig"), Error);
    const Json all(session->tools().list().view());
    EXPECT_FALSE(all[1].has("problem"));
    for (const Json& each : {all[0], all[2]}) {
        EXPECT_THAT(each["problem"].string(), HasSubstr("outside the allowed paths"));
    }
}

// covers: 002-schema-parameters
TEST_F(ToolsTest, Spec002SchemaIsAccepted) {
    add({.name = "get_user_profile",
         .input_schema = R"({"name":"get_user_profile","description":"Retrieves a profile.",
             "parameters":[{"name":"user_id","type":"string"}],"returns":"object"})"},
        "5");
    const Json tool(session->tools().find("get_user_profile").value().view());
    EXPECT_EQ(tool["description"].string(), "Retrieves a profile.");
    EXPECT_EQ(
        tool["inputSchema"].text(),
        R"({"type":"object","properties":{"user_id":{"type":"string"}},"required":["user_id"]})");
    EXPECT_EQ(tool["resultSchema"].text(), R"({"type":"object"})");
    EXPECT_EQ(call("get_user_profile")["errorCode"].string(), "INPUT_INVALID");
    // As in a manifest, a result that violates "returns" is only a warning.
    const Json ran = call("get_user_profile", R"("input":{"user_id":"ann"})");
    EXPECT_EQ(ran["result"].text(), "5") << ran.text();
    EXPECT_EQ(recorder.one(Kind::Warning).body["code"].string(), "RESULT_INVALID");
    // Without "returns", the result schema has the other form.
    add({.name = "dice",
         .input_schema = R"({"parameters":[]})",
         .result_schema = R"({"type":"null"})"});
    EXPECT_EQ(call("dice")["errorCode"].string(), "RESULT_INVALID");
    // JSON Schema has no "parameters" keyword and ignores unknown members.
    add({.name = "coin", .input_schema = R"({"type":"object","parameters":[5]})"});
    EXPECT_EQ(call("coin")["state"].string(), "completed");
}

TEST_F(ToolsTest, Spec002SchemaIsRefusedWithAllItsFaults) {
    const Error error = refusal([&] {
        add({.name = "dice",
             .input_schema = R"({"name":"die","parameters":[{"name":"sides","type":"int"}],
                 "return":"number"})"});
    });
    EXPECT_EQ(error.status(), NAR_INVALID_DOCUMENT);
    EXPECT_EQ(error.code(), "INPUT_SCHEMA");
    const Json faults(error.details());
    ASSERT_EQ(faults.size(), 3u) << error.details();
    EXPECT_EQ(faults[0]["pointer"].string(), "/return");
    EXPECT_THAT(faults[0]["message"].string(), HasSubstr("did you mean \"returns\"?"));
    EXPECT_EQ(faults[1]["pointer"].string(), "/parameters/0/type");
    EXPECT_EQ(faults[2]["pointer"].string(), "/name");
    EXPECT_THAT(
        refusal([&] { add({.name = "dice", .input_schema = R"({"parameters":{}})"}); }).what(),
        HasSubstr("must be an array of parameters"));
    EXPECT_THAT(refusal([&] {
                    add({.name = "dice",
                         .input_schema = R"({"parameters":[],"returns":"null"})",
                         .result_schema = "{}"});
                }).what(),
                HasSubstr("give one of them"));
    EXPECT_FALSE(session->tools().find("dice").has_value());
}

TEST_F(ToolsTest, NameMayBeThatOfItsFile) {
    session->tools().add_path({.name = "sexton"}, "./tools/sexton");
    EXPECT_EQ(call("sexton")["state"].string(), "completed");
}

TEST_F(ToolsTest, InvalidRegistrationIsRefusedWithTheReason) {
    auto message = [&](const ToolOptions& options) {
        const Error error = refusal([&] { add(options); });
        EXPECT_EQ(error.status(), NAR_INVALID_ARGUMENT);
        return std::string(error.what());
    };
    EXPECT_THAT(message({.name = "my dice"}), HasSubstr("letters, digits"));
    EXPECT_THAT(message({.name = ""}), HasSubstr("letters, digits"));
    EXPECT_THAT(message({.name = "dice", .owner = "My Game"}), HasSubstr("a-z 0-9"));
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("dice");
    auto given = sized<nar_tool_registration>();
    nar_error error = NAR_ERROR_INIT;
    auto says = [&](const char* text) {
        EXPECT_EQ(nar_session_tools_add(session->raw(), &given, nullptr, &error),
                  NAR_INVALID_ARGUMENT);
        EXPECT_THAT(std::string(detail::to_view(error.message)), HasSubstr(text));
    };
    given.tool = &tool;
    says("set invoke or path");
    given.path = detail::to_c("bin/bell");
    given.released = [](void*) {};
    says("must be NULL");
    given.released = nullptr;
    given.flags = 4;
    says("unknown bit");
    given.flags = 0;
    nar_limits limits{};
    given.limits = &limits;
    says("nar_limits has the size 0");
    limits.size = sizeof limits;
    limits.processes = 4;
    says("the limit processes cannot be set");
    given.limits = nullptr;
    given.tool = nullptr;
    says("letters, digits");
    EXPECT_EQ(nar_session_tools_add(session->raw(), nullptr, nullptr, &error),
              NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_tools_list(session->raw(), nullptr, &error), NAR_INVALID_ARGUMENT);
    nar_error_clear(&error);
}

TEST_F(ToolsTest, FunctionSetsTheSessionsState) {
    const nar_host* host = nullptr;
    auto tool = sized<nar_tool>();
    tool.name = detail::to_c("lamp");
    auto given = sized<nar_tool_registration>();
    given.tool = &tool;
    given.user = &host;
    given.invoke = [](void* user, uint64_t token, const nar_tool* called, const nar_invocation*) {
        EXPECT_EQ(detail::to_view(called->name), "lamp");
        const nar_host* const its = *static_cast<const nar_host**>(user);
        const auto* state = service<nar_host_state>(its, NAR_HOST_STATE);
        EXPECT_EQ(state->patch(its, detail::to_c(R"({"lamp":"lit"})")), NAR_OK);
        const auto* answers = service<nar_host_invocation>(its, NAR_HOST_INVOCATION);
        const std::string done = kDone + "\n";
        auto end = sized<nar_invocation_end>();
        end.last_output = detail::to_c(done);
        EXPECT_EQ(answers->ended(its, token, &end), NAR_OK);
    };
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, &host, nullptr), NAR_OK);
    EXPECT_EQ(call("lamp")["state"].string(), "completed");
    EXPECT_EQ(std::string(session->state("/lamp").view()), "\"lit\"");
}

}  // namespace
}  // namespace narratoria::test
