// SPDX-License-Identifier: Apache-2.0
#include "base/lifetime.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace narratoria {
namespace {

TEST(Lifetime, EveryWatchOutlivesTheObject) {
    std::optional<Lifetime> lifetime(std::in_place);
    const Lifetime::Watch outer = lifetime->watch();
    {
        // A watch that ends earlier does not concern the others.
        const Lifetime::Watch inner = lifetime->watch();
        EXPECT_FALSE(inner.ended());
    }
    EXPECT_FALSE(outer.ended());
    lifetime.reset();
    EXPECT_TRUE(outer.ended());
}

TEST(Lifetime, CanEndBeforeItsObject) {
    Lifetime lifetime;
    const Lifetime::Watch watch = lifetime.watch();
    lifetime.end();
    EXPECT_TRUE(watch.ended());
    EXPECT_TRUE(lifetime.watch().ended());
}

}  // namespace
}  // namespace narratoria
