// SPDX-License-Identifier: Apache-2.0
#include "base/guarantees.hpp"

#include <gtest/gtest.h>

namespace narratoria {
namespace {

using Source = GuaranteeSource;

std::string json_of(const Guarantees& guarantees) {
    std::string out;
    guarantees.append_json(out);
    return out;
}
std::string sources_of(const Guarantees& guarantees) {
    std::string out;
    guarantees.append_sources(out);
    return out;
}
Guarantees read(std::string_view list, Source source = Source::User) {
    Guarantees guarantees;
    std::string why;
    EXPECT_TRUE(read_guarantees(list, source, guarantees, why)) << why;
    return guarantees;
}

TEST(GuaranteeNames, AreReadAndWritten) {
    for (size_t i = 0; i < kGuarantees; ++i) {
        const auto guarantee = static_cast<Guarantee>(i);
        EXPECT_EQ(guarantee_of(name_of(guarantee)), guarantee);
    }
    EXPECT_EQ(guarantee_of("no_fun"), std::nullopt);
    EXPECT_EQ(guarantee_of(""), std::nullopt);
}

TEST(GuaranteeNames, FormTheMessagesOfTheSpecification) {
    const auto message = [](Guarantee each) { return blocked_message("t", each); };
    EXPECT_EQ(message(Guarantee::NoFilesystemWrite), "Tool \"t\" cannot write to the filesystem.");
    EXPECT_EQ(message(Guarantee::NoFilesystemRead), "Tool \"t\" cannot read from the filesystem.");
    EXPECT_EQ(message(Guarantee::NoNetwork), "Tool \"t\" cannot use the network.");
    EXPECT_EQ(message(Guarantee::NoSubprocess), "Tool \"t\" cannot spawn subprocesses.");
    EXPECT_EQ(message(Guarantee::NoEnvRead), "Tool \"t\" cannot read environment variables.");
    EXPECT_EQ(message(Guarantee::NoEnvWrite), "Tool \"t\" cannot write environment variables.");
    EXPECT_EQ(blocked_secrets_message("t"), "Tool \"t\" cannot access secrets.");
}

TEST(GuaranteeMerge, NothingIsRequiredAtFirst) {
    const Guarantees none;
    EXPECT_FALSE(none.any());
    EXPECT_EQ(sources_of(none), "{}");
    EXPECT_EQ(none.secrets(), std::nullopt);
}

TEST(GuaranteeMerge, OnlyTightensAndNamesTheLastSource) {
    Guarantees merged = read("no_network,no_subprocess", Source::Pack);
    merged.tighten(read("no_network", Source::Tool));
    merged.tighten(Guarantees());
    merged.tighten(read("no_env_read", Source::Policy));
    EXPECT_TRUE(merged.requires_one(Guarantee::NoSubprocess));
    EXPECT_EQ(sources_of(merged),
              R"({"no_network":"tool","no_subprocess":"pack","no_env_read":"policy"})");
    EXPECT_EQ(json_of(merged),
              R"({"no_filesystem_write":false,"no_filesystem_read":false,"no_network":true,)"
              R"("no_subprocess":true,"no_env_read":true,"no_env_write":false})");
}

TEST(GuaranteeMerge, IntersectsSecrets) {
    Guarantees merged = read("secrets_allowed=A:B:C", Source::Pack);
    merged.tighten(read("secrets_allowed=B:C:D", Source::User));
    ASSERT_TRUE(merged.secrets());
    EXPECT_EQ(*merged.secrets(), (std::vector<std::string>{"B", "C"}));
    EXPECT_EQ(merged.secrets_source(), Source::User);
    merged.tighten(read("secrets_allowed="));
    EXPECT_TRUE(merged.secrets()->empty());
    EXPECT_TRUE(merged.any());
}

TEST(GuaranteeMerge, PureToolHasAllGuaranteesAndNoSecrets) {
    Guarantees pure = read("secrets_allowed=A", Source::Pack);
    pure.require_all(Source::Tool);
    for (size_t i = 0; i < kGuarantees; ++i) {
        EXPECT_TRUE(pure.requires_one(static_cast<Guarantee>(i)));
    }
    EXPECT_TRUE(pure.secrets()->empty());
    EXPECT_EQ(sources_of(pure), sources_of(read("all", Source::Tool)));
}

TEST(GuaranteeLists, UnknownNamesAreRefusedWithTheValidOnes) {
    for (const char* list : {"no_music", "", "no_network,", "NO_MUSIC", "music"}) {
        Guarantees guarantees;
        std::string why;
        EXPECT_FALSE(read_guarantees(list, Source::User, guarantees, why)) << list;
        EXPECT_NE(why.find("is not a guarantee; use no_filesystem_write, "), std::string::npos);
    }
}

TEST(GuaranteeLists, ASimilarNameIsSuggested) {
    Guarantees guarantees;
    std::string why;
    EXPECT_FALSE(read_guarantees("no_netwrok", Source::User, guarantees, why));
    EXPECT_EQ(why, "\"no_netwrok\" is not a guarantee; did you mean \"no_network\"?");
}

}  // namespace
}  // namespace narratoria
