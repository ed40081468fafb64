// SPDX-License-Identifier: Apache-2.0
#include "session/script_arguments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "script/limits.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

std::shared_ptr<const tool::Schema> schema_of(const std::string& text) {
    Faults faults;
    auto schema = tool::Schema::compile(text, faults);
    EXPECT_TRUE(schema) << text;
    return schema;
}

class ScriptArgumentsTest : public ::testing::Test {
protected:
    script::Value value(const std::string& text) {
        return memory_.from_json(test::parse_json(text)->root());
    }

    script::Memory memory_{script::Limits{}};
    ScriptArguments arguments_;
};

constexpr const char* kNumber = R"({"properties":{"n":{"type":"number"}},"required":["n"]})";

// The fast check, which builds no document, agrees with the schema.
TEST_F(ScriptArgumentsTest, AreValidIfTheSchemaAcceptsThem) {
    const std::vector<std::string> members = {
        "1",    "-0.0", "1.5", "1e21", "9007199254740993", "\"x\"", "true",
        "null", "[]",   "[1]", "{}",   "{\"a\":1}"};
    const std::vector<std::string> schemas = {
        kNumber,
        "{}",
        "true",
        R"({"type":"object"})",
        R"({"type":["object","null"]})",
        R"({"type":"array"})",
        R"({"properties":{"n":{"type":"integer"}}})",
        R"({"properties":{"n":{"type":["string","null"]},"m":{"type":"boolean"}}})",
        R"({"properties":{"n":{"type":["array","object"]}},"required":["n","m"]})",
        R"({"properties":{"n":true,"m":false}})",
        R"({"properties":{"n":{"minimum":1}}})",
        R"({"properties":{"n":{}},"minProperties":2})",
        R"({"required":["m"]})",
        R"({"properties":{"n":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"number"}}})",
        R"({"properties":{"n":{}},"not":{"required":["m"]}})"};
    for (const std::string& text : schemas) {
        const auto schema = schema_of(text);
        for (const std::string& n : members) {
            for (const std::string& object : {"{\"n\":" + n + "}", "{\"m\":" + n + ",\"n\":1}",
                                              "{\"n\":1,\"m\":" + n + "}", std::string("{}")}) {
                script::Value given = value(object);
                std::string faults;
                const bool fits = arguments_.check(schema.get(), given, memory_, faults);
                EXPECT_EQ(fits, schema->accepts(test::parse_json(arguments_.json())->root()))
                    << text << " " << object;
                EXPECT_EQ(fits, faults.empty());
            }
        }
    }
}

// JSON has no such numbers, and null in their place would be a different value.
TEST_F(ScriptArgumentsTest, NonFiniteNumberIsRefused) {
    const script::Value inside = memory_.object({{memory_.string("k"), script::Value(-INFINITY)}});
    const script::Value list =
        memory_.list(2, [&](uint32_t at) { return at == 0 ? script::Value(1) : inside; });
    const script::Value given = memory_.object({{memory_.string("n"), list}});
    for (const auto& schema : {schema_of(R"({"properties":{"n":{"type":"array"}}})"),
                               schema_of(R"({"properties":{"n":{}},"minProperties":1})"),
                               schema_of("true"), std::shared_ptr<const tool::Schema>()}) {
        script::Value checked = given;
        std::string faults;
        EXPECT_FALSE(arguments_.check(schema.get(), checked, memory_, faults));
        EXPECT_EQ(faults, "Parameter 'n.1.k': Expected a finite number, received -Infinity");
    }
    script::Value dropped = given;
    std::string faults;
    EXPECT_TRUE(
        arguments_.check(schema_of(R"({"properties":{},"additionalProperties":false})").get(),
                         dropped, memory_, faults))
        << faults;
}

TEST_F(ScriptArgumentsTest, MembersUnknownToTheSchemaAreDropped) {
    const auto schema = schema_of(kNumber);
    for (const char* object : {R"({"n":1,"other":2})", R"({"other":2,"n":1})", R"({"n":1})"}) {
        script::Value given = value(object);
        std::string faults;
        EXPECT_TRUE(arguments_.check(schema.get(), given, memory_, faults));
        EXPECT_EQ(arguments_.json(), R"({"n":1})");
    }
    const auto nested = schema_of(
        R"({"properties":{"o":{"properties":{"k":{}}},"l":{"items":{"properties":{"k":{}}}},)"
        R"("any":{"type":"object"},"open":{"additionalProperties":{"type":"number"}}}})");
    script::Value given = value(R"({"o":{"k":1,"x":{"k":2}},"l":[{"k":3},{"x":4}],"any":{"x":5},)"
                                R"("open":{"x":6},"x":7})");
    std::string faults;
    EXPECT_TRUE(arguments_.check(nested.get(), given, memory_, faults)) << faults;
    EXPECT_EQ(arguments_.json(), R"({"o":{"k":1},"l":[{"k":3},{}],"any":{"x":5},"open":{"x":6}})");
}

TEST_F(ScriptArgumentsTest, FaultsFollowTheOrderOfTheSchema) {
    const auto schema = schema_of(
        R"({"properties":{"a":{"type":"number"},"b":{"properties":{"x":{"type":"string"},)"
        R"("y":{"type":"string"}},"required":["x"]},"c":{"type":"boolean"}},"required":["a"]})");
    script::Value given = value(R"({"c":1,"b":{"y":2}})");
    std::string faults;
    EXPECT_FALSE(arguments_.check(schema.get(), given, memory_, faults));
    EXPECT_EQ(
        faults,
        "Parameter 'a': Required (Expected number, received undefined); "
        "Parameter 'b.x': Required (Expected string, received undefined); "
        "Parameter 'b.y': Expected string, received number (Expected string, received number); "
        "Parameter 'c': Expected boolean, received number (Expected boolean, received number)");
}

}  // namespace
}  // namespace narratoria::session
