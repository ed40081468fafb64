// SPDX-License-Identifier: Apache-2.0
#include "session/condition.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/json/writer.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

const char* const kState = R"({"torch":{"lit":true,"oil":2},"door":{"open":false},"name":"Ada",
    "bag":["rope",1.0,"{x}"],"a/b":"here","gone":null})";

bool is_true(std::string_view condition, std::string_view named = "{}") {
    const auto document = test::parse_json(condition);
    state::Tree tree;
    tree.assign(test::parse_json(kState)->root());
    const StateView state(tree);
    const auto conditions = test::parse_json(named);
    std::string faults;
    std::vector<std::string_view> names;
    for (const json::Member each : conditions->root().members()) names.push_back(each.key);
    ConditionReader{[&](json::Value, const std::string& message) { faults += message; },
                    [](json::Value, std::string_view, const std::string&) {},
                    [](json::Value, std::string_view) {}, [](json::Value) {}, names}
        .read(document->root());
    EXPECT_EQ(faults, "") << condition;
    const Bindings bindings{{"thing", "torch"}, {"place", "a/b"}};
    const NameLookups lookups{look_up_in(bindings),
                              [&](std::string_view name) -> std::optional<std::string> {
                                  if (name == "/torch/oil") return "2";
                                  const auto text = look_up_in(bindings)(name);
                                  if (!text) return std::nullopt;
                                  return json::quoted(*text);
                              }};
    return holds(document->root(), state, evaluate(conditions->root(), state, lookups), lookups);
}

TEST(Condition, AllMembersMustHold) {
    EXPECT_TRUE(is_true(R"({"/torch/lit":true,"/name":"Ada"})"));
    EXPECT_FALSE(is_true(R"({"/torch/lit":true,"/name":"Bob"})"));
    EXPECT_TRUE(is_true("{}"));
}

TEST(Condition, ANameStandsForItsCondition) {
    const char* const named = R"({"lit":{"/torch/lit":true},"dark":{"not":"lit"},
        "ready":{"all":["lit",{"/torch/oil":2}]}})";
    EXPECT_TRUE(is_true(R"("lit")", named));
    EXPECT_FALSE(is_true(R"("dark")", named));
    EXPECT_TRUE(is_true(R"("ready")", named));
    EXPECT_TRUE(is_true(R"({"any":["dark","lit"],"not":"dark"})", named));
}

TEST(Condition, NamesTakeNoExponentialTime) {
    std::string named = R"({"0":{"/torch/lit":true})";
    for (int i = 1; i < 200; ++i) {
        const std::string before = '"' + std::to_string(i - 1) + '"';
        named += ",\"" + std::to_string(i) + "\":{\"all\":[" + before + "," + before + "]}";
    }
    EXPECT_TRUE(is_true(R"("199")", named + "}"));
}

TEST(Condition, AMissingValueCountsAsFalse) {
    EXPECT_TRUE(is_true(R"({"/lamp/lit":false})"));
    EXPECT_FALSE(is_true(R"({"/lamp/lit":true})"));
    EXPECT_FALSE(is_true(R"({"/lamp/lit":null})"));
    EXPECT_TRUE(is_true(R"({"/lamp/lit":{"!=":3,"in":[false]}})"));
    EXPECT_FALSE(is_true(R"({"/lamp":{"contains":false}})"));
    EXPECT_TRUE(is_true(R"({"/lamp/oil":{"<":1,">":-1,"<=":0,">=":0}})")) << "and as 0";
    EXPECT_FALSE(is_true(R"({"/lamp/oil":{">":0}})"));
}

TEST(Condition, ComparesNumbersByValue) {
    EXPECT_TRUE(is_true(R"({"/torch/oil":2.0})"));
    EXPECT_TRUE(is_true(R"({"/torch/oil":{">":1.5,"<":2.5,">=":2,"<=":2,"=":2}})"));
    EXPECT_FALSE(is_true(R"({"/torch/oil":{">":2}})"));
    EXPECT_FALSE(is_true(R"({"/torch/oil":{"<":2}})"));
    EXPECT_FALSE(is_true(R"({"/torch/oil":{">=":2.1}})"));
    EXPECT_FALSE(is_true(R"({"/torch/oil":{"<=":1.9}})"));
    EXPECT_FALSE(is_true(R"({"/name":{">":0}})")) << "only a number is in an order";
}

TEST(Condition, KnowsListsAndExistence) {
    EXPECT_TRUE(is_true(R"({"/bag":{"contains":"rope"}})"));
    EXPECT_TRUE(is_true(R"({"/bag":{"contains":1}})"));
    EXPECT_FALSE(is_true(R"({"/bag":{"contains":"lamp"}})"));
    EXPECT_FALSE(is_true(R"({"/name":{"contains":"Ada"}})"));
    EXPECT_TRUE(is_true(R"({"/bag":["rope",1,"{{x}}"]})"));
    EXPECT_TRUE(is_true(R"({"/bag/0":"rope"})"));
    EXPECT_TRUE(is_true(R"({"/name":{"in":["Bob","Ada"]}})"));
    EXPECT_FALSE(is_true(R"({"/name":{"in":[]}})"));
    EXPECT_TRUE(is_true(R"({"/gone":{"exists":true,"=":null},"/no":{"exists":false}})"));
    EXPECT_FALSE(is_true(R"({"/door/open":{"exists":false}})"));
}

TEST(Condition, CountsListsAndObjects) {
    EXPECT_TRUE(is_true(R"({"/bag":{"count":3},"/door":{"count":1},"/no":{"count":0}})"));
    EXPECT_TRUE(is_true(R"({"/bag":{"count":{">":2,"<=":3}},"/gone":{"count":{"<":1}}})"));
    EXPECT_TRUE(is_true(R"({"/torch":{"count":"{/torch/oil}"}})"));
    EXPECT_FALSE(is_true(R"({"/bag":{"count":{">":3}}})"));
    EXPECT_FALSE(is_true(R"({"/name":{"count":{">=":0}}})")) << "a text is not a list";
}

TEST(Condition, NamesAreReplacedInPointersAndValues) {
    EXPECT_TRUE(is_true(R"({"/{thing}/lit":true})"));
    EXPECT_TRUE(is_true(R"({"/{place}":"here"})")) << "a / of a name is not one of the pointer";
    EXPECT_FALSE(is_true(R"({"/{other}/lit":true})")) << "a name without a value leads nowhere";
    EXPECT_TRUE(is_true(R"({"/{other}/lit":false})"));
    EXPECT_TRUE(is_true(R"({"/torch/oil":"{/torch/oil}"})")) << "the value keeps its type";
    EXPECT_TRUE(is_true(R"({"/torch/oil":{"<=":"{/torch/oil}",">":"{/none}"}})"));
    EXPECT_TRUE(is_true(R"({"/name":{"in":["x","{/none}","Ada"],"!=":"{thing}"}})"));
    EXPECT_TRUE(is_true(R"({"/none":"{/none}"})")) << "both count as false";
    EXPECT_TRUE(is_true(R"({"/bag":{"contains":"{{x}}"}})")) << "as in texts";
}

TEST(Condition, NotAnyAndAllCombineConditions) {
    EXPECT_TRUE(is_true(R"({"not":{"/door/open":true}})"));
    EXPECT_FALSE(is_true(R"({"not":{}})"));
    EXPECT_TRUE(is_true(R"({"any":[{"/name":"Bob"},{"/name":"Ada"}]})"));
    EXPECT_FALSE(is_true(R"({"any":[{"/name":"Bob"},{"/name":"Cy"}]})"));
    EXPECT_TRUE(is_true(R"({"all":[{"/torch/oil":{">":0}},{"/torch/oil":{"<":3}}]})"));
    EXPECT_FALSE(is_true(R"({"all":[{"/name":"Ada"},{"any":[{"/door/open":true}]}]})"));
}

}  // namespace
}  // namespace narratoria::session
