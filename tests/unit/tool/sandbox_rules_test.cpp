// SPDX-License-Identifier: Apache-2.0
#include "tool/sandbox_rules.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "conformance/folder.hpp"

namespace narratoria::tool {
namespace {

Guarantees no_network() {
    Guarantees out;
    out.require(Guarantee::NoNetwork, GuaranteeSource::User);
    return out;
}

TEST(SandboxRules, FileHasGuaranteesOfAllItsNames) {
    const test::Folder folder;
    const std::string file = folder.path() + "/tools/weather.py";
    folder.write("tools/weather.py", "");
    std::filesystem::create_symlink("weather.py", folder.path() + "/tools/sky");
    for (const char* key :
         {"weather", "weather.py", "tools/weather.py", "./tools/../tools/weather.py"}) {
        SandboxRules rules;
        rules.require_of(key, folder.path(), no_network());
        // By the path of a plan, by a different path, by a link, and by a registered name.
        EXPECT_TRUE(rules.guarantees_of("weather.py", "weather.py", file).any()) << key;
        EXPECT_TRUE(rules
                        .guarantees_of("weather.py", "./tools//weather.py",
                                       folder.path() + "/./tools//weather.py")
                        .any())
            << key;
        EXPECT_TRUE(rules.guarantees_of("sky", "sky", folder.path() + "/tools/sky").any() ||
                    std::string(key) == "weather")
            << key;
        EXPECT_TRUE(rules.guarantees_of("forecast", "forecast", file).any()) << key;
        EXPECT_FALSE(rules.guarantees_of("other", "other", folder.path() + "/tools/other").any());
    }
}

TEST(SandboxRules, UnknownNameAppliesToNoTool) {
    const test::Folder folder;
    SandboxRules rules;
    rules.require_of("wether", folder.path(), no_network());
    EXPECT_FALSE(rules.empty());
    EXPECT_FALSE(rules.guarantees_of("weather", "weather", "").any());
}

}  // namespace
}  // namespace narratoria::tool
