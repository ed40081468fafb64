// SPDX-License-Identifier: Apache-2.0
// Tools that run while a narrator thinks (narratoria.invoke/1), through the C ABI.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "plugin/host.hpp"
#include "support/folders.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InvokeTest : public PluginHostTest {
protected:
    void open(bool with_thinker) {
        folder.write("story.toml",
                     std::string("title = \"Thinking\"\n") +
                         (with_thinker ? "[narrator]\nname = \"test.thinker\"\n" : ""));
        std::filesystem::create_directories(folder / "plugins");
        std::filesystem::create_symlink(test::in_build("tests/plugins/thinker.so"),
                                        folder / "plugins/thinker.so");
        tool("ok", "");
        tool("bad", "exit 3");
        open_engine();
        open_session({.story = folder.path()});
    }
    void tool(const std::string& name, const std::string& command) {
        folder.tool("tools/" + name, command + "\nprintf '%s\\n' '" + kDone + "'");
    }
};

TEST_F(InvokeTest, NarratorInCInvokesToolsWhileItThinks) {
    open(true);
    const Told told = prompt("ok again bad again ok");
    EXPECT_EQ(told.outcome, Outcome::Completed);
    EXPECT_EQ(told.narrative, "1 completed, 2 failed, 3 completed");
    EXPECT_EQ(recorder.of(Kind::PlanStarted).size(), 2u)
        << "the invocations' execution and the answer's";
    EXPECT_EQ(recorder.of(Kind::ToolStarted).size(), 3u);
    EXPECT_EQ(recorder.of(Kind::ToolStarted, "ok-1").size(), 1u);
    EXPECT_THAT(log, Not(HasSubstr("thinker")));
    EXPECT_EQ(prompt("ok").narrative, "1 completed") << "each request has its own invocations";
}

// A host's narrator with functions that the test chooses.
class OwnInvokeTest : public InvokeTest {
protected:
    void SetUp() override { open(false); }

    void join(std::function<void(uint64_t token)> its_generate) {
        generate = std::move(its_generate);
        functions.generate = [](void* instance, const nar_narrator_request* request) {
            static_cast<OwnInvokeTest*>(instance)->generate(request->token);
        };
        host = session->extend("own", NAR_EXTENSION_NARRATOR, &functions, this);
        answers = service<nar_host_narrator>(host, NAR_EXTENSION_NARRATOR);
        tools = service<nar_host_invoke>(host, NAR_HOST_INVOKE);
    }
    nar_status invoke(uint64_t token, std::string_view invocation) {
        failure = {sizeof failure, "", ""};
        return tools->invoke(
            host, token, detail::to_c(invocation),
            [](void* user, const nar_invoke_outcome* told) {
                auto& self = *static_cast<OwnInvokeTest*>(user);
                self.outcome = std::string(detail::to_view(told->json));
                if (self.on_outcome) self.on_outcome(told->token);
            },
            this, nullptr, &failure);
    }
    void reply(uint64_t token) {
        answers->reply(host, token, detail::to_c(R"({"requestId":"p","tools":[]})"));
    }

    nar_narrator_extension functions = sized<nar_narrator_extension>();
    std::function<void(uint64_t token)> generate;
    std::function<void(uint64_t token)> on_outcome;
    const nar_host* host = nullptr;
    const nar_host_narrator* answers = nullptr;
    const nar_host_invoke* tools = nullptr;
    nar_failure failure{};
    std::string outcome;
};

TEST_F(OwnInvokeTest, RefusedInvocationSaysWhy) {
    join([this](uint64_t token) {
        EXPECT_EQ(invoke(token, R"({"input":{}})"), NAR_INVALID_DOCUMENT);
        EXPECT_THAT(failure.message, HasSubstr("\"tool\""));
        EXPECT_EQ(tools->invoke(host, token, detail::to_c(R"({"tool":"ok"})"), nullptr, nullptr,
                                nullptr, &failure),
                  NAR_INVALID_ARGUMENT);
        EXPECT_THAT(failure.message, HasSubstr("on_outcome"));
        EXPECT_EQ(invoke(token + 1, R"({"tool":"ok"})"), NAR_GONE);
        std::thread([&] { EXPECT_EQ(invoke(token, R"({"tool":"ok"})"), NAR_WRONG_THREAD); }).join();
        reply(token);
        EXPECT_EQ(invoke(token, R"({"tool":"ok"})"), NAR_GONE);
        EXPECT_EQ(tools->cancel(host, token, 1), NAR_GONE);
    });
    EXPECT_EQ(prompt("go").outcome, Outcome::Completed);
    EXPECT_EQ(outcome, "");
    EXPECT_EQ(invoke(1, R"({"tool":"ok"})"), NAR_GONE) << "no turn runs";
}

TEST_F(OwnInvokeTest, OnlyTheNarratorMayInvoke) {
    uint64_t asked = 0;
    join([&](uint64_t token) { asked = token; });
    const nar_host* other =
        session->extend("other", NAR_EXTENSION_EVENT_SINK, idle_sink(), nullptr);
    session->prompt("go", [](Turn) {});
    engine->run_for(std::chrono::microseconds(0));
    std::swap(host, other);
    EXPECT_EQ(invoke(asked, R"({"tool":"ok"})"), NAR_GONE);
    EXPECT_THAT(log, HasSubstr("is not this session's narrator"));
    std::swap(host, other);
    on_outcome = [this](uint64_t token) { reply(token); };
    EXPECT_EQ(invoke(asked, R"({"tool":"ok"})"), NAR_OK);
    engine->run_until_idle();
    EXPECT_TRUE(Json(outcome)["ok"].boolean()) << outcome;
}

TEST_F(OwnInvokeTest, NarratorThatThrowsInAnOutcomeIsDisabled) {
    join([this](uint64_t token) {
        EXPECT_EQ(invoke(token, R"({"tool":"ok"})"), NAR_OK);
        EXPECT_EQ(invoke(token, R"({"tool":"ok"})"), NAR_OK);
    });
    int calls = 0;
    on_outcome = [&](uint64_t) {
        ++calls;
        throw std::runtime_error("it broke");
    };
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_EQ(calls, 1);
    EXPECT_THAT(log, HasSubstr("it broke"));
}

}  // namespace
}  // namespace narratoria::test
