// SPDX-License-Identifier: Apache-2.0
#include "session/state_operations.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

const char* const kState = R"({"coins":5,"bag":["rope",1],"door":{"open":false,"key":"iron"}})";

std::string patch(std::string_view operations) {
    const auto document = test::parse_json(operations);
    state::Tree tree;
    tree.assign(test::parse_json(kState)->root());
    StateView state(tree);
    const Bindings bindings{{"thing", "a lamp"}, {"/g", "ag"}};
    const NameLookup json_of = [](std::string_view name) -> std::optional<std::string> {
        if (name == "roll.result.total") return "12";
        return std::nullopt;
    };
    const std::string why = apply(document->root(), {look_up_in(bindings), json_of}, state);
    return why.empty() ? state.patch() : why;
}

TEST(StateOperations, SetAndRemoveValues) {
    EXPECT_EQ(patch(R"({"/door/open":true,"/door/key":null,"/a/b":[1,{"c":2}]})"),
              R"({"door":{"open":true,"key":null},"a":{"b":[1,{"c":2}]}})");
}

TEST(StateOperations, AddNumbers) {
    EXPECT_EQ(patch(R"({"/coins":{"+":-7}})"), R"({"coins":-2})");
    EXPECT_EQ(patch(R"({"/coins":{"+":0.5}})"), R"({"coins":5.5})");
    EXPECT_EQ(patch(R"({"/lives":{"+":1}})"), R"({"lives":1})") << "a missing number is 0";
    EXPECT_EQ(patch(R"({"/coins":{"+":9223372036854775807}})"), R"({"coins":9223372036854775808})");
}

TEST(StateOperations, ChangeLists) {
    EXPECT_EQ(patch(R"({"/bag":{"add":"lamp"}})"), R"({"bag":["rope",1,"lamp"]})");
    EXPECT_EQ(patch(R"({"/bag":{"add":1.0}})"), R"({"bag":["rope",1]})") << "it has it already";
    EXPECT_EQ(patch(R"({"/bag":{"remove":"rope"}})"), R"({"bag":[1]})");
    EXPECT_EQ(patch(R"({"/seen":{"add":"cave"}})"), R"({"seen":["cave"]})");
    EXPECT_EQ(patch(R"({"/seen":{"remove":"cave"}})"), R"({"seen":[]})");
}

TEST(StateOperations, ChangeOnlyValuesOfTheirType) {
    EXPECT_EQ(patch(R"({"/bag":{"+":1}})"), R"("/bag" is not a number, so "+" cannot change it)");
    EXPECT_EQ(patch(R"({"/coins":{"add":"lamp"}})"),
              R"("/coins" is not a list, so "add" cannot change it)");
}

TEST(StateOperations, ExpandNames) {
    EXPECT_EQ(patch(R"({"/said":"take {thing}","/bag":{"add":"{thing}"}})"),
              R"({"said":"take a lamp","bag":["rope",1,"a lamp"]})");
    EXPECT_EQ(patch(R"({"/roll":"{roll.result.total}"})"), R"({"roll":12})")
        << "a name alone keeps the type of its value";
    EXPECT_EQ(patch(R"({"/coins":{"+":"{roll.result.total}"}})"), R"({"coins":17})");
    EXPECT_EQ(patch(R"({"/coins":{"+":"{thing}"}})"),
              R"("{thing}" is not a number, so it cannot be added to "/coins")");
    EXPECT_EQ(patch(R"({"/seen":{"add":{"what":["{thing}"]}}})"),
              R"({"seen":[{"what":["a lamp"]}]})");
    EXPECT_EQ(patch(R"({"/bag":["{thing}","{roll.result.total}",[],1]})"),
              R"({"bag":["a lamp",12,[],1]})");
}

TEST(StateOperations, ExpandNamesInPointers) {
    EXPECT_EQ(patch(R"({"/at/{thing}":"here","/seen/{thing}":{"+":1}})"),
              R"({"at":{"a lamp":"here"},"seen":{"a lamp":1}})");
    EXPECT_EQ(patch(R"({"/bag":{"add":"lamp"},"/b{/g}":{"remove":"rope"}})"),
              R"({"bag":[1,"lamp"]})")
        << "operations on one place follow each other";
    EXPECT_EQ(patch(R"({"/at/{other}":1})"), R"(a name in "/at/{other}" has no value)");
}

TEST(StateOperations, RefuseWhatWouldBeNestedTooDeeply) {
    std::string deep = "1", pointer;
    for (int i = 0; i < 500; ++i) deep = "[" + deep + "]";
    for (int i = 0; i < 20; ++i) pointer += "/a";
    EXPECT_EQ(patch("{\"/b\":1,\"" + pointer + "\":" + deep + "}"),
              "\"" + pointer + "\" would be nested too deeply");
}

TEST(StateOperations, RefusePointersIntoLists) {
    EXPECT_EQ(
        patch(R"({"/coins":1,"/bag/0":"lamp"})"),
        R"("/bag/0" is within a list, of which only the whole can be set; "add" and "remove" )"
        "change a list");
    EXPECT_EQ(patch(R"({"/shelf/0":"lamp"})"), R"({"shelf":{"0":"lamp"}})") << "there is no list";
}

}  // namespace
}  // namespace narratoria::session
