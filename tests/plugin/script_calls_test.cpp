// SPDX-License-Identifier: Apache-2.0
// CALLs of a script to the host's functions, which may end before they return and then have no
// attempt: the observable behaviour is the same as with one.

#if defined(__GNUC__) && !defined(__clang__)
// With sanitizers, GCC wrongly reports uninitialized members of std::regex.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <regex>
#include <thread>

#include "narratoria/context.h"
#include "narratoria/tool.h"
#include "narratoria/tools.hpp"
#include "plugin/host.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;

// A host's tool with output from a function of the test.
class Answering {
public:
    using Answer = std::function<void(const nar_host_invocation& answers, const nar_host* host,
                                      uint64_t token)>;

    Answering(Session& session, uint32_t flags, Answer answer) : answer_(std::move(answer)) {
        tool_.name = detail::to_c("answer");
        tool_.input_schema = detail::to_c(
            R"({"type":"object","properties":{"n":{"type":"number"}},"required":["n"]})");
        tool_.flags = flags;
        functions_.tools = &list_;
        functions_.tool_count = 1;
        functions_.invoke = [](void* user, uint64_t token, const nar_tool*,
                               const nar_invocation* invocation) {
            auto& self = *static_cast<Answering*>(user);
            self.requests.emplace_back(detail::to_view(invocation->request));
            self.answer_(*self.answers_, self.host, token);
        };
        functions_.cancel = [](void* user, uint64_t token) {
            const auto& self = *static_cast<const Answering*>(user);
            self.answers_->ended(self.host, token, nullptr);
        };
        host = session.extend("answering", NAR_EXTENSION_TOOL, &functions_, this);
        answers_ = service<nar_host_invocation>(host, NAR_HOST_INVOCATION);
    }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;

    std::vector<std::string> requests;
    const nar_host* host = nullptr;

private:
    const Answer answer_;
    nar_tool tool_ = sized<nar_tool>();
    const nar_tool* const list_ = &tool_;
    nar_tool_extension functions_ = sized<nar_tool_extension>();
    const nar_host_invocation* answers_ = nullptr;
};

// Writes `bytes` and ends.
Answering::Answer says(std::string bytes) {
    return [bytes = std::move(bytes)](const nar_host_invocation& answers, const nar_host* host,
                                      uint64_t token) {
        EXPECT_EQ(answers.output(host, token, detail::to_c(bytes)), NAR_OK);
        EXPECT_EQ(answers.ended(host, token, nullptr), NAR_OK);
        EXPECT_EQ(answers.ended(host, token, nullptr), NAR_STALE);
    };
}
std::string done(const std::string& members) {
    return R"({"version":"0","type":"done","ok":true)" + members + "}\n";
}

struct Ran {
    std::string scope;
    std::string error;
    std::string result;  // without values that differ between runs
    std::string state;
    size_t calls = 0;
};

// Removes values that differ between runs.
std::string constant(std::string text) {
    for (const char* changing :
         {R"("planId":"[^"]*")", R"("requestId":"[^"]*")", R"("startedAt":"[^"]*")",
          R"("executionTime":\d+)", R"("(user|system)Microseconds":\d+)"}) {
        text = std::regex_replace(text, std::regex(changing), "_");
    }
    return text;
}

Ran run(const std::string& source, uint32_t flags, const Answering::Answer& answer,
        Recorder* recorder = nullptr, const std::optional<Limits>& limits = {}) {
    const Folder folder;
    Engine engine({.root = folder.path(), .limits = limits});
    Session session(engine, {.seed = 1});
    if (recorder != nullptr) session.attach(std::ref(*recorder));
    const Answering tool(session, flags, answer);
    Ran ran;
    session.run_script(
        source, "", "", [](std::string_view) {},
        [&](const ScriptEnd& end) {
            ran.scope = end.scope;
            ran.error = end.error;
            if (end.result) ran.result = end.result.json().view();
        });
    engine.run_until_idle();
    ran.state = session.state().view();
    ran.calls = tool.requests.size();
    std::string all = ran.result;
    for (const std::string& request : tool.requests) all += request;
    ran.result = constant(all);
    return ran;
}

// The records of a sink, in order.
std::string trace_of(const Recorder& recorder) {
    std::string all;
    for (const Record& record : recorder.records) {
        all += std::to_string(record.seq) + " " + std::to_string(static_cast<int>(record.kind)) +
               "." + std::to_string(static_cast<int>(record.type)) + " " + record.tool_id + " " +
               std::to_string(record.attempt) + " " + constant(record.text) + "\n";
    }
    return all;
}

// A tool that always has an attempt.
constexpr uint32_t kSlow = NAR_TOOL_NOT_REPEATABLE;

constexpr const char* kThree =
    "LET a = CALL answer {n: 1, other: 2} LET b = CALL answer {n: 3}\n"
    "LET c = CALL answer {n: 4.5}";

std::vector<std::string> outputs() {
    return {done(R"(,"result":{"x":[1,"ü"]})"),
            done(""),
            done(R"(,"result":null)"),
            done(R"(,"result": 5)"),
            done(R"(,"summary":"Fine.","result":5)"),
            std::string(R"({"version":"0","type":"done","ok":true})"),  // without a newline
            patch(R"({"seen":true})") + "\n" + done(R"(,"result":5)"),
            done(R"(,"result":5)") + log("late") + "\n",
            kFailed + "\n",
            std::string("no event\n"),
            done(R"(,"result":5,"ok":false)"),
            done(R"(,"result":)"),
            std::string()};
}

class EarlyEnds : public ::testing::TestWithParam<uint32_t> {
protected:
    // Runs the script with this tool and with one that has attempts. Returns the first run.
    static Ran compare(const std::string& source, const Answering::Answer& answer,
                       const std::optional<Limits>& limits = {}) {
        Ran quick;
        for (const bool is_observed : {false, true}) {
            Recorder of_slow, of_quick;
            const Ran slow = run(source, kSlow, answer, is_observed ? &of_slow : nullptr, limits);
            quick = run(source, GetParam(), answer, is_observed ? &of_quick : nullptr, limits);
            EXPECT_EQ(quick.scope, slow.scope);
            EXPECT_EQ(quick.error, slow.error);
            EXPECT_EQ(quick.result, slow.result);
            EXPECT_EQ(quick.state, slow.state);
            EXPECT_EQ(quick.calls, slow.calls);
            EXPECT_EQ(trace_of(of_quick), trace_of(of_slow));
        }
        return quick;
    }
};
INSTANTIATE_TEST_SUITE_P(Tools, EarlyEnds, ::testing::Values(0u, NAR_TOOL_SYNCHRONOUS),
                         [](const auto& each) {
                             return each.param == 0 ? "Ordinary" : "Synchronous";
                         });

TEST_P(EarlyEnds, AreLikeOtherEnds) {
    for (const std::string& output : outputs()) {
        SCOPED_TRACE(output);
        compare(kThree, says(output));
    }
}

TEST_P(EarlyEnds, ObeyTheLineLimit) {
    Limits limits;
    limits.line_bytes = 60;
    const Ran ran = compare(kThree, says(done(R"(,"result":"twenty characters...")")), limits);
    EXPECT_NE(ran.error, "");
}

TEST_P(EarlyEnds, MayReportAFailure) {
    const Ran ran = compare("CALL answer {n: 1}", [](const nar_host_invocation& answers,
                                                     const nar_host* host, uint64_t token) {
        answers.diagnostics(host, token, detail::to_c("why"));
        auto end = sized<nar_invocation_end>();
        end.error_code = detail::to_c("QUEUE_FULL");
        end.error = detail::to_c("no room");
        end.last_output = detail::to_c(R"({"version":"0","type":"done","ok":true})");
        answers.ended(host, token, &end);
    });
    EXPECT_THAT(ran.error, HasSubstr("no room"));
}

TEST_P(EarlyEnds, MayAlternateWithOthers) {
    // Every other call writes more than its result.
    const auto uneven = [] {
        return [count = std::make_shared<int>(0)](const nar_host_invocation& answers,
                                                  const nar_host* host, uint64_t token) {
            const std::string text =
                done(R"(,"result":)" + std::to_string(++*count)) + (*count % 2 == 0 ? "\n \n" : "");
            answers.output(host, token, detail::to_c(text));
            answers.ended(host, token, nullptr);
        };
    };
    const std::string source = "FOR i IN [1,2,3,4,5] DO PRINT(CALL answer {n: i}) END";
    EXPECT_EQ(run(source, GetParam(), uneven()).result, run(source, kSlow, uneven()).result);
}

TEST(OrdinaryTools, MayWriteTheStateBeforeTheyEndWithinTheirStart) {
    const auto write = [](const nar_host_invocation& answers, const nar_host* host,
                          uint64_t token) {
        const auto* const context = service<nar_host_context>(host, NAR_HOST_CONTEXT);
        EXPECT_EQ(
            context->set_state(host, token, detail::to_c("a"), detail::to_c("1"), nullptr, nullptr),
            NAR_OK);
        answers.output(host, token, detail::to_c(done("")));
        answers.ended(host, token, nullptr);
    };
    Recorder of_slow, of_quick;
    const Ran slow = run(kThree, kSlow, write, &of_slow);
    const Ran quick = run(kThree, 0, write, &of_quick);
    EXPECT_EQ(quick.state, R"({"a":1})");
    EXPECT_EQ(quick.result, slow.result);
    EXPECT_EQ(trace_of(of_quick), trace_of(of_slow));
}

TEST(SynchronousTools, AreTracedForASink) {
    Recorder recorder;
    const Ran ran = run(kThree, NAR_TOOL_SYNCHRONOUS, says(done("")), &recorder);
    EXPECT_EQ(ran.calls, 3u);
    EXPECT_EQ(recorder.of(Kind::ToolPending).size(), 3u);
    EXPECT_EQ(recorder.of(Kind::ToolEvent).size(), 3u);
    EXPECT_EQ(recorder.of(Kind::ToolEnded).size(), 3u);
}

TEST(SynchronousTools, FailIfTheyDoNotAnswerAtOnce) {
    Recorder recorder;
    for (Recorder* const sink : {static_cast<Recorder*>(nullptr), &recorder}) {
        const Ran ran = run(
            "CALL answer {n: 1}", NAR_TOOL_SYNCHRONOUS,
            [](const nar_host_invocation&, const nar_host*, uint64_t) {}, sink);
        EXPECT_THAT(ran.error, HasSubstr("did not report its end before invoke returned"));
    }
}

TEST(SynchronousTools, HaveNoTokenAfterInvokeReturned) {
    uint64_t kept = 0;
    const nar_host_invocation* its = nullptr;
    const nar_host* its_host = nullptr;
    nar_status from_a_thread = NAR_FAILED;
    const Ran ran =
        run("CALL answer {n: 1} CALL answer {n: 2}", NAR_TOOL_SYNCHRONOUS,
            [&](const nar_host_invocation& answers, const nar_host* host, uint64_t token) {
                if (kept != 0) {
                    EXPECT_EQ(answers.output(host, kept, detail::to_c("x")), NAR_GONE);
                }
                kept = token;
                its = &answers;
                its_host = host;
                std::thread([&] {
                    from_a_thread = its->output(its_host, kept, detail::to_c(done("")));
                }).join();
                answers.ended(host, token, nullptr);
            });
    EXPECT_EQ(from_a_thread, NAR_OK);
    EXPECT_EQ(ran.error, "");
}

TEST(SynchronousTools, CannotHandOverOrWriteTheState) {
    Recorder recorder;
    for (Recorder* const sink : {static_cast<Recorder*>(nullptr), &recorder}) {
        size_t refused = 0;
        run(
            "CALL answer {n: 1}", NAR_TOOL_SYNCHRONOUS,
            [&](const nar_host_invocation& answers, const nar_host* host, uint64_t token) {
                const nar_str program = detail::to_c("/bin/true");
                const nar_command command{sizeof(nar_command), 0, &program, 1};
                EXPECT_EQ(answers.run(host, token, &command), NAR_INVALID_ARGUMENT);
                const auto* const context = service<nar_host_context>(host, NAR_HOST_CONTEXT);
                auto failure = sized<nar_failure>();
                EXPECT_EQ(context->set_state(host, token, detail::to_c("a"), detail::to_c("1"),
                                             nullptr, &failure),
                          NAR_INVALID_ARGUMENT);
                EXPECT_THAT(failure.message, HasSubstr("state_patch"));
                ++refused;
                says(done(""))(answers, host, token);
            },
            sink);
        EXPECT_EQ(refused, 1u);
    }
}

TEST(SynchronousTools, CanBeCancelled) {
    const Folder folder;
    Engine engine({.root = folder.path()});
    Session session(engine);
    int calls = 0;
    const Answering tool(
        session, NAR_TOOL_SYNCHRONOUS,
        [&](const nar_host_invocation& answers, const nar_host* host, uint64_t token) {
            if (++calls == 10) session.cancel();
            says(done(""))(answers, host, token);
        });
    std::string error;
    std::string list = "[";
    for (int i = 0; i < 1000; ++i) list += "0,";
    session.run_script(
        "LET l = " + list + "] FOR a IN l DO FOR b IN l DO CALL answer {n: b} END END", "", "",
        [](std::string_view) {}, [&](const ScriptEnd& end) { error = end.error; });
    engine.run_until_idle();
    EXPECT_THAT(error, HasSubstr("CancelledError"));
    EXPECT_EQ(calls, 10);
}

TEST(SynchronousTools, DoNotFollowEachOtherBeyondTheBudget) {
    const Folder folder;
    Engine engine({.root = folder.path()});
    Session session(engine);
    const std::chrono::microseconds budget(1);
    const Answering tool(
        session, NAR_TOOL_SYNCHRONOUS,
        [&](const nar_host_invocation& answers, const nar_host* host, uint64_t token) {
            const auto end = std::chrono::steady_clock::now() + 2 * budget;
            while (std::chrono::steady_clock::now() < end) {
            }
            says(done(""))(answers, host, token);
        });
    session.run_script(
        "FOR n IN [1, 2, 3, 4, 5] DO CALL answer {n: n} END", "", "", [](std::string_view) {},
        [](const ScriptEnd&) {});
    while (engine.is_busy()) {
        const size_t before = tool.requests.size();
        engine.run_for(budget);
        ASSERT_LE(tool.requests.size(), before + 1);
    }
    EXPECT_EQ(tool.requests.size(), 5u);
}

std::string error_of(Engine& engine, Session& session, const std::string& source) {
    std::string error = "the script did not end";
    session.run_script(
        source, "", "", [](std::string_view) {}, [&](const ScriptEnd& end) { error = end.error; });
    engine.run_until_idle();
    return error;
}

TEST(SynchronousTools, MayRemoveThemselves) {
    const Folder folder;
    Engine engine({.root = folder.path()});
    Session session(engine);
    int calls = 0;
    session.tools().add(
        {.name = "last", .synchronous = true},
        [&](const plugin::InvocationRequest&, const plugin::Invocation& invocation) {
            ++calls;
            session.tools().remove("last");
            invocation.result("1");
        });
    EXPECT_THAT(error_of(engine, session, "LET a = CALL last {} LET b = CALL last {}"),
                HasSubstr("ToolNotFoundError: Tool 'last' not found"));
    EXPECT_EQ(calls, 1);
}

TEST(SynchronousTools, MayReplaceACalledTool) {
    const Folder folder;
    Engine engine({.root = folder.path()});
    Session session(engine);
    const auto add = [&](std::string result) {
        session.tools().add(
            {.name = "current", .synchronous = true},
            [result](const plugin::InvocationRequest&, const plugin::Invocation& invocation) {
                invocation.result(result);
            });
    };
    add("1");
    session.tools().add(
        {.name = "replace", .synchronous = true},
        [&](const plugin::InvocationRequest&, const plugin::Invocation& invocation) {
            session.tools().remove("current");
            add("2");
            invocation.result("null");
        });
    std::string scope;
    session.run_script(
        "LET a = CALL current {} CALL replace {} LET b = CALL current {}", "", "",
        [](std::string_view) {},
        [&](const ScriptEnd& end) { scope = std::string(end.scope) + std::string(end.error); });
    engine.run_until_idle();
    EXPECT_EQ(scope, R"({"a":1,"b":2})");
}

// A sink may act between any two records.
TEST(SynchronousTools, MayBeRemovedByASink) {
    for (const bool synchronous : {false, true}) {
        const Folder folder;
        Engine engine({.root = folder.path()});
        Session session(engine);
        int calls = 0;
        session.tools().add(
            {.name = "gone", .synchronous = synchronous},
            [&](const plugin::InvocationRequest&, const plugin::Invocation& invocation) {
                ++calls;
                invocation.result("1");
            });
        int pending = 0;
        session.attach([&](Event event) {
            if (event.kind() != Kind::ToolPending) return;
            if (++pending == 2) session.tools().remove("gone");
        });
        EXPECT_THAT(error_of(engine, session, "CALL gone {} CALL gone {}"), HasSubstr("gone"));
        EXPECT_EQ(calls, 1);
        EXPECT_EQ(pending, 2);
    }
}

TEST(SynchronousTools, ResultOfAWrongTypeIsAWarning) {
    const Folder folder;
    Engine engine({.root = folder.path()});
    Session session(engine);
    session.tools().add(
        {.name = "age", .result_schema = R"({"type":"integer"})", .synchronous = true},
        [](const plugin::InvocationRequest&, const plugin::Invocation& invocation) {
            invocation.result("\"old\"");
        });
    std::string warning;
    session.attach([&](Event event) {
        if (event.kind() == Kind::Warning) warning = event.body();
    });
    EXPECT_EQ(error_of(engine, session, "LET a = CALL age {}"), "");
    EXPECT_THAT(warning, HasSubstr("the result violates the tool's schema"));
}

}  // namespace
}  // namespace narratoria::test
