// SPDX-License-Identifier: Apache-2.0
// If memory runs out within a call, the call fails and leaves everything unchanged.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

#include "conformance/folder.hpp"
#include "narratoria/event_sink.h"
#include "narratoria/host_session.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/tools.h"
#include "narratoria/ui_handler.h"
#include "support/forked.hpp"
#include "support/host.hpp"
#include "support/sized.hpp"

namespace {

// The number of allocations in this thread that still succeed; a negative number means unlimited.
thread_local int64_t allocations_left = -1;

}  // namespace

// Replaces the operator in the whole program, including the library.
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (allocations_left == 0) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    if (allocations_left == 0) return nullptr;
    if (allocations_left > 0) --allocations_left;
    return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace narratoria::hostile {
namespace {

class MemoryShortage : public HostileTest {};

// A tool implemented by a function of the host.
struct Registration {
    explicit Registration(const std::string& its_name, std::string its_description = "")
        : name(its_name), description(std::move(its_description)) {
        tool.size = sizeof tool;
        tool.name = detail::to_c(name);
        tool.description = detail::to_c(description);
        tool.input_schema = detail::to_c(R"({"type":"object","required":["sides"]})");
        given.size = sizeof given;
        given.tool = &tool;
        given.user = this;
        given.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {};
        given.released = [](void* user) { ++static_cast<Registration*>(user)->released; };
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    nar_status add(Session& session, int64_t allocations) {
        allocations_left = allocations;
        const nar_status status = nar_session_tools_add(session.raw(), &given, nullptr, nullptr);
        allocations_left = -1;
        return status;
    }

    const std::string name;
    const std::string description;
    nar_tool tool{};
    nar_tool_registration given{};
    int released = 0;
};

std::string described(Session& session, const std::string& name) {
    nar_text* text = nullptr;
    if (nar_session_tools_find(session.raw(), detail::to_c(name), &text, nullptr) != NAR_OK) {
        return "no tool";
    }
    return Json(Text(text).view())["/description"].string();
}

// Fails at each allocation of the call in turn; at some of them the registry has to grow.
TEST_F(MemoryShortage, InARegistrationKeepsThePreviousTool) {
    int refused = 0;
    for (int others = 0; others < 9; ++others) {
        // Declared before the session, so destroyed after it: the session releases the
        // registrations.
        std::vector<std::unique_ptr<Registration>> kept;
        Registration first("dice", "first"), second("dice", "second");
        Host its_host;
        Session& session = its_host.session;
        for (int i = 0; i < others; ++i) {
            kept.push_back(std::make_unique<Registration>("other" + std::to_string(i)));
            ASSERT_EQ(kept.back()->add(session, -1), NAR_OK);
        }
        int64_t allocations = 0;
        while (first.add(session, allocations) != NAR_OK) {
            ++refused;
            ASSERT_EQ(first.released, 0) << others << " tools, allocation " << allocations;
            ASSERT_EQ(described(session, "dice"), "no tool") << "allocation " << allocations;
            ASSERT_LT(++allocations, 10'000);
        }
        second.given.flags = NAR_TOOL_REGISTRATION_REPLACES;
        allocations = 0;
        while (second.add(session, allocations) != NAR_OK) {
            ++refused;
            ASSERT_EQ(first.released + second.released, 0) << "allocation " << allocations;
            ASSERT_EQ(described(session, "dice"), "first") << "allocation " << allocations;
            ASSERT_LT(++allocations, 10'000);
        }
        EXPECT_EQ(described(session, "dice"), "second");
        EXPECT_EQ(first.released, 1);
        for (int i = 0; i < others; ++i) {
            EXPECT_NE(described(session, "other" + std::to_string(i)), "no tool");
        }
        nar_session_tools_remove(session.raw(), detail::to_c("dice"), nullptr);
        EXPECT_EQ(second.released, 1);
    }
    EXPECT_GT(refused, 100) << "operator new of this test was not called";
}

// Fails at each allocation of a plugin's move in turn.
TEST_F(MemoryShortage, InAMoveDoesNotKeepTheSessionBusy) {
    const test::Folder saves;
    const std::string store = saves / "saves.db";
    Engine engine;
    Session session(engine, {.store = store});
    auto sink = test::sized<nar_event_sink_extension>();
    sink.event = [](void*, const nar_event*) {};
    const nar_host* const its = session.extend("mover", NAR_EXTENSION_EVENT_SINK, &sink, nullptr);
    const auto* const turns =
        static_cast<const nar_host_turns*>(its->get_extension(its, detail::to_c(NAR_HOST_TURNS)));
    session.patch_state(R"({"n":1})");
    engine.run_until_idle();
    int refused = 0;
    for (int64_t allocations = 0;; ++allocations) {
        ASSERT_LT(allocations, 10'000);
        ASSERT_EQ(turns->go_to(its, 1, nullptr), NAR_OK) << "allocation " << allocations;
        allocations_left = allocations;
        const nar_status status = nar_engine_run_for(engine.raw(), 0, nullptr);
        const bool is_used_up = allocations_left == 0;
        allocations_left = -1;
        // Not until idle, which a busy session never is.
        for (int round = 0; round < 1000; ++round) engine.run_for(std::chrono::microseconds(0));
        if (status == NAR_OK && !is_used_up) break;
        ++refused;
    }
    EXPECT_GT(refused, 10);
    EXPECT_EQ(session.state().view(), R"({"n":1})");
}

// A host's extension of one kind.
struct Extension {
    explicit Extension(const char* kind, const void* functions) {
        given.size = sizeof given;
        given.id = detail::to_c("my-game");
        given.extension = detail::to_c(kind);
        given.functions = functions;
        given.instance = this;
        given.released = [](void* self) { ++static_cast<Extension*>(self)->released; };
    }
    Extension(const Extension&) = delete;
    Extension& operator=(const Extension&) = delete;

    nar_status add(Session& session, int64_t allocations) {
        allocations_left = allocations;
        const nar_status status = nar_session_extend(session.raw(), &given, nullptr, nullptr);
        allocations_left = -1;
        return status;
    }
    // Allows one more allocation in each round until the call succeeds. Returns the number of
    // failures.
    int add_in_the_end(Session& session, const std::function<void()>& unchanged) {
        int refused = 0;
        while (add(session, refused) != NAR_OK) {
            unchanged();
            EXPECT_EQ(released, 0) << "allocation " << refused;
            if (testing::Test::HasFailure() || ++refused == 10'000) break;
        }
        return refused;
    }

    nar_session_extension given{};
    int released = 0;
    int calls = 0;
};

TEST_F(MemoryShortage, InAnExtensionWithToolsReplacesNone) {
    const std::string names[] = {"dice", "coin", "card"};
    nar_tool tools[3]{};
    const nar_tool* list[3];
    for (size_t i = 0; i < 3; ++i) {
        tools[i].size = sizeof tools[i];
        tools[i].name = detail::to_c(names[i]);
        tools[i].description = detail::to_c("second");
        list[i] = &tools[i];
    }
    nar_tool_extension functions{};
    functions.size = sizeof functions;
    functions.tools = list;
    functions.tool_count = 3;
    functions.invoke = [](void*, uint64_t, const nar_tool*, const nar_invocation*) {};
    for (int others = 0; others < 9; ++others) {
        std::vector<std::unique_ptr<Registration>> kept;
        Registration first("dice", "first");
        Extension extension(NAR_EXTENSION_TOOL, &functions);
        Host its_host;
        Session& session = its_host.session;
        ASSERT_EQ(first.add(session, -1), NAR_OK);
        for (int i = 0; i < others; ++i) {
            kept.push_back(std::make_unique<Registration>("other" + std::to_string(i)));
            ASSERT_EQ(kept.back()->add(session, -1), NAR_OK);
        }
        const int refused = extension.add_in_the_end(session, [&] {
            ASSERT_EQ(described(session, "dice"), "first");
            ASSERT_EQ(described(session, "coin"), "no tool");
            ASSERT_EQ(described(session, "card"), "no tool");
            ASSERT_EQ(first.released, 0);
        });
        EXPECT_GT(refused, 10) << "operator new of this test was not called";
        for (const std::string& name : names) EXPECT_EQ(described(session, name), "second");
        EXPECT_EQ(first.released, 1);
        ASSERT_FALSE(HasFailure()) << others << " tools";
    }
}

TEST_F(MemoryShortage, InAnExtensionLeavesNothingBehind) {
    nar_event_sink_extension sink{};
    sink.size = sizeof sink;
    sink.event = [](void* self, const nar_event*) { ++static_cast<Extension*>(self)->calls; };
    nar_ui_handler_extension handler{};
    handler.size = sizeof handler;
    const nar_str event = detail::to_c("a_name_that_is_longer_than_a_short_text");
    handler.events = &event;
    handler.event_count = 1;
    handler.handle = [](void* self, const nar_ui_event*) -> nar_status {
        ++static_cast<Extension*>(self)->calls;
        return NAR_DECLINED;
    };
    nar_tool_runner_extension runner{};
    runner.size = sizeof runner;
    const nar_str schemes[] = {detail::to_c("one"), detail::to_c("two")};
    runner.schemes = schemes;
    runner.scheme_count = 2;
    runner.start = [](void* self, uint64_t, const nar_invocation*, nar_failure*) -> nar_status {
        ++static_cast<Extension*>(self)->calls;
        return NAR_NOT_FOUND;
    };
    runner.cancel = [](void*, uint64_t) {};
    const std::string script = folder.path() + "/tool";
    std::ofstream(script)
        << "#!/bin/sh\necho '{\"version\":\"0\",\"type\":\"ui_event\",\"event\":\""
        << std::string(event.data, event.size) << "\"}'\n"
        << "echo '{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    for (int others = 0; others < 6; ++others) {
        std::vector<std::unique_ptr<Extension>> kept;
        Extension sinks(NAR_EXTENSION_EVENT_SINK, &sink);
        Extension handlers(NAR_EXTENSION_UI_HANDLER, &handler);
        Extension runners(NAR_EXTENSION_TOOL_RUNNER, &runner);
        Host its_host;
        Session& session = its_host.session;
        for (int i = 0; i < others; ++i) {
            kept.push_back(std::make_unique<Extension>(NAR_EXTENSION_UI_HANDLER, &handler));
            ASSERT_EQ(kept.back()->add(session, -1), NAR_OK);
        }
        int refused = 0;
        for (Extension* each : {&sinks, &handlers, &runners}) {
            refused += each->add_in_the_end(session, [] {});
        }
        EXPECT_GT(refused, 10) << "operator new of this test was not called";
        // Remains of a refused extension would be called as well, or would keep the scheme.
        its_host.run(plan_json({tool_json("a", script), tool_json("b", "two:x")}));
        EXPECT_EQ(handlers.calls, 1);
        EXPECT_EQ(runners.calls, 1);
        EXPECT_GT(sinks.calls, 0);
        ASSERT_FALSE(HasFailure()) << others << " extensions";
    }
    std::filesystem::remove(script);
}

// From the N-th allocation of a turn on, all fail. The process survives, and the engine can end.
TEST_F(MemoryShortage, InATurnFailsCallsButNotTheProcess) {
    const std::string plan = plan_json({tool_json("tool", tool_path("patcher"))});
    int refused = 0;
    for (int64_t allocations = 0;; ++allocations) {
        ASSERT_LT(allocations, 100'000);
        Forked turn([&] {
            auto own = std::make_unique<Host>();
            allocations_left = allocations;
            try {
                own->begin(plan);
                while (own->engine.is_busy()) own->engine.run_once();
            } catch (const std::exception&) {
                // Thrown by the library or by the test's own callbacks.
            }
            const bool was_enough = allocations_left > 0;
            own.reset();
            allocations_left = -1;
            return std::string(was_enough ? "enough" : "refused");
        });
        const std::string said = turn.report();
        ASSERT_FALSE(HasFailure()) << "allocation " << allocations;
        if (said == "enough") break;
        ASSERT_EQ(said, "refused") << "allocation " << allocations;
        ++refused;
    }
    EXPECT_GT(refused, 100) << "operator new of this test was not called";
    EXPECT_TRUE(reap_all()) << describe(descendants());
    expect_the_next_host_removes_the_folder();
}

}  // namespace
}  // namespace narratoria::hostile
