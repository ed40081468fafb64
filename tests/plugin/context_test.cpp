// SPDX-License-Identifier: Apache-2.0
// ToolContext (spec 002) through the C ABI: keyed access to the state and its metadata, for tools
// implemented by functions in this process, for plugins and for the host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "narratoria/context.h"
#include "narratoria/host_loop.h"
#include "narratoria/plugin.hpp"
#include "narratoria/tool.h"
#include "narratoria/tools.h"
#include "narratoria/tools.hpp"
#include "plugin/host.hpp"
#include "support/folders.hpp"

namespace narratoria::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

nar_status append(void* user, nar_str piece) {
    static_cast<std::string*>(user)->append(detail::to_view(piece));
    return NAR_OK;
}

// A tool implemented by a function of the test.
class Acting {
public:
    using Act = std::function<void(Acting&, uint64_t token)>;

    Acting(Session& session, std::string name, Act act)
        : name_(std::move(name)), act_(std::move(act)) {
        tool_.name = detail::to_c(name_);
        functions_.tools = &list_;
        functions_.tool_count = 1;
        functions_.invoke = [](void* instance, uint64_t token, const nar_tool*,
                               const nar_invocation*) {
            auto& self = *static_cast<Acting*>(instance);
            self.act_(self, token);
        };
        functions_.cancel = [](void* instance, uint64_t token) {
            auto& self = *static_cast<Acting*>(instance);
            ++self.cancels;
            self.end(token);
        };
        host = session.extend(name_, NAR_EXTENSION_TOOL, &functions_, this);
    }
    Acting(const Acting&) = delete;
    Acting& operator=(const Acting&) = delete;

    const nar_host_context& context() const {
        return *service<nar_host_context>(host, NAR_HOST_CONTEXT);
    }
    const nar_host_invocation& invocation() const {
        return *service<nar_host_invocation>(host, NAR_HOST_INVOCATION);
    }

    nar_status set(uint64_t token, std::string_view key, std::string_view value,
                   const nar_state_metadata* metadata = nullptr) {
        auto failure = sized<nar_failure>();
        const nar_status status = context().set_state(host, token, detail::to_c(key),
                                                      detail::to_c(value), metadata, &failure);
        reason = failure.message;
        return status;
    }
    std::string get(std::string_view key) const {
        std::string text;
        const nar_status status = context().get_state_value(host, detail::to_c(key), append, &text);
        return status == NAR_OK ? text : "nothing";
    }
    void say(uint64_t token, const std::string& line) const {
        EXPECT_EQ(invocation().output(host, token, detail::to_c(line + "\n")), NAR_OK);
    }
    void end(uint64_t token) const { invocation().ended(host, token, nullptr); }
    void finish(uint64_t token) const {
        say(token, kDone);
        end(token);
    }
    void post(std::function<void()> function) const {
        auto* kept = new std::function<void()>(std::move(function));
        service<nar_host_post>(host, NAR_HOST_POST)
            ->post(
                host,
                [](void* user) {
                    const std::unique_ptr<std::function<void()>> its(
                        static_cast<std::function<void()>*>(user));
                    (*its)();
                },
                [](void* user) { delete static_cast<std::function<void()>*>(user); }, kept);
    }

    const nar_host* host = nullptr;
    std::string reason;
    int cancels = 0;

private:
    std::string name_;
    Act act_;
    nar_tool tool_ = sized<nar_tool>();
    const nar_tool* list_ = &tool_;
    nar_tool_extension functions_ = sized<nar_tool_extension>();
};

class ContextTest : public PluginHostTest {
protected:
    void SetUp() override { open({}, {}); }

    void open(std::string_view state, Limits limits) {
        close();
        EngineOptions options;
        options.limits = limits;
        options.jobs = 4;
        open_engine(options);
        SessionOptions its;
        its.state = state;
        open_session(its);
    }
    Acting& tool(std::string name, Acting::Act act) {
        return tools.emplace_back(*session, std::move(name), std::move(act));
    }
    std::string state() const { return std::string(session->state().view()); }
    std::string prompt() const { return std::string(session->format_state_for_prompt().view()); }
    // The tool's records, shortened to their kind or patch.
    std::vector<std::string> told(std::string_view tool_id) const {
        std::vector<std::string> out;
        for (const Record& record : recorder.records) {
            if (record.tool_id != tool_id) continue;
            if (record.kind != Kind::ToolEvent) {
                out.emplace_back(nar_kind_name(static_cast<uint32_t>(record.kind)));
            } else if (record.type == Type::StatePatch) {
                out.push_back(record.body["patch"].text());
            } else {
                out.push_back(record.body["type"].string());
            }
        }
        return out;
    }

    std::deque<Acting> tools;
};

// covers: 002-context-set-state, 002-context-one-state
TEST_F(ContextTest, SettingAKeyIsAPatchOfTheTool) {
    tool("setter", [](Acting& self, uint64_t token) {
        self.say(token, test::log("before"));
        EXPECT_EQ(self.set(token, "door", R"({"open":true,"age":9})"), NAR_OK) << self.reason;
        EXPECT_EQ(self.get("door"), R"({"open":true,"age":9})") << "the key is set at once";
        EXPECT_EQ(self.set(token, "door", R"({"open":false})"), NAR_OK) << self.reason;
        EXPECT_EQ(self.get("door"), R"({"open":false})") << "the value is replaced, not merged";
        self.say(token, test::log("after"));
        self.finish(token);
    });
    const Json result = run(plan_of({entry("t", "setter")}));
    EXPECT_TRUE(result["success"].boolean()) << result.text();
    EXPECT_EQ(state(), R"({"door":{"open":false}})");
    EXPECT_THAT(told("t"), ElementsAre("tool_pending", "tool_started", "attempt_started", "log",
                                       R"({"door":{"open":true,"age":9}})",
                                       R"({"door":{"open":false,"age":null}})", "log", "done",
                                       "attempt_ended", "tool_ended"));
    EXPECT_EQ(result["toolResults"][0]["output"].text(), R"({"door":{"open":false}})");
    EXPECT_EQ(result["toolResults"][0]["events"].size(), 5u);
    const Json history(session->history().view());
    ASSERT_EQ(history["patches"].size(), 2u);
    EXPECT_EQ(history["patches"][1]["toolId"].string(), "t");
    EXPECT_EQ(history["patches"][1]["planId"].string(), "plan-1");
    for (size_t i = 1; i < recorder.records.size(); ++i) {
        EXPECT_EQ(recorder.records[i].seq, recorder.records[i - 1].seq + 1);
    }
}

// The opposite direction: a function reads what a process has patched.
TEST_F(ContextTest, FunctionReadsPatchesOfAProcess) {
    std::string seen;
    tool("reader", [&](Acting& self, uint64_t token) {
        seen = self.get("gold");
        self.finish(token);
    });
    run(plan_of({entry("p", folder.says("p", {patch(R"({"gold":5})"), kDone})),
                 entry("t", "reader", R"("dependencies":["p"])")}));
    EXPECT_EQ(seen, "5");
}

TEST_F(ContextTest, ToolReadsItsOwnDeliveredPatches) {
    tool("counter", [](Acting& self, uint64_t token) {
        self.say(token, patch(R"({"n":1})"));
        EXPECT_EQ(self.get("n"), "nothing");
        EXPECT_EQ(self.context().deliver_output(self.host, token), NAR_OK);
        EXPECT_EQ(self.get("n"), "1");
        self.finish(token);
        EXPECT_EQ(self.context().deliver_output(self.host, token), NAR_STALE);
        EXPECT_EQ(self.context().deliver_output(self.host, 0), NAR_GONE);
    });
    run(plan_of({entry("t", "counter")}));
    EXPECT_THAT(told("t"), ElementsAre("tool_pending", "tool_started", "attempt_started",
                                       R"({"n":1})", "done", "attempt_ended", "tool_ended"));
}

TEST_F(ContextTest, ToolMaySetKeysAfterItsFunctionReturned) {
    tool("late", [](Acting& self, uint64_t token) {
        std::thread([&self, token] {
            self.post([&self, token] {
                self.say(token, test::log("first"));
                EXPECT_EQ(self.set(token, "k", "2"), NAR_OK) << self.reason;
                EXPECT_EQ(self.get("k"), "2");
                self.finish(token);
                EXPECT_EQ(self.set(token, "k", "3"), NAR_STALE);
                EXPECT_THAT(self.reason, HasSubstr("ended"));
            });
        }).join();
    });
    run(plan_of({entry("t", "late")}));
    EXPECT_EQ(state(), R"({"k":2})");
    EXPECT_THAT(told("t"), ElementsAre("tool_pending", "tool_started", "attempt_started", "log",
                                       R"({"k":2})", "done", "attempt_ended", "tool_ended"));
}

TEST_F(ContextTest, NothingIsWrittenAfterDone) {
    tool("over", [](Acting& self, uint64_t token) {
        self.say(token, kDone);
        EXPECT_EQ(self.set(token, "k", "1"), NAR_STALE);
        EXPECT_THAT(self.reason, HasSubstr("done"));
        self.end(token);
    });
    const Json result = run(plan_of({entry("t", "over")}));
    EXPECT_TRUE(result["success"].boolean()) << result.text();
    EXPECT_EQ(state(), "{}");
}

// An invalid line while the function runs: the tool is cancelled once the function has returned.
TEST_F(ContextTest, InvalidLineBeforeAWriteEndsTheAttempt) {
    Acting& broken = tool("broken", [](Acting& self, uint64_t token) {
        self.say(token, "no event");
        EXPECT_EQ(self.set(token, "k", "1"), NAR_STALE);
        EXPECT_EQ(self.cancels, 0);
    });
    const Json result = run(plan_of({entry("t", "broken")}));
    EXPECT_EQ(result["toolResults"][0]["errorCode"].string(), "PROTOCOL_ERROR");
    EXPECT_EQ(broken.cancels, 1);
    EXPECT_EQ(state(), "{}");
}

// The start of the attempt cannot be undone after a write, so the attempt fails.
TEST_F(ContextTest, FailedHandOverAfterAWriteFailsTheAttempt) {
    tool("launcher", [](Acting& self, uint64_t token) {
        EXPECT_EQ(self.set(token, "k", "1"), NAR_OK) << self.reason;
        const nar_str arguments[] = {NAR_STR("no-such-program-anywhere")};
        const nar_command command{sizeof command, 0, arguments, 1};
        EXPECT_EQ(self.invocation().run(self.host, token, &command), NAR_IO);
    });
    const Json result = run(plan_of({entry("t", "launcher")}));
    EXPECT_EQ(result["toolResults"][0]["errorCode"].string(), "SPAWN_FAILED");
    EXPECT_EQ(state(), R"({"k":1})");
    EXPECT_THAT(told("t"), ElementsAre("tool_pending", "tool_started", "attempt_started",
                                       R"({"k":1})", "attempt_ended", "tool_ended"));
}

TEST_F(ContextTest, OverwritingAConcurrentToolIsAConflict) {
    uint64_t first = 0;
    Acting& one = tool("one", [&](Acting&, uint64_t token) { first = token; });
    tool("two", [&](Acting& self, uint64_t token) {
        EXPECT_EQ(self.set(token, "k", "2"), NAR_OK) << self.reason;
        self.finish(token);
        self.post([&] {
            EXPECT_EQ(one.set(first, "k", "1"), NAR_OK) << one.reason;
            one.finish(first);
        });
    });
    const Json result =
        run(plan_of({entry("a", "one", R"("async":true)"), entry("b", "two", R"("async":true)")},
                    R"("parallel":true)"));
    EXPECT_TRUE(result["success"].boolean()) << result.text();
    EXPECT_EQ(state(), R"({"k":1})");
    ASSERT_EQ(recorder.of(Kind::StateConflict).size(), 1u);
    EXPECT_EQ(recorder.of(Kind::StateConflict)[0].body["path"].string(), "/k");
}

TEST_F(ContextTest, RefusedWriteChangesNothingAndSaysWhy) {
    Limits limits;
    limits.state_bytes = 100;
    open(R"({"a":1})", limits);
    tool("refused", [](Acting& self, uint64_t token) {
        EXPECT_EQ(self.set(token, "k", "{"), NAR_INVALID_DOCUMENT);
        EXPECT_THAT(self.reason, HasSubstr("not valid JSON"));
        EXPECT_EQ(self.set(token, "k", ""), NAR_INVALID_DOCUMENT);
        EXPECT_EQ(self.set(token, "\xFF", "1"), NAR_INVALID_ARGUMENT);
        EXPECT_THAT(self.reason, HasSubstr("UTF-8"));
        EXPECT_EQ(self.set(token, "k", "\"" + std::string(100, 'x') + "\""), NAR_INVALID_ARGUMENT);
        EXPECT_THAT(self.reason, HasSubstr("state_bytes"));
        EXPECT_EQ(self.set(token + 1'000'000, "k", "1"), NAR_GONE);
        EXPECT_EQ(self.set(token, "k", std::string(600, '[') + std::string(600, ']')),
                  NAR_INVALID_DOCUMENT);
        auto metadata = sized<nar_state_metadata>();
        const std::string text(5000, 'x');
        metadata.description = detail::to_c(text);
        EXPECT_EQ(self.set(token, "k", "1", &metadata), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(self.set(token, "k", R"({"value":1,"metadata":{"description":7}})"),
                  NAR_INVALID_DOCUMENT);
        metadata.size = 0;
        EXPECT_EQ(self.set(token, "k", "1", &metadata), NAR_INVALID_ARGUMENT);
        self.finish(token);
    });
    EXPECT_TRUE(run(plan_of({entry("t", "refused")}))["success"].boolean());
    EXPECT_EQ(state(), R"({"a":1})");
    EXPECT_EQ(session->get_all_state_metadata().view(), "{}");
    // The depth limit of a patch accepts the deepest value that an event can have.
    open("{}", {});
    std::string deepest = std::string(509, '[') + std::string(509, ']');
    tool("deep", [&](Acting& self, uint64_t token) {
        EXPECT_EQ(self.set(token, "k", deepest), NAR_OK) << self.reason;
        self.finish(token);
    });
    EXPECT_TRUE(run(plan_of({entry("t", "deep")}))["success"].boolean());
    EXPECT_EQ(session->state("/k").view(), deepest);
}

// All sinks get the current record before a write of the tool.
TEST_F(ContextTest, ToolCannotWriteWithinASink) {
    struct Sink {
        Acting* tool = nullptr;
        uint64_t token = 0;
        std::vector<nar_status> statuses;
    } sink;
    auto functions = sized<nar_event_sink_extension>();
    functions.kinds = kinds(Kind::ToolEvent);
    functions.event = [](void* instance, const nar_event*) {
        auto& self = *static_cast<Sink*>(instance);
        self.statuses.push_back(self.tool->set(self.token, "k", "1"));
        self.statuses.push_back(self.tool->set(0, "own", "1"));
    };
    sink.tool = &tool("tool", [&](Acting& self, uint64_t token) {
        sink.token = token;
        EXPECT_EQ(self.set(token, "x", "1"), NAR_OK) << self.reason;
        self.finish(token);
    });
    session->extend("sink", NAR_EXTENSION_EVENT_SINK, &functions, &sink);
    run(plan_of({entry("t", "tool")}));
    // The plugin's own write is queued after the record; at the second event the tool has ended.
    EXPECT_THAT(sink.statuses, ElementsAre(NAR_REENTRANT, NAR_OK, NAR_STALE, NAR_OK));
    EXPECT_EQ(state(), R"({"x":1,"own":1})");
}

TEST_F(ContextTest, WriteWithoutAnInvocationIsThePlugins) {
    Acting& its = tool("idle", [](Acting&, uint64_t) {});
    EXPECT_EQ(its.set(0, "k", "1"), NAR_OK) << its.reason;
    EXPECT_EQ(state(), R"({"k":1})");
    const auto patched = recorder.of(Kind::StatePatched);
    ASSERT_EQ(patched.size(), 1u);
    EXPECT_EQ(patched[0].body["by"].string(), "idle");
}

// covers: 002-context-get-state-value, 002-context-has-state, 002-context-get-all-state
TEST_F(ContextTest, ReadsTheStateByKey) {
    open(R"({"a/b":{"c":1},"n":null})", {});
    Acting& its = tool("idle", [](Acting&, uint64_t) {});
    EXPECT_EQ(its.get("a/b"), R"({"c":1})");
    EXPECT_EQ(its.get("a"), "nothing");
    EXPECT_EQ(its.get("n"), "null");
    EXPECT_EQ(its.context().has_state(its.host, NAR_STR("a/b")), NAR_OK);
    EXPECT_EQ(its.context().has_state(its.host, NAR_STR("b")), NAR_NOT_FOUND);
    std::string all;
    EXPECT_EQ(its.context().get_all_state(its.host, append, &all), NAR_OK);
    EXPECT_EQ(all, R"({"a/b":{"c":1},"n":null})");
    EXPECT_EQ(its.context().get_all_state(its.host, nullptr, nullptr), NAR_INVALID_ARGUMENT);
}

// covers: 002-context-clear-state
TEST_F(ContextTest, ClearsStateAndMetadata) {
    open(R"({"a":{"b":1},"c":2})", {});
    session->register_state_metadata("a", {"the first"});
    tool("clearer", [](Acting& self, uint64_t token) {
        EXPECT_EQ(self.context().clear_state(self.host, token, nullptr), NAR_OK);
        EXPECT_EQ(self.get("a"), "nothing");
        // Nothing is left to clear.
        EXPECT_EQ(self.context().clear_state(self.host, token, nullptr), NAR_OK);
        self.finish(token);
    });
    run(plan_of({entry("t", "clearer")}));
    EXPECT_EQ(state(), "{}");
    EXPECT_EQ(session->get_all_state_metadata().view(), "{}");
    EXPECT_EQ(recorder.of(Kind::ToolEvent)[0].body["patch"].text(), R"({"a":null,"c":null})");
    EXPECT_EQ(recorder.of(Kind::ToolEvent).size(), 2u);
    session->set_state("again", "1");
    session->clear_state();
    EXPECT_EQ(state(), "{}");
}

// covers: 002-context-register-metadata, 002-context-get-metadata, 002-context-get-all-metadata
TEST_F(ContextTest, MetadataIsSharedByAll) {
    Acting& its = tool("idle", [](Acting&, uint64_t) {});
    auto metadata = sized<nar_state_metadata>();
    metadata.description = NAR_STR("coins of the player");
    EXPECT_EQ(its.context().register_state_metadata(its.host, NAR_STR("gold"), &metadata, nullptr),
              NAR_OK);
    EXPECT_FALSE(session->has_state("/gold")) << "a description is not a value";
    EXPECT_EQ(session->get_state_metadata("gold")->view(),
              R"({"description":"coins of the player","formatter":false})");
    session->set_state("gold", "5");
    EXPECT_EQ(prompt(), "gold: 5 (coins of the player)");
    std::string one, all, text;
    EXPECT_EQ(its.context().get_state_metadata(its.host, NAR_STR("gold"), append, &one), NAR_OK);
    EXPECT_EQ(one, R"({"description":"coins of the player","formatter":false})");
    EXPECT_EQ(its.context().get_state_metadata(its.host, NAR_STR("hp"), append, &one),
              NAR_NOT_FOUND);
    EXPECT_EQ(its.context().get_all_state_metadata(its.host, append, &all), NAR_OK);
    EXPECT_EQ(all, R"({"gold":{"description":"coins of the player","formatter":false}})");
    EXPECT_EQ(its.context().format_state_for_prompt(its.host, append, &text), NAR_OK);
    EXPECT_EQ(text, "gold: 5 (coins of the player)");
    EXPECT_EQ(its.context().register_state_metadata(its.host, NAR_STR("gold"), nullptr, nullptr),
              NAR_OK);
    EXPECT_FALSE(session->get_state_metadata("gold").has_value());
}

TEST_F(ContextTest, NestedFormatterGetsTheDefaultForm) {
    open(R"({"a":1,"b":2})", {});
    session->register_state_metadata(
        "a", {"first", [this](std::string_view) { return "[" + prompt() + "]"; }});
    EXPECT_EQ(prompt(), "a: [a: 1 (first)\nb: 2] (first)\nb: 2");
    EXPECT_EQ(prompt(), "a: [a: 1 (first)\nb: 2] (first)\nb: 2")
        << "the second call runs the formatter again";
}

// covers: 002-language-state-unpacked
TEST_F(ContextTest, ValueWithMetadataIsUnpacked) {
    session->set_state("gold", R"({"value":5,"metadata":{"description":"coins"}})");
    EXPECT_EQ(prompt(), "gold: 5 (coins)");
    session->set_state("gold", "6");
    EXPECT_EQ(prompt(), "gold: 6 (coins)") << "a plain value keeps its metadata";
    session->patch_state(R"({"gold":7})");
    EXPECT_EQ(prompt(), "gold: 7 (coins)");
    session->set_state("gold", R"({"value":8,"metadata":null})");
    EXPECT_EQ(prompt(), "gold: 8");
    session->set_state("gold", R"({"value":9,"metadata":7})");
    EXPECT_EQ(state(), R"({"gold":{"value":9,"metadata":7}})");
    session->set_state("gold", R"({"value":9})");
    EXPECT_EQ(state(), R"({"gold":{"value":9}})");
    session->set_state("gold", R"({"value":3,"unit":"oz","metadata":{"source":"mine"}})");
    EXPECT_EQ(state(), R"({"gold":3})") << "other members are ignored";
}

// covers: 002-context-set-state
TEST_F(ContextTest, NullIsAValue) {
    session->set_state("gold", "null");
    EXPECT_EQ(prompt(), "gold: null");
    EXPECT_EQ(recorder.of(Kind::StatePatched)[0].body.text(),
              R"({"patch":{"gold":null},"nulls":{"gold":null},"by":""})");
    session->patch_state(R"({"gold":null})");
    EXPECT_EQ(prompt(), "No state information available.") << "a null in a patch removes the key";
}

// covers: 002-metadata-formatter
TEST_F(ContextTest, FormattersAreCalledAndReleased) {
    struct Formatter {
        int calls = 0, released = 0;
        nar_status answer = NAR_OK;
        bool throws = false;
        int more = 0;
        nar_status written = NAR_OK;
    } first, second;
    auto metadata_of = [](Formatter& formatter) {
        auto metadata = sized<nar_state_metadata>();
        metadata.user = &formatter;
        metadata.format = [](void* user, nar_str value, nar_write_fn write, void* to) {
            auto& self = *static_cast<Formatter*>(user);
            ++self.calls;
            if (self.throws) throw std::runtime_error("it broke");
            const std::string text = "<" + std::string(detail::to_view(value)) + ">";
            write(to, detail::to_c(text));
            for (int i = 0; i < self.more; ++i)
                self.written = write(to, detail::to_c("0123456789"));
            return self.answer;
        };
        metadata.released = [](void* user) { ++static_cast<Formatter*>(user)->released; };
        return metadata;
    };
    Acting& its = tool("idle", [](Acting&, uint64_t) {});
    auto registered = sized<nar_tool>();
    registered.name = detail::to_c("registered");
    auto given = sized<nar_tool_registration>();
    given.tool = &registered;
    given.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {};
    ASSERT_EQ(nar_session_tools_add(session->raw(), &given, &its.host, nullptr), NAR_OK);
    nar_state_metadata metadata = metadata_of(first);
    EXPECT_EQ(its.set(0, "a", "1", &metadata), NAR_OK);
    EXPECT_EQ(prompt(), "a: <1>");
    first.answer = NAR_FAILED;
    EXPECT_EQ(prompt(), "a: 1");
    EXPECT_EQ(first.calls, 2);
    EXPECT_EQ(first.released, 0);
    metadata = metadata_of(second);
    EXPECT_EQ(its.set(0, "a", "{", &metadata), NAR_INVALID_DOCUMENT);
    EXPECT_EQ(second.released, 0) << "a failed call keeps nothing";
    EXPECT_EQ(its.set(0, "a", "2", &metadata), NAR_OK);
    EXPECT_EQ(first.released, 1);
    EXPECT_EQ(prompt(), "a: <2>");
    second.more = 7000;
    EXPECT_EQ(prompt(), "a: 2") << "too long a text selects the default form";
    EXPECT_EQ(second.written, NAR_INVALID_ARGUMENT);
    second.more = 0;
    // An exception selects the default form. Unlike for an extension, it does not disable the
    // host's registered tools.
    second.throws = true;
    EXPECT_EQ(prompt(), "a: 2");
    EXPECT_EQ(second.calls, 3);
    EXPECT_THAT(log, HasSubstr("a formatter of the state threw an exception: it broke"));
    EXPECT_EQ(its.set(0, "a", "3"), NAR_OK);
    session.reset();
    EXPECT_EQ(second.released, 1);
}

TEST_F(ContextTest, HostFormatterMayClearTheState) {
    session->set_state("a", "1");
    session->set_state("b", "2");
    int calls = 0;
    session->register_state_metadata("a", {"", [&](std::string_view value) {
                                               ++calls;
                                               session->clear_state();
                                               return "was " + std::string(value);
                                           }});
    EXPECT_EQ(prompt(), "a: was 1\nb: 2");
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(prompt(), "No state information available.");
    // An exception selects the default form and is rethrown by the driving call.
    session->set_state("c", "3", {"third", [](std::string_view) -> std::string {
                                      throw std::runtime_error("no words");
                                  }});
    EXPECT_EQ(prompt(), "c: 3 (third)");
    EXPECT_THROW(engine->run_until_idle(), std::runtime_error);
}

TEST_F(ContextTest, KeysSetByTheHostAreItsPatches) {
    session->set_state("a", R"({"b":1})");
    session->set_state("a", R"({"c":2})");
    EXPECT_EQ(state(), R"({"a":{"c":2}})");
    EXPECT_EQ(recorder.of(Kind::StatePatched).size(), 2u);
    const Json history(session->history().view());
    EXPECT_EQ(history["patches"][1]["patch"].text(), R"({"a":{"c":2,"b":null}})");
    EXPECT_EQ(history["patches"][1]["toolId"].string(), "");
    EXPECT_THROW(session->set_state("a", "{"), Error);
    EXPECT_THROW(session->register_state_metadata(std::string(5000, 'x'), {}), Error);
    session->register_state_metadata("a", {"first"});
    session->remove_state_metadata("a");
    EXPECT_EQ(session->get_all_state_metadata().view(), "{}");
}

// covers: 002-function-example
TEST_F(ContextTest, SpecificationExampleWorks) {
    const std::string path = test::in_build("tests/plugins/get_user_profile.so");
    const std::string_view plugins[] = {path};
    SessionOptions options;
    options.plugins = plugins;
    session.emplace(*engine, options);
    session->attach(std::ref(recorder));
    session->register_state_metadata("last_fetched_user_id", {"whose profile was read last"});
    const Json result =
        run(plan_of({entry("t", "get_user_profile", R"("input":{"user_id":"123"})")}));
    EXPECT_EQ(result["toolResults"][0]["result"].text(),
              R"({"id":"123","name":"Alice","email":"alice@example.com"})")
        << log;
    EXPECT_EQ(prompt(), "last_fetched_user_id: \"123\" (whose profile was read last)");
    EXPECT_EQ(recorder.of(Kind::ToolEvent)[0].body["message"].string(),
              "Fetching profile for user: 123");
    EXPECT_THAT(told("t"), ElementsAre("tool_pending", "tool_started", "attempt_started", "log",
                                       R"({"last_fetched_user_id":"123"})", "done", "attempt_ended",
                                       "tool_ended"));
}

// plugin::Context, the C++ wrapper for plugins.
TEST_F(ContextTest, PluginWrapperBehavesTheSame) {
    tool("wrapped", [](Acting& self, uint64_t token) {
        const auto core = std::make_shared<plugin::detail::Core>(self.host);
        core->activate();
        const plugin::Context context(core, token);
        EXPECT_TRUE(context.set_state("a", "1"));
        EXPECT_TRUE(context.set_state("b", "[2]", {"second", [](std::string_view value) {
                                                       return "<" + std::string(value) + ">";
                                                   }}));
        EXPECT_EQ(context.get_state_value("a"), "1");
        EXPECT_EQ(context.get_state_value("c"), std::nullopt);
        EXPECT_TRUE(context.has_state("b"));
        EXPECT_FALSE(context.has_state("c"));
        EXPECT_EQ(context.get_all_state(), R"({"a":1,"b":[2]})");
        context.register_state_metadata("a", {"first"});
        EXPECT_EQ(context.get_state_metadata("a"), R"({"description":"first","formatter":false})");
        EXPECT_EQ(context.get_all_state_metadata(),
                  R"({"a":{"description":"first","formatter":false},)"
                  R"("b":{"description":"second","formatter":true}})");
        EXPECT_EQ(context.format_state_for_prompt(), "a: 1 (first)\nb: <[2]> (second)");
        context.remove_state_metadata("a");
        EXPECT_EQ(context.get_state_metadata("a"), std::nullopt);
        EXPECT_THROW(context.set_state("a", "{"), Error);
        EXPECT_THROW(context.register_state_metadata("a", {std::string(5000, 'x')}), Error);
        EXPECT_TRUE(context.clear_state());
        EXPECT_EQ(context.format_state_for_prompt(), "No state information available.");
        self.finish(token);
        EXPECT_FALSE(context.set_state("a", "1"));
        EXPECT_FALSE(context.clear_state());
    });
    EXPECT_TRUE(run(plan_of({entry("t", "wrapped")}))["success"].boolean());
    EXPECT_EQ(state(), "{}");
}

// A function registered by the host (tools.h).
TEST_F(ContextTest, HostFunctionHasAContext) {
    session->tools().add(
        {.name = "pay"}, [](const plugin::InvocationRequest&, plugin::Invocation invocation) {
            EXPECT_TRUE(invocation.context().set_state("gold", "7", {"coins"}));
            EXPECT_EQ(invocation.context().format_state_for_prompt(), "gold: 7 (coins)");
            invocation.done(true);
        });
    EXPECT_TRUE(run(plan_of({entry("t", "pay")}))["success"].boolean());
    EXPECT_EQ(state(), R"({"gold":7})");
}

// ---------------------------------------------------------------- functions as tools

// covers: 002-function-promise
TEST_F(ContextTest, FunctionIsReportedLikeAProcess) {
    const std::vector<std::string> lines = {test::log("one"), patch(R"({"a":1})"), kDone};
    const auto say_all = [lines](Acting& self, uint64_t token) {
        for (const std::string& line : lines) self.say(token, line);
        self.end(token);
    };
    tool("at_once", say_all);
    tool("posted", [say_all](Acting& self, uint64_t token) {
        self.post([&self, token, say_all] { say_all(self, token); });
    });
    std::vector<std::thread> threads;
    tool("threaded", [&](Acting& self, uint64_t token) {
        threads.emplace_back([&self, token, say_all] { say_all(self, token); });
    });
    folder.says("process", {lines[0], lines[1], lines[2]});
    run(plan_of({entry("p", folder / "process"), entry("a", "at_once"), entry("b", "posted"),
                 entry("c", "threaded")}));
    for (std::thread& thread : threads) thread.join();
    const std::vector<std::string> as_a_process = told("p");
    EXPECT_EQ(as_a_process.size(), 8u);
    EXPECT_EQ(told("a"), as_a_process);
    EXPECT_EQ(told("b"), as_a_process);
    EXPECT_EQ(told("c"), as_a_process);
}

TEST_F(ContextTest, TimedOutFunctionIsCancelledAndCannotWrite) {
    uint64_t last = 0;
    Acting& its = tool("silent", [&](Acting& self, uint64_t token) {
        last = token;
        EXPECT_EQ(self.set(token, "began", "true"), NAR_OK) << self.reason;
    });
    const Json result = run(plan_of(
        {entry("t", "silent", R"("timeoutMs":50,"retryPolicy":{"maxRetries":1,"backoffMs":1})")}));
    EXPECT_EQ(result["toolResults"][0]["state"].string(), "timeout");
    EXPECT_EQ(result["toolResults"][0]["attempts"].size(), 2u);
    EXPECT_EQ(its.cancels, 2);
    EXPECT_EQ(its.set(last, "k", "1"), NAR_GONE);
    EXPECT_EQ(state(), R"({"began":true})");
}

TEST_F(ContextTest, FunctionIsCancelledWithItsPlan) {
    Acting& its = tool("silent", [&](Acting& self, uint64_t token) {
        EXPECT_EQ(self.set(token, "began", "true"), NAR_OK) << self.reason;
        session->cancel();
    });
    const Json result = run(plan_of({entry("t", "silent")}));
    EXPECT_EQ(result["toolResults"][0]["errorCode"].string(), "CANCELLED");
    EXPECT_EQ(its.cancels, 1);
}

}  // namespace
}  // namespace narratoria::test
