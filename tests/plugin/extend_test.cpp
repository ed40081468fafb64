// SPDX-License-Identifier: Apache-2.0
// A host's own extensions (nar_session_extend): the same extensions as a plugin's, without a
// library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <sstream>

#include "narratoria/asset_renderer.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/tool.h"
#include "narratoria/ui_handler.h"
#include "plugin/host.hpp"

namespace narratoria::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text(nar_str view) { return std::string(detail::to_view(view)); }

// A tool that writes one patch and done through the host that extend() returned.
struct OwnTool {
    explicit OwnTool(std::string its_name, std::string its_patch = R"({"a":1})")
        : name(std::move(its_name)), patch(std::move(its_patch)) {
        tool.name = detail::to_c(name);
        functions.tools = &list;
        functions.tool_count = 1;
        functions.invoke = [](void* instance, uint64_t token, const nar_tool* called,
                              const nar_invocation* invocation) {
            auto& self = *static_cast<OwnTool*>(instance);
            EXPECT_EQ(called, &self.tool);
            self.requests.push_back(text(invocation->request));
            const auto* answers = service<nar_host_invocation>(self.host, NAR_HOST_INVOCATION);
            const std::string lines = R"({"version":"0","type":"state_patch","patch":)" +
                                      self.patch + "}\n" +
                                      R"({"version":"0","type":"done","ok":true})" + "\n";
            EXPECT_EQ(answers->output(self.host, token, detail::to_c(lines)), NAR_OK);
            EXPECT_EQ(answers->ended(self.host, token, nullptr), NAR_OK);
        };
    }
    OwnTool(const OwnTool&) = delete;
    OwnTool& operator=(const OwnTool&) = delete;

    void join(Session& session) {
        host = session.extend("test", NAR_EXTENSION_TOOL, &functions, this,
                              [](void* instance) { ++static_cast<OwnTool*>(instance)->released; });
    }

    std::string name;
    std::string patch;
    nar_tool tool = sized<nar_tool>();
    const nar_tool* list = &tool;
    nar_tool_extension functions = sized<nar_tool_extension>();
    const nar_host* host = nullptr;
    std::vector<std::string> requests;
    int released = 0;
};

class ExtendTest : public PluginHostTest {
protected:
    void SetUp() override {
        open_engine();
        open_session();
    }
    nar_status refusal(const char* id, const char* extension, const void* functions) {
        try {
            session->extend(id, extension, functions, nullptr);
            return NAR_OK;
        } catch (const Error& error) {
            message = error.what();
            return error.status();
        }
    }

    template <class... Words>
    OwnTool& own(Words... words) {
        return tools.emplace_back(words...);
    }

    std::string message;
    std::deque<OwnTool> tools;
};

TEST_F(ExtendTest, WithheldVariableReachesNoTool) {
    close();
    // Programs get few variables of the host; those whose names begin with LC_ are among them.
    ::setenv("LC_TEST_KEY", "secret", 1);
    SetUp();
    folder.tool(
        "shows",
        R"(printf '{"version":"0","type":"done","ok":true,"result":"%s"}\n' "$LC_TEST_KEY")");
    const std::string plan = plan_of({entry("s", folder / "shows")});
    EXPECT_EQ(run(plan)["toolResults"][0]["result"].string(), "secret");
    OwnTool& tool = own("any");
    tool.join(*session);
    const auto* config = service<nar_host_config>(tool.host, NAR_HOST_CONFIG);
    EXPECT_EQ(config->withhold(tool.host, NAR_STR("")), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(config->withhold(tool.host, NAR_STR("A=B")), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(config->withhold(tool.host, NAR_STR("LC_TEST_KEY")), NAR_OK);
    EXPECT_EQ(run(plan)["toolResults"][0]["result"].string(), "");
}

TEST_F(ExtendTest, DiagnosticsSurviveAHandOverToAProcess) {
    OwnTool& tool = own("sexton");
    tool.functions.invoke = [](void* instance, uint64_t token, const nar_tool*,
                               const nar_invocation*) {
        const auto& self = *static_cast<OwnTool*>(instance);
        const auto* answers = service<nar_host_invocation>(self.host, NAR_HOST_INVOCATION);
        EXPECT_EQ(answers->diagnostics(self.host, token, detail::to_c("from the tool; ")), NAR_OK);
        const nar_str arguments[] = {detail::to_c("sh"), detail::to_c("-c"),
                                     detail::to_c(R"(echo from its process >&2
                            echo '{"version":"0","type":"done","ok":true}')")};
        const nar_command command{sizeof command, 0, arguments, 3};
        EXPECT_EQ(answers->run(self.host, token, &command), NAR_OK);
    };
    tool.join(*session);
    const Json ran = tool_of(run(plan_of({entry("t", "sexton")})), "t");
    EXPECT_EQ(ran["stderr"].string(), "from the tool; from its process\n") << ran.text();
}

TEST_F(ExtendTest, HostToolRunsByItsName) {
    OwnTool& tool = own("weather", R"({"weather":"rain"})");
    tool.join(*session);
    const Json result = run(plan_of({entry("t", "weather", R"("input":{"city":"Oslo"})")}));
    EXPECT_TRUE(result["success"].boolean()) << result.text();
    EXPECT_EQ(session->state("/weather").view(), R"("rain")");
    ASSERT_EQ(tool.requests.size(), 1u);
    EXPECT_THAT(tool.requests[0], HasSubstr(R"("input":{"city":"Oslo"})"));
}

// Renderers of the host: the first reports its outcome later, the second shows what is left.
class LateRenderer : public ExtendTest {
protected:
    struct Screen {
        nar_asset_renderer_extension functions = sized<nar_asset_renderer_extension>();
        const nar_host* host = nullptr;
        nar_status answer = NAR_OK;
        std::vector<uint64_t> asked;
    };
    void open(uint32_t try_ms = 0) {
        Times times;
        times.try_ms = try_ms;
        open_session({.times = times});
        join(second, "second");
        join(first, "first");  // the latest extension is called first
        first.answer = NAR_PENDING;
        folder.tool("draw",
                    "#!/bin/sh\nprintf x > \"$NARRATORIA_OUTPUT_DIR/a.png\"\n"
                    "printf '{\"version\":\"0\",\"type\":\"asset\",\"assetId\":\"a\","
                    "\"kind\":\"image\",\"mediaType\":\"image/png\",\"path\":\"%s\"}\\n' "
                    "\"$NARRATORIA_OUTPUT_DIR/a.png\"\nprintf '%s\\n' "
                    "'{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'\n");
    }
    void join(Screen& screen, const char* id) {
        static constexpr nar_str types[] = {NAR_STR_INIT("image/*")};
        screen.functions.media_types = types;
        screen.functions.media_type_count = 1;
        screen.functions.render = [](void* instance, const nar_asset* asset) {
            auto& self = *static_cast<Screen*>(instance);
            self.asked.push_back(asset->seq);
            return self.answer;
        };
        screen.host = session->extend(id, NAR_EXTENSION_ASSET_RENDERER, &screen.functions, &screen);
    }
    nar_status rendered(Screen& screen, nar_status status) {
        const auto* renders = service<nar_host_render>(screen.host, NAR_HOST_RENDER);
        return renders->rendered(screen.host, screen.asked.back(), status);
    }
    void draw() {
        bool ended = false;
        session->execute(plan_of({entry("t", "./draw")}), folder.path(),
                         [&](const Result&) { ended = true; });
        while (!ended) engine->run_once();
        ASSERT_EQ(first.asked.size(), 1u);
    }
    size_t placeholders() const { return recorder.of(Kind::AssetPlaceholder).size(); }

    Screen first, second;
};

TEST_F(LateRenderer, MayShowTheAssetAfterThePlan) {
    open();
    draw();
    EXPECT_TRUE(engine->is_busy()) << "run_until_idle waits for it";
    EXPECT_EQ(rendered(first, NAR_PENDING), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(rendered(first, NAR_OK), NAR_OK);
    EXPECT_FALSE(engine->is_busy());
    EXPECT_EQ(rendered(first, NAR_OK), NAR_NOT_FOUND) << "once";
    EXPECT_TRUE(second.asked.empty());
    EXPECT_EQ(placeholders(), 0u);
}

TEST_F(LateRenderer, PassesTheAssetOn) {
    open();
    second.answer = NAR_DECLINED;
    draw();
    EXPECT_EQ(rendered(first, NAR_FAILED), NAR_OK);
    EXPECT_THAT(log, HasSubstr("its asset renderer failed"));
    EXPECT_EQ(second.asked, first.asked);
    EXPECT_EQ(placeholders(), 1u);
}

TEST_F(LateRenderer, IsNotWaitedForWithoutEnd) {
    open(300);
    draw();
    engine->run_until_idle();
    EXPECT_THAT(log, HasSubstr("did not report the outcome within 300 ms"));
    EXPECT_EQ(second.asked, first.asked);
    EXPECT_EQ(rendered(first, NAR_OK), NAR_NOT_FOUND);
}

TEST_F(ExtendTest, HostKnowsItsSession) {
    OwnTool& tool = own("weather");
    tool.join(*session);
    EXPECT_EQ(detail::to_view(tool.host->session_id), session->id());
}

TEST_F(ExtendTest, ThrowingWriteFunctionDisablesThePlugin) {
    OwnTool& tool = own("weather");
    tool.join(*session);
    const auto* state = service<nar_host_state>(tool.host, NAR_HOST_STATE);
    const nar_write_fn thrower = [](void*, nar_str) -> nar_status {
        throw std::runtime_error("no ink");
    };
    EXPECT_EQ(state->read(tool.host, {}, thrower, nullptr), NAR_FAILED);
    EXPECT_THAT(log, HasSubstr("its write function threw"));
    EXPECT_THAT(log, HasSubstr("no ink"));
    EXPECT_EQ(Json(session->plugins().view())[0]["state"].string(), "disabled");
}

// Even one that submits a prompt for each prompt.
TEST_F(ExtendTest, PluginCannotTakeTheGameFromThePlayer) {
    struct Parrot {
        const nar_host* host = nullptr;
        int prompts = 0;
    } parrot;
    auto functions = sized<nar_event_sink_extension>();
    functions.kinds = narratoria::kinds(Kind::Prompt);
    functions.event = [](void* instance, const nar_event*) {
        auto& self = *static_cast<Parrot*>(instance);
        if (++self.prompts > 50) return;
        const auto* prompts = service<nar_host_prompt>(self.host, NAR_HOST_PROMPT);
        prompts->submit(self.host, detail::to_c("polly"), nullptr);
    };
    Narrator narrator{.id = "echo",
                      .generate =
                          [](std::string_view, const NarratorReply& reply) {
                              reply.plan(R"({"requestId":"p","narrative":"Yes.","tools":[]})");
                          },
                      .cancel = {}};
    session.emplace(*engine, SessionOptions{.narrator = narrator});
    parrot.host = session->extend("parrot", NAR_EXTENSION_EVENT_SINK, &functions, &parrot);
    // The player writes while a prompt of the plugin runs and its next one already waits.
    int turns = 0, tries = 0;
    session->attach(
        [&](Event event) {
            if (event.body().find("polly") == std::string_view::npos || ++tries > 10) return;
            session->prompt("go", [&](const Turn&) { ++turns; });
        },
        narratoria::kinds(Kind::Prompt));
    session->prompt("hello");
    engine->run_until_idle();
    EXPECT_EQ(turns, 10);
    session.reset();
}

TEST_F(ExtendTest, CancelledPromptDoesNotKeepTheNextFromWaiting) {
    Narrator narrator{.id = "silent", .generate = [](auto, const auto&) {}, .cancel = {}};
    session.emplace(*engine, SessionOptions{.narrator = narrator});
    session->prompt("first");
    const uint64_t second = session->prompt("second");
    EXPECT_THROW(session->prompt("third"), Error);
    EXPECT_TRUE(session->cancel(second));
    session->prompt("third");
    EXPECT_FALSE(session->cancel(second + 7));
}

TEST_F(ExtendTest, ValueInAReservedFieldIsRefused) {
    auto functions = sized<nar_event_sink_extension>();
    functions.reserved = 7;
    functions.event = [](void*, const nar_event*) {};
    EXPECT_EQ(refusal("test", NAR_EXTENSION_EVENT_SINK, &functions), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(message, HasSubstr("a value in a reserved field"));
}

// A plugin that tried to modify them would crash at its own write, so no plugin sees a modified
// function.
TEST_F(ExtendTest, HostStructsAreInReadOnlyMemory) {
    OwnTool& tool = own("weather");
    tool.join(*session);
    std::ifstream maps("/proc/self/maps");
    struct Mapping {
        uintptr_t begin, end;
        std::string access;
    };
    std::vector<Mapping> mappings;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream in(line);
        Mapping mapping{};
        char dash = 0;
        in >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.access;
        mappings.push_back(mapping);
    }
    auto access = [&](const void* place) {
        const auto address = reinterpret_cast<uintptr_t>(place);
        for (const Mapping& each : mappings) {
            if (address >= each.begin && address < each.end) return each.access.substr(0, 2);
        }
        return std::string("none");
    };
    EXPECT_EQ(access(tool.host), "r-");
    for (const char* id :
         {NAR_HOST_LOG, NAR_HOST_CONFIG, NAR_HOST_THREAD_CHECK, NAR_HOST_STATE, NAR_HOST_CONTEXT,
          NAR_HOST_ASSETS, NAR_HOST_PROMPT, NAR_HOST_TURNS, NAR_HOST_RENDER, NAR_HOST_POST,
          NAR_HOST_TIMER, NAR_HOST_POLL, NAR_HOST_PROCESS, NAR_EXTENSION_NARRATOR, NAR_HOST_INVOKE,
          NAR_HOST_INVOCATION}) {
        const void* table = tool.host->get_extension(tool.host, detail::to_c(id));
        ASSERT_NE(table, nullptr) << id;
        EXPECT_EQ(access(table), "r-") << id;
    }
}

TEST_F(ExtendTest, LaterToolReplacesOneWithTheSameName) {
    OwnTool& first = own("weather", R"({"from":"first"})");
    OwnTool& second = own("weather", R"({"from":"second"})");
    first.join(*session);
    second.join(*session);
    run(plan_of({entry("t", "weather")}));
    EXPECT_EQ(session->state("/from").view(), R"("second")");
    EXPECT_TRUE(first.requests.empty());
}

TEST_F(ExtendTest, RefusedToolReplacesNothing) {
    OwnTool& first = own("weather", R"({"from":"first"})");
    first.join(*session);
    OwnTool& second = own("weather");
    OwnTool& nameless = own("bad name");
    const nar_tool* both[] = {&second.tool, &nameless.tool};
    second.functions.tools = both;
    second.functions.tool_count = 2;
    EXPECT_THROW(second.join(*session), Error);
    run(plan_of({entry("t", "weather")}));
    EXPECT_EQ(session->state("/from").view(), R"("first")");
}

TEST_F(ExtendTest, ToolWithUnknownFlagsIsRefused) {
    OwnTool& tool = own("weather");
    tool.tool.flags = 8;
    try {
        tool.join(*session);
        FAIL() << "it was accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("\"weather\" has unknown flags: 8"));
    }
}

TEST_F(ExtendTest, ToolsWithoutDataAreRefused) {
    OwnTool& tool = own("weather");
    tool.tool.result_schema = {nullptr, 10};
    EXPECT_EQ(refusal("test", NAR_EXTENSION_TOOL, &tool.functions), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(message, HasSubstr("\"weather\" has NULL as the data of its result schema"));
    tool.tool.result_schema = {};
    const nar_tool* list[] = {&tool.tool, nullptr};
    tool.functions.tools = list;
    tool.functions.tool_count = 2;
    EXPECT_EQ(refusal("test", NAR_EXTENSION_TOOL, &tool.functions), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(message, HasSubstr("number 2 in its list of tools is NULL"));
}

// The latest tool is listed last. The tool of a disabled extension is not listed, but a plan that
// names it gets the reason.
TEST_F(ExtendTest, NarratorGetsOnlyRunnableTools) {
    own("weather").join(*session);
    own("dice").join(*session);
    own("weather").join(*session);
    OwnTool& broken = own("broken");
    broken.functions.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {
        throw std::runtime_error("it broke");
    };
    broken.join(*session);

    struct Asked {
        const nar_host* host = nullptr;
        std::string tools;
    } asked;
    auto functions = sized<nar_narrator_extension>();
    functions.generate = [](void* instance, const nar_narrator_request* request) {
        auto& self = *static_cast<Asked*>(instance);
        self.tools = Json(detail::to_view(request->json))["tools"].text();
        const auto* answers = service<nar_host_narrator>(self.host, NAR_EXTENSION_NARRATOR);
        answers->reply(self.host, request->token, detail::to_c(R"({"requestId":"p","tools":[]})"));
    };
    asked.host = session->extend("teller", NAR_EXTENSION_NARRATOR, &functions, &asked);
    const auto tools_told = [&] {
        session->prompt("go");
        engine->run_until_idle();
        return asked.tools;
    };
    const std::string able =
        R"({"name":"dice","description":""},{"name":"weather","description":""})";
    EXPECT_EQ(tools_told(), "[" + able + R"(,{"name":"broken","description":""}])");
    const Json result = run(plan_of({entry("t", "broken")}));
    EXPECT_THAT(result["toolResults"][0]["error"].string(), HasSubstr("it broke"));
    EXPECT_EQ(tools_told(), "[" + able + "]");
    EXPECT_THAT(run(plan_of({entry("t", "broken")}))["toolResults"][0]["error"].string(),
                HasSubstr("is disabled"));
}

TEST_F(ExtendTest, ReleasesToolsOnceWithTheSession) {
    OwnTool& tool = own("weather");
    tool.join(*session);
    EXPECT_EQ(tool.released, 0);
    session.reset();
    EXPECT_EQ(tool.released, 1);
    engine.reset();
    EXPECT_EQ(tool.released, 1);
}

TEST_F(ExtendTest, LatestHandlerIsAskedFirst) {
    struct Handler {
        std::string name;
        std::vector<std::string>* asked;
        nar_status answer;
    };
    std::vector<std::string> asked;
    Handler first{"first", &asked, NAR_OK};
    Handler second{"second", &asked, NAR_DECLINED};
    auto functions = sized<nar_ui_handler_extension>();
    functions.handle = [](void* instance, const nar_ui_event* event) {
        const auto& self = *static_cast<Handler*>(instance);
        self.asked->push_back(self.name + " " + text(event->name));
        return self.answer;
    };
    session->extend("test", NAR_EXTENSION_UI_HANDLER, &functions, &first);
    session->extend("test", NAR_EXTENSION_UI_HANDLER, &functions, &second);
    run(plan_of(
        {entry("t", folder.tool("t", R"(echo '{"version":"0","type":"ui_event","event":"bell"}'
echo '{"version":"0","type":"done","ok":true}'
)"))}));
    EXPECT_THAT(asked, ElementsAre("second bell", "first bell"));
}

TEST_F(ExtendTest, NarratorIsReplacedFromTheNextPrompt) {
    struct Asked {
        const nar_host* host = nullptr;
        int questions = 0;
    } asked;
    auto functions = sized<nar_narrator_extension>();
    functions.generate = [](void* instance, const nar_narrator_request* request) {
        auto& self = *static_cast<Asked*>(instance);
        ++self.questions;
        const auto* answers = service<nar_host_narrator>(self.host, NAR_EXTENSION_NARRATOR);
        answers->reply(self.host, request->token,
                       detail::to_c(R"({"requestId":"p","narrative":"It rains.","tools":[]})"));
    };
    asked.host = session->extend("test", NAR_EXTENSION_NARRATOR, &functions, &asked);
    std::string narrative;
    session->prompt("Look", [&](Turn turn) { narrative = turn.narrative(); });
    engine->run_until_idle();
    EXPECT_EQ(narrative, "It rains.");
    EXPECT_EQ(asked.questions, 1);
}

TEST_F(ExtendTest, ReportOfALateCallSaysWhatTheNarratorDid) {
    const nar_host* host = nullptr;
    auto functions = sized<nar_narrator_extension>();
    functions.generate = [](void* its_host, const nar_narrator_request* request) {
        const nar_host* const asked = *static_cast<const nar_host**>(its_host);
        const auto* answers = service<nar_host_narrator>(asked, NAR_EXTENSION_NARRATOR);
        answers->fail(asked, request->token, NAR_STR("no"));
        EXPECT_EQ(answers->delta(asked, request->token, NAR_STR("It ")), NAR_STALE);
    };
    host = session->extend("test", NAR_EXTENSION_NARRATOR, &functions, &host);
    session->prompt("Look");
    engine->run_until_idle();
    EXPECT_THAT(log, HasSubstr("it sent a piece of narrative for a request to which it had "
                               "already replied"));
}

TEST_F(ExtendTest, HostSinkGetsTheStream) {
    std::vector<uint32_t> kinds;
    auto functions = sized<nar_event_sink_extension>();
    functions.kinds = narratoria::kinds(Kind::PlanStarted, Kind::PlanEnded);
    functions.event = [](void* instance, const nar_event* event) {
        static_cast<std::vector<uint32_t>*>(instance)->push_back(event->kind);
    };
    session->extend("test", NAR_EXTENSION_EVENT_SINK, &functions, &kinds);
    run(plan_of({}));
    EXPECT_THAT(kinds, ElementsAre(NAR_KIND_PLAN_STARTED, NAR_KIND_PLAN_ENDED));
}

TEST_F(ExtendTest, EndlesslyPatchingSinkIsNamedInTheLog) {
    const nar_host* host = nullptr;
    auto functions = sized<nar_event_sink_extension>();
    functions.kinds = narratoria::kinds(Kind::StatePatched);
    functions.event = [](void* instance, const nar_event*) {
        const nar_host* its = *static_cast<const nar_host**>(instance);
        const auto* state = service<nar_host_state>(its, NAR_HOST_STATE);
        state->patch(its, detail::to_c(R"({"again":true})"));
    };
    host = session->extend("echo", NAR_EXTENSION_EVENT_SINK, &functions, &host);
    session->patch_state(R"({"first":true})");
    EXPECT_THAT(log, HasSubstr("plugin echo: its event sink causes a new record for each record"));
}

// A host's extension that publishes values.
struct Publisher {
    explicit Publisher(Session& session, const char* id = "test") {
        functions.event = [](void* self, const nar_event*) {
            if (static_cast<Publisher*>(self)->throws) throw std::runtime_error("enough");
        };
        host = session.extend(id, NAR_EXTENSION_EVENT_SINK, &functions, this);
    }
    nar_status publish(std::string_view name, std::string_view value) const {
        const auto* config = service<nar_host_config>(host, NAR_HOST_CONFIG);
        return config->publish(host, detail::to_c(name), detail::to_c(value));
    }

    bool throws = false;
    nar_event_sink_extension functions = sized<nar_event_sink_extension>();
    const nar_host* host = nullptr;
};

std::string published(const Session& session, std::string_view plugin, std::string_view name) {
    const auto value = session.published(plugin, name);
    return value ? std::string(value->view()) : "nothing";
}

TEST_F(ExtendTest, HostReadsPublishedValues) {
    const Publisher one(*session, "one");
    const Publisher other(*session, "other");
    EXPECT_EQ(published(*session, "one", "url"), "nothing");
    EXPECT_EQ(one.publish("url", "http://127.0.0.1:1/"), NAR_OK);
    EXPECT_EQ(published(*session, "one", "url"), "http://127.0.0.1:1/");
    EXPECT_EQ(published(*session, "other", "url"), "nothing");
    EXPECT_EQ(published(*session, "nobody", "url"), "nothing");
    EXPECT_EQ(one.publish("url", "http://127.0.0.1:2/"), NAR_OK);
    EXPECT_EQ(other.publish("url", "–"), NAR_OK);
    EXPECT_EQ(published(*session, "one", "url"), "http://127.0.0.1:2/");
    EXPECT_EQ(published(*session, "other", "url"), "–");
    EXPECT_EQ(one.publish("url", ""), NAR_OK);
    EXPECT_EQ(published(*session, "one", "url"), "nothing");
    EXPECT_EQ(one.publish("url", {}), NAR_OK);
    EXPECT_EQ(log, "");
}

TEST_F(ExtendTest, PublishedValuesHaveLoggedLimits) {
    const Publisher one(*session);
    const auto refused = [&](std::string_view name, std::string_view value, const char* why) {
        log.clear();
        EXPECT_EQ(one.publish(name, value), NAR_INVALID_ARGUMENT);
        EXPECT_THAT(log, HasSubstr(why));
        EXPECT_THAT(log, HasSubstr("plugin test: config.publish: "));
    };
    refused("", "v", "a name must be");
    refused("Url", "v", "not \"Url\"");
    refused(std::string(65, 'n'), "v", "1 to 64 bytes");
    refused("url", std::string(4097, 'v'), "has 4097 bytes; the limit is 4096");
    refused("url", "\xff", "is not UTF-8");
    EXPECT_EQ(one.publish(std::string(64, 'n'), std::string(4096, 'v')), NAR_OK);
    for (int name = 1; name < 32; ++name) EXPECT_EQ(one.publish(std::to_string(name), "v"), NAR_OK);
    refused("url", "v", "already published 32 names");
    EXPECT_EQ(one.publish("1", "w"), NAR_OK);
    EXPECT_EQ(one.publish("2", ""), NAR_OK);
    EXPECT_EQ(one.publish("url", "v"), NAR_OK);
    EXPECT_EQ(published(*session, "test", "1"), "w");
    EXPECT_EQ(published(*session, "test", "2"), "nothing");
}

TEST_F(ExtendTest, DisabledPluginsPublishedValuesAreRemoved) {
    Publisher one(*session);
    EXPECT_EQ(one.publish("url", "v"), NAR_OK);
    one.throws = true;
    run(plan_of({}));
    EXPECT_EQ(published(*session, "test", "url"), "nothing");
    EXPECT_EQ(one.publish("url", "v"), NAR_GONE);
}

TEST_F(ExtendTest, RefusalsNameTheRule) {
    auto functions = sized<nar_ui_handler_extension>();
    EXPECT_EQ(refusal("test", NAR_EXTENSION_UI_HANDLER, &functions), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(message, HasSubstr("no function"));
    EXPECT_EQ(refusal("test", NAR_EXTENSION_UI_HANDLER, nullptr), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(refusal("No id", NAR_EXTENSION_UI_HANDLER, &functions), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(refusal("test", "narratoria.oracle/1", &functions), NAR_UNSUPPORTED);
    EXPECT_THAT(message, HasSubstr("narratoria.oracle/1"));
}

TEST_F(ExtendTest, SlowHostExtensionIsNotReported) {
    auto functions = sized<nar_event_sink_extension>();
    functions.kinds = narratoria::kinds(Kind::PlanEnded);
    functions.event = [](void*, const nar_event*) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
        while (std::chrono::steady_clock::now() < until) {
        }
    };
    session->extend("test", NAR_EXTENSION_EVENT_SINK, &functions, nullptr);
    run(plan_of({}));
    EXPECT_EQ(log, "");
}

TEST_F(ExtendTest, ExtendIsRefusedWithinACallback) {
    std::string refused;
    session->attach([&](Event) {
        try {
            session->extend("test", NAR_EXTENSION_EVENT_SINK, idle_sink(), nullptr);
        } catch (const Error& error) {
            refused = error.code();
        }
    });
    run(plan_of({}));
    EXPECT_EQ(refused, "REENTRANT");
}

}  // namespace
}  // namespace narratoria::test
