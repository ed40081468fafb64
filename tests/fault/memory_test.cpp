// SPDX-License-Identifier: Apache-2.0
// Memory runs out inside a call: the call fails, and everything is as it was before.

#include <cstdlib>
#include <new>

#include "narratoria/tools.h"
#include "support/host.hpp"

namespace {

// Allocations of this thread that still succeed; negative: all.
thread_local int64_t allocations_left = -1;

}  // namespace

// Of the whole program, also of the library.
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

// A function of the host that is a tool.
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
    return Json(Text(text).view())["/description"].text();
}

// At each allocation of the call, with a registry that has to grow at some of them.
TEST_F(MemoryShortage, InARegistrationReleasesOnlyWhatWasAcceptedAndKeepsTheFormerTool) {
    int refused = 0;
    for (int others = 0; others < 9; ++others) {
        // The session goes first: it releases them.
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
        second.given.flags = NAR_TOOL_REPLACES;
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
    EXPECT_GT(refused, 100) << "the library allocates elsewhere";
}

}  // namespace
}  // namespace narratoria::hostile
