// SPDX-License-Identifier: Apache-2.0
#include "base/duplicates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace narratoria;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> duplicates(std::string_view text) {
    json::Document document;
    json::ParseError error;
    EXPECT_TRUE(document.parse(text, error));
    std::vector<std::string> all;
    for (const Fault& fault : json::duplicate_keys(document.root())) {
        EXPECT_TRUE(fault.is_warning);
        EXPECT_EQ(fault.rule, "json-key-unique");
        all.push_back(fault.pointer + " " + std::to_string(fault.byte));
    }
    return all;
}

TEST(DuplicateKeys, RepeatAKeyOfAnEarlierMember) {
    EXPECT_THAT(duplicates(R"({"a":1,"a":2})"), ElementsAre("/a 7"));
    EXPECT_THAT(duplicates(R"([{"x":{"b":1}},{"b":[0,{"~":1,"c":2,"~":3}]}])"),
                ElementsAre("/1/b/1/~0 36"));
    EXPECT_THAT(duplicates(R"({"a":1,"\u0061":2,"a":3})"), ElementsAre("/a 7", "/a 18"))
        << "however it is escaped";
}

TEST(DuplicateKeys, EqualKeysOfDifferentObjectsAreNotDuplicates) {
    EXPECT_THAT(duplicates(R"({"a":{"a":{"a":1}},"b":{"a":1}})"), IsEmpty());
    EXPECT_THAT(duplicates("5"), IsEmpty());
    EXPECT_THAT(duplicates(std::string(512, '[') + std::string(512, ']')), IsEmpty());
}

}  // namespace
