// SPDX-License-Identifier: Apache-2.0
#include "session/plan_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace narratoria::session {
namespace {

class PlanFaultsTest : public testing::Test {
protected:
    void parse(const std::string& document) {
        text = document;
        ASSERT_TRUE(plan.parse(text, faults)) << describe_faults(faults, text);
    }

    std::string text;
    plan::Plan plan;
    Faults faults;
    tool::Registry registry;
    tool::Runners runners;
    tool::Resolver resolver{registry, runners, ""};
};

const char* const kPlan = R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"/etc/a.py"},)"
                          R"({"toolId":"b","toolPath":"/usr/b"}]})";

TEST_F(PlanFaultsTest, ForbiddenPathIsAFaultOfItsTool) {
    resolver.restrict_to({"/usr"});
    parse(kPlan);
    add_path_faults(plan, resolver, "/", faults);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].rule, std::string("plan-path-allowed"));
    EXPECT_EQ(faults[0].pointer, "/tools/0/toolPath");
    EXPECT_EQ(text.substr(faults[0].byte, 7), "\"/etc/a");
}

TEST_F(PlanFaultsTest, WithoutRestrictionsEveryPathIsAllowed) {
    parse(kPlan);
    add_path_faults(plan, resolver, "/", faults);
    EXPECT_TRUE(faults.empty());
}

TEST_F(PlanFaultsTest, AmbiguousToolNameIsAFault) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "sh";
    definition->origin = {tool::Origin::Kind::Plugin, "shells"};
    registry.add(definition);
    parse(R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"ls"},)"
          R"({"toolId":"b","toolPath":"sh"},{"toolId":"c","toolPath":"./sh"}]})");
    add_path_faults(plan, resolver, "/etc", faults);
    EXPECT_TRUE(faults.empty()) << "there is no /etc/sh";
    add_path_faults(plan, resolver, "/bin", faults);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].rule, std::string("plan-tool-path-ambiguous"));
    EXPECT_EQ(faults[0].pointer, "/tools/1/toolPath");
    EXPECT_EQ(faults[0].message,
              "\"sh\" is a registered tool of the plugin shells and also the file /bin/sh; rename "
              "the tool, or write \"./sh\" for the file");
}

TEST_F(PlanFaultsTest, NonExecutableFileDoesNotMakeANameAmbiguous) {
    auto definition = std::make_shared<tool::Definition>();
    definition->name = "passwd";
    registry.add(definition);
    parse(R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"passwd"}]})");
    add_path_faults(plan, resolver, "/etc", faults);
    EXPECT_TRUE(faults.empty());
}

TEST_F(PlanFaultsTest, DisabledSkillIsTheFileNameWithoutExtension) {
    parse(kPlan);
    add_skill_faults(plan, {"a", "/usr/b"}, faults);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].rule, std::string("plan-skill-disabled"));
    EXPECT_EQ(faults[0].pointer, "/tools/0/toolPath");
}

TEST_F(PlanFaultsTest, EscapedPathHasNoPositionInTheDocument) {
    parse(R"({"requestId":"p","tools":[{"toolId":"a","toolPath":"\/bin\/a"}]})");
    add_skill_faults(plan, {"a"}, faults);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].byte, 0u);
}

}  // namespace
}  // namespace narratoria::session
