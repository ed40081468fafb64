// SPDX-License-Identifier: Apache-2.0
#include "tool/runners.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace narratoria::tool {
namespace {

// Returns a runner that is only compared by address.
std::shared_ptr<Runner> some_runner(int& place) {
    return {std::shared_ptr<void>(), reinterpret_cast<Runner*>(&place)};
}

TEST(Runners, AreFoundByName) {
    int one = 0, two = 0;
    Runners runners;
    EXPECT_EQ(runners.find("process"), nullptr);
    runners.add("process", some_runner(one));
    runners.add("process", some_runner(two));
    EXPECT_EQ(runners.find("process"), some_runner(two).get()) << "the last one wins";
    EXPECT_EQ(runners.find("proc"), nullptr);
}

TEST(Runners, SchemeBelongsToFirstRunner) {
    int one = 0, two = 0;
    Runners runners;
    EXPECT_TRUE(runners.add_scheme("web", some_runner(one), "org.a"));
    EXPECT_FALSE(runners.add_scheme("web", some_runner(two), "org.b"));
    ASSERT_NE(runners.find_scheme("web"), nullptr);
    EXPECT_EQ(runners.find_scheme("web")->origin, "org.a");
    EXPECT_EQ(runners.find_scheme("web")->runner, some_runner(one));
    runners.remove_scheme("web");
    runners.remove_scheme("web");
    EXPECT_EQ(runners.find_scheme("web"), nullptr);
    EXPECT_TRUE(runners.add_scheme("web", some_runner(two)));
}

TEST(Runners, DistinguishSchemeFromFileName) {
    EXPECT_EQ(scheme_of("web:service"), "web");
    EXPECT_EQ(scheme_of("git+ssh:a:b"), "git+ssh");
    EXPECT_EQ(scheme_of("tools/a:b"), "");
    EXPECT_EQ(scheme_of("/tools/a:b"), "");
    EXPECT_EQ(scheme_of(":b"), "");
    EXPECT_EQ(scheme_of("a b:c"), "");
    EXPECT_EQ(scheme_of("tool"), "");
}

}  // namespace
}  // namespace narratoria::tool
