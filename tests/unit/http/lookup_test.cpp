// SPDX-License-Identifier: Apache-2.0
#include "http/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace narratoria::http {
namespace {

class LookupTest : public testing::Test {
protected:
    struct Answer {
        std::vector<std::string> addresses;
        std::string reason;
    };
    std::unique_ptr<Lookup::Query> ask(const std::string& name, std::optional<Answer>& answer) {
        return lookup.ask(name, [&](const std::vector<std::string>& found, const std::string& why) {
            answer = Answer{found, why};
        });
    }

    Loop loop;
    process::Pool pool{loop, ""};
    Lookup lookup{pool};
};

TEST_F(LookupTest, FindsTheAddressesOfAName) {
    std::optional<Answer> answer;
    EXPECT_EQ(lookup.find("localhost"), nullptr);
    const auto query = ask("localhost", answer);
    while (!answer) loop.run_once();
    EXPECT_THAT(answer->addresses, testing::Contains(testing::AnyOf("127.0.0.1", "::1")));
    EXPECT_EQ(answer->reason, "");
    ASSERT_NE(lookup.find("localhost"), nullptr);
    EXPECT_EQ(*lookup.find("localhost"), answer->addresses);
}

TEST_F(LookupTest, ReportsNamesWithoutAddress) {
    std::optional<Answer> answer;
    const auto query = ask("no-such-name.invalid", answer);
    while (!answer) loop.run_once();
    EXPECT_THAT(answer->addresses, testing::IsEmpty());
    EXPECT_EQ(answer->reason, "no address is known for this name");
    EXPECT_EQ(lookup.find("no-such-name.invalid"), nullptr);
}

TEST_F(LookupTest, QueriesForOneNameShareALookup) {
    std::optional<Answer> first, second;
    const auto one = ask("localhost", first);
    const auto two = ask("localhost", second);
    EXPECT_EQ(pool.busy(), 1u);
    while (!first || !second) loop.run_once();
    EXPECT_EQ(first->addresses, second->addresses);
}

TEST_F(LookupTest, LastCancelledQueryEndsTheProcess) {
    std::optional<Answer> first, second;
    auto one = ask("localhost", first);
    auto two = ask("localhost", second);
    one.reset();
    while (!second) loop.run_once();
    EXPECT_FALSE(first);
    auto three = ask("other.invalid", first);
    three.reset();
    while (pool.busy() > 0) loop.run_once();
    EXPECT_FALSE(first);
}

TEST_F(LookupTest, CallbackMayDestroyOtherQueries) {
    std::vector<std::unique_ptr<Lookup::Query>> queries;
    int answers = 0;
    for (int i = 0; i < 5; ++i) {
        queries.push_back(lookup.ask("localhost", [&](const auto&, const auto&) {
            ++answers;
            queries.clear();
        }));
    }
    while (answers == 0) loop.run_once();
    while (pool.busy() > 0) loop.run_once();
    EXPECT_EQ(answers, 1);
}

TEST(LookupOfAddresses, NumericAddressesNeedNoLookup) {
    for (const char* host : {"127.0.0.1", "::1", "localhost", "a.localhost"}) {
        EXPECT_TRUE(is_address(host)) << host;
    }
    for (const char* host : {"example.com", "localhost.example", "127.1"}) {
        EXPECT_FALSE(is_address(host)) << host;
    }
}

}  // namespace
}  // namespace narratoria::http
