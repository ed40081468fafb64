// SPDX-License-Identifier: Apache-2.0
#include "script/value.hpp"

#include <gtest/gtest.h>

#include <string>

namespace narratoria::script {
namespace {

class ValueTest : public ::testing::Test {
protected:
    Value value(const std::string& text) {
        json::Document document;
        json::ParseError error;
        EXPECT_TRUE(document.parse(text, error)) << error.message;
        return memory_.from_json(document.root());
    }
    static std::string json(const Value& value) {
        std::string out;
        append_json(out, value);
        return out;
    }

    Limits limits_;
    Memory memory_{limits_};
};

TEST_F(ValueTest, JsonIsReadAndWritten) {
    for (const char* text : {"null", "true", "-1.5", "\"a\\u0001\\n\"", "[]", "{}",
                             R"({"b":[1,{"a":null}],"a":""})"}) {
        EXPECT_EQ(json(value(text)), text);
    }
    EXPECT_EQ(json(value("[1.0,1e2,-0.0]")), "[1,100,0]");
    EXPECT_EQ(json(value(R"({"b":1,"10":2,"9":3,"b":4})")), R"({"9":3,"10":2,"b":4})");
}

TEST_F(ValueTest, MembersAreFoundInSmallAndLargeObjects) {
    for (const int count : {0, 1, 8, 9, 1000}) {
        std::string text = "{";
        for (int i = 0; i < count; ++i) {
            text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":" + std::to_string(i);
        }
        const Value object = value(text + "}");
        for (int i = 0; i < count; ++i) {
            const Value* const found = object.find("k" + std::to_string(i));
            ASSERT_NE(found, nullptr);
            EXPECT_EQ(found->number(), i);
        }
        EXPECT_EQ(object.find("k"), nullptr);
        EXPECT_TRUE(equal(object, value(text + "}")));
    }
}

TEST_F(ValueTest, AllMemoryIsFreed) {
    {
        Value a =
            value(R"({"a":["x",{"b":"y"}],"k0":0,"k1":1,"k2":2,"k3":3,"k4":4,"k5":5,"k6":6})");
        Value b = a;
        a = *b.find("a");
        b = Value();
        EXPECT_EQ(json(a), R"(["x",{"b":"y"}])");
        EXPECT_GT(memory_.used(), 0u);
    }
    EXPECT_EQ(memory_.used(), 0u);
}

TEST_F(ValueTest, ValueAboveALimitIsRefused) {
    Limits narrow;
    narrow.value_bytes = 50;
    narrow.depth = 2;
    narrow.memory_bytes = 300;
    Memory memory(narrow);
    EXPECT_FALSE(memory.string(std::string(60, 'x')).is_defined());
    EXPECT_EQ(memory.refusal(), Memory::Refusal::Size);
    const Value one = memory.list(1, [](uint32_t) { return Value(1.0); });
    const Value two = memory.list(1, [&](uint32_t) { return one; });
    EXPECT_FALSE(memory.list(1, [&](uint32_t) { return two; }).is_defined());
    EXPECT_EQ(memory.refusal(), Memory::Refusal::Depth);
    const Value large = memory.string(std::string(48, 'x'));
    const Value other = memory.string(std::string(48, 'y'));
    EXPECT_FALSE(memory.string(std::string(48, 'z')).is_defined());
    EXPECT_EQ(memory.refusal(), Memory::Refusal::Total);
}

TEST_F(ValueTest, IntegerKeysAreArrayIndexes) {
    uint32_t number;
    for (const char* key : {"0", "7", "10", "4294967294"}) {
        EXPECT_TRUE(is_integer_key(key, number)) << key;
        EXPECT_EQ(std::to_string(number), key);
    }
    for (const char* key : {"", "00", "01", "-1", "1.0", "a", " 1", "4294967295", "99999999999"}) {
        EXPECT_FALSE(is_integer_key(key, number)) << key;
    }
}

}  // namespace
}  // namespace narratoria::script
