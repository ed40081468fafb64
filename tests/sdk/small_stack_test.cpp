// SPDX-License-Identifier: Apache-2.0
// The stack that a thread of a host needs. Only in optimized builds: frames are larger in others.
#if defined(NDEBUG) && !defined(NARRATORIA_SANITIZED)

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <string>

#include "narratoria/engine.hpp"
#include "support/folders.hpp"

namespace {

constexpr size_t kStack = size_t{64} * 1024;
// Larger than any frame, so that no write beyond the stack misses it.
constexpr size_t kGuard = size_t{1} << 20;

void* play(void* narrative) {
    try {
        narratoria::Engine engine;
        narratoria::Session session(
            engine, {.story = narratoria::test::in_source("examples/stories/torch")});
        session.prompt("I light the torch and examine the door", [&](narratoria::Turn turn) {
            *static_cast<std::string*>(narrative) = turn.narrative();
        });
        engine.run_until_idle();
    } catch (const narratoria::Error& error) {
        *static_cast<std::string*>(narrative) = error.what();
    }
    return nullptr;
}

TEST(SmallStack, TurnOfAStoryFitsIn64KiB) {
    void* const memory = ::mmap(nullptr, kGuard + kStack, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    void* const stack = static_cast<std::byte*>(memory) + kGuard;
    ASSERT_EQ(::mprotect(stack, kStack, PROT_READ | PROT_WRITE), 0);
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    ASSERT_EQ(::pthread_attr_setstack(&attributes, stack, kStack), 0);
    std::string narrative;
    pthread_t thread;
    ASSERT_EQ(::pthread_create(&thread, &attributes, &play, &narrative), 0);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&attributes);
    ::munmap(memory, kGuard + kStack);
    EXPECT_NE(narrative.find("torch"), std::string::npos) << narrative;
}

}  // namespace

#endif
