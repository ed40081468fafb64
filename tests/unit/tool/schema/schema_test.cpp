// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tool/schema/program.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const Schema> compiled(const std::string& text) {
    Faults faults;
    auto schema = Schema::compile(text, faults);
    EXPECT_NE(schema, nullptr) << text.substr(0, 200) << '\n' << describe_faults(faults, text);
    return schema;
}

// Returns "/pointer message" of each fault of the value.
std::vector<std::string> faults_of(const std::string& schema, const std::string& value) {
    const auto made = compiled(schema);
    const auto document = test::parse_json(value);
    std::vector<std::string> out;
    if (made == nullptr) return {"no schema"};
    for (const SchemaFault& fault : made->check(document->root())) {
        out.push_back(fault.pointer + " " + fault.message);
    }
    EXPECT_EQ(out.empty(), made->accepts(document->root()));
    return out;
}

// Returns "/pointer message" of each fault of the schema.
std::vector<std::string> refusals_of(const std::string& schema) {
    Faults faults;
    EXPECT_EQ(Schema::compile(schema, faults), nullptr) << schema;
    std::vector<std::string> out;
    for (const Fault& fault : faults) out.push_back(fault.pointer + " " + fault.message);
    return out;
}

constexpr const char* kWeather =
    R"({"type":"object","required":["city"],"additionalProperties":false,
    "properties":{"city":{"type":"string"},"way":{"enum":["up","down"]},"at":{"type":"object",
    "properties":{"x":{"type":["integer","null"]}}},"days":{"minimum":1}}})";

TEST(Schema, ValidValueHasNoFault) {
    EXPECT_THAT(faults_of(kWeather, R"({"city":"Oslo","way":"up","at":{"x":null},"days":1})"),
                IsEmpty());
}

TEST(Schema, ReportsAllFaultsWithPlaces) {
    EXPECT_THAT(faults_of(kWeather, R"({"town":1,"way":"left","at":{"x":1.5},"days":0})"),
                ElementsAre(R"(/town is unknown; allowed members are "city", "way", "at", "days")",
                            R"(/way is "left" but must be one of "up", "down")",
                            "/at/x is a number but must be an integer or null",
                            "/days is 0 but must be at least 1", "/city is missing"));
}

TEST(Schema, SuggestsNoMemberThatIsThere) {
    EXPECT_THAT(
        faults_of(kWeather, R"({"city":"Oslo","citi":1})"),
        ElementsAre(R"(/citi is unknown; allowed members are "city", "way", "at", "days")"));
    EXPECT_THAT(faults_of(kWeather, R"({"city":"Oslo","dais":1})"),
                ElementsAre("/dais is unknown; did you mean \"days\"?"));
}

TEST(Schema, FaultNamesExpectedAndReceivedTypes) {
    const auto document = test::parse_json(R"({"way":1,"at":"here"})");
    const SchemaFaults faults = compiled(kWeather)->check(document->root());
    ASSERT_THAT(faults, SizeIs(3));
    EXPECT_EQ(faults[0].keyword, "enum");
    EXPECT_EQ(faults[1].keyword, "type");
    EXPECT_EQ(faults[1].expected, ObjectBit);
    EXPECT_EQ(faults[1].received, json::Type::String);
    EXPECT_EQ(faults[2].keyword, "required");
    EXPECT_EQ(faults[2].expected, StringBit);
    EXPECT_EQ(faults[2].received, std::nullopt);
}

TEST(Schema, SupportsPydanticSchemas) {
    const char* const schema = R"({"$defs":{"Item":{"properties":{"name":{"title":"Name",
        "type":"string"},"parts":{"items":{"$ref":"#/$defs/Item"},"type":"array"}},
        "required":["name"],"type":"object"}},"properties":{"item":{"anyOf":[
        {"$ref":"#/$defs/Item"},{"type":"null"}],"default":null},"count":{"exclusiveMinimum":0,
        "type":"integer"}},"title":"Request","type":"object"})";
    EXPECT_THAT(faults_of(schema, R"({"item":{"name":"a","parts":[{"name":"b"}]},"count":2})"),
                IsEmpty());
    EXPECT_THAT(faults_of(schema, R"({"item":null})"), IsEmpty());
    EXPECT_THAT(faults_of(schema, R"({"item":{"name":"a","parts":[{"name":1},{}]},"count":0})"),
                ElementsAre("/item/parts/0/name is an integer but must be a string",
                            "/item/parts/1/name is missing", "/count is 0 but must be above 0"));
    EXPECT_THAT(faults_of(schema, R"({"item":5})"),
                ElementsAre("/item is an integer but must be an object or null"));
}

TEST(Schema, ConstantMemberSelectsAlternative) {
    const char* const schema = R"({"oneOf":[
        {"properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}},"required":["kind"]},
        {"properties":{"kind":{"const":"dog"},"name":{"type":"string"}},"required":["kind"]}]})";
    EXPECT_THAT(faults_of(schema, R"({"kind":"dog","name":7})"),
                ElementsAre("/name is an integer but must be a string"));
    EXPECT_THAT(faults_of(schema, R"({"kind":"cow"})"),
                ElementsAre(HasSubstr(R"( fits none of the 2 alternatives: "/kind" is "cow")")));
}

TEST(Schema, NumbersAreComparedByValue) {
    EXPECT_THAT(faults_of(R"({"const":1})", "1.0"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"enum":[100]})", "1e2"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"const":9007199254740993})", "9007199254740992"), SizeIs(1));
    EXPECT_THAT(faults_of(R"({"multipleOf":0.01})", "19.99"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"multipleOf":0.01})", "19.995"), SizeIs(1));
    EXPECT_THAT(faults_of(R"({"type":"integer"})", "1e300"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"type":"integer"})", "1.5e0"), SizeIs(1));
    EXPECT_THAT(faults_of(R"({"minimum":0.1})", "0.1"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"maximum":-3})", "-2.9999999999999999999999"), SizeIs(1));
}

TEST(Schema, LengthsCountCharacters) {
    EXPECT_THAT(faults_of(R"({"maxLength":2})", R"("äö")"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"maxLength":1})", R"("äö")"),
                ElementsAre(" has 2 characters but must not have more than 1"));
    EXPECT_THAT(faults_of(R"({"minLength":1})", R"("")"), ElementsAre(" must not be empty"));
    EXPECT_THAT(faults_of(R"({"minLength":3})", R"("äö")"), SizeIs(1));
    EXPECT_THAT(faults_of(R"({"minLength":2,"maxLength":2})", R"("äö")"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"minLength":-0})", R"("")"), IsEmpty());
}

TEST(Schema, BooleanExclusiveLimitIsDraft4) {
    const auto schema_in = [](const std::string& dialect, const std::string& limit) {
        return R"({"$schema":")" + dialect + R"(",")" + limit + R"(":true})";
    };
    for (const std::string limit : {"exclusiveMinimum", "exclusiveMaximum"}) {
        EXPECT_THAT(faults_of(schema_in("http://json-schema.org/draft-04/schema#", limit), "1"),
                    IsEmpty());
        for (const std::string dialect :
             {"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
              "https://json-schema.org/draft/2019-09/schema",
              "https://json-schema.org/draft/2020-12/schema"}) {
            EXPECT_THAT(refusals_of(schema_in(dialect, limit)),
                        ElementsAre(HasSubstr("\"" + limit + "\" must be a number")))
                << dialect;
        }
    }
}

TEST(Schema, MissingDialectAcceptsOlderKeywords) {
    EXPECT_THAT(
        faults_of(R"({"items":[{"type":"null"}],"additionalItems":false})", "[null,1]"),
        ElementsAre("/1 is one element too many; the array must not have more than 1 element"));
    EXPECT_THAT(faults_of(R"({"minimum":1,"exclusiveMinimum":true})", "1"), SizeIs(1));
    EXPECT_THAT(
        faults_of(R"({"$ref":"#/$defs/a","minimum":3,"$defs":{"a":{"type":"number"}}})", "2"),
        SizeIs(1));
}

TEST(Schema, RefusesInvalidSchemaWithAllPlaces) {
    EXPECT_THAT(refusals_of(R"({"type":"objekt","properties":{"a":{"minLength":-1},"b":5}})"),
                ElementsAre(HasSubstr("/type a type must be"),
                            HasSubstr("/properties/b a schema must be an object"),
                            HasSubstr("/properties/a/minLength \"minLength\" must be")));
    EXPECT_THAT(refusals_of("[]"), ElementsAre(HasSubstr(" a schema must be an object")));
    EXPECT_THAT(refusals_of(R"({"type":)"), SizeIs(1));
    EXPECT_THAT(refusals_of(R"({"required":["a","a"]})"),
                ElementsAre(R"(/required/1 "a" is listed twice; remove one)"));
    EXPECT_THAT(refusals_of(R"({"type":"string","type":"null"})"),
                ElementsAre(R"(/type "type" is set twice; remove one)"));
    EXPECT_THAT(
        refusals_of(R"({"$schema":"https://example.com/mine"})"),
        ElementsAre(HasSubstr("/$schema \"https://example.com/mine\" is not a known draft")));
    EXPECT_THAT(refusals_of(R"({"$schema":7})"),
                ElementsAre(HasSubstr("/$schema \"$schema\" must be a string")));
}

TEST(Schema, DistinguishesRelativeIds) {
    const std::string schema =
        R"({"$defs":{"x":{"$id":"a","type":"string"},"y":{"$id":"b","type":"integer"}},)"
        R"("properties":{"p":{"$ref":"a"},"q":{"$ref":"./b"}}})";
    EXPECT_THAT(faults_of(schema, R"({"p":"text","q":1})"), IsEmpty());
    EXPECT_THAT(faults_of(schema, R"({"p":1,"q":"text"})"), SizeIs(2));
}

TEST(Schema, RefusesExternalAndDanglingReferences) {
    EXPECT_THAT(refusals_of(R"({"properties":{"a":{"$ref":"https://example.com/a.json"}}})"),
                ElementsAre(HasSubstr("/properties/a/$ref \"https://example.com/a.json\" is "
                                      "outside of this document")));
    EXPECT_THAT(refusals_of(R"({"$ref":"#/$defs/none"})"),
                ElementsAre(HasSubstr("/$ref \"#/$defs/none\" does not name a schema")));
}

TEST(Schema, RefusesReferenceLoops) {
    EXPECT_THAT(refusals_of(R"({"$ref":"#"})"), ElementsAre(HasSubstr("refers back to itself")));
    EXPECT_THAT(refusals_of(R"({"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},
                                          "b":{"not":{"$ref":"#/$defs/a"}}}})"),
                SizeIs(1));
}

TEST(Schema, RefusesUnsupportedPatterns) {
    EXPECT_THAT(refusals_of(R"x({"pattern":"(?=a)b"})x"),
                ElementsAre(HasSubstr("look-ahead and look-behind are not supported")));
    EXPECT_THAT(refusals_of(R"x({"patternProperties":{"(a)\\1":{}}})x"),
                ElementsAre(HasSubstr("back-references are not supported")));
}

// ---- bounds

TEST(Schema, MatchesPatternsInLinearTime) {
    EXPECT_THAT(faults_of(R"x({"pattern":"^(a+)+$"})x", '"' + std::string(100'000, 'a') + "!\""),
                SizeIs(1));
}

TEST(Schema, GivesUpExponentialAnyOf) {
    // Each level doubles the work, and no branch fits.
    std::string schema = R"({"$defs":{"l0":{"type":"null"})";
    for (int i = 1; i <= 40; ++i) {
        const std::string below = R"({"$ref":"#/$defs/l)" + std::to_string(i - 1) + R"("})";
        schema += ",\"l" + std::to_string(i) + "\":{\"anyOf\":[" + below + "," + below + "]}";
    }
    schema += R"(},"$ref":"#/$defs/l40"})";
    EXPECT_THAT(faults_of(schema, "1"),
                ElementsAre(" takes too long to check against this schema"));
}

TEST(Schema, ExponentialNotIsGivenUpAndRejected) {
    std::string schema = R"({"$defs":{"l0":{"type":"null"})";
    for (int i = 1; i <= 41; ++i) {
        const std::string below = R"({"$ref":"#/$defs/l)" + std::to_string(i - 1) + R"("})";
        schema += ",\"l" + std::to_string(i) + "\":{\"anyOf\":[" + below + "," + below + "]}";
    }
    schema += R"(},"not":{"$ref":"#/$defs/l41"}})";
    EXPECT_THAT(faults_of(schema, "1"), SizeIs(1));
}

TEST(Schema, BoundsRecursionDepth) {
    const char* const tree = R"({"anyOf":[{"items":{"$ref":"#"}},{"type":"null"}]})";
    EXPECT_THAT(faults_of(tree, std::string(200, '[') + std::string(200, ']')), IsEmpty());
    // A chain of schemas that is longer than values may be deep.
    std::string chain = R"({"$defs":{"s0":{"type":"null"})";
    for (int i = 1; i <= 5000; ++i) {
        chain += ",\"s" + std::to_string(i) + "\":{\"allOf\":[{\"$ref\":\"#/$defs/s" +
                 std::to_string(i - 1) + "\"}]}";
    }
    chain += R"(},"$ref":"#/$defs/s5000"})";
    EXPECT_THAT(faults_of(chain, "null"), ElementsAre(" is nested too deeply for this schema"));
}

TEST(Schema, BoundsNumberOfFaults) {
    std::string value = "[";
    for (int i = 0; i < 1000; ++i) value += i == 0 ? "1" : ",1";
    EXPECT_THAT(faults_of(R"({"items":{"type":"string"}})", value + "]"),
                SizeIs(Schema::kMaxFaults));
}

TEST(Schema, FindsEqualElementsAmongMany) {
    std::string value = "[";
    for (int i = 0; i < 20'000; ++i) value += R"({"a":[)" + std::to_string(i) + "]},";
    EXPECT_THAT(faults_of(R"({"uniqueItems":true})", value + "0]"), IsEmpty());
    EXPECT_THAT(faults_of(R"({"uniqueItems":true})", value + R"({"a":[7.0]}])"),
                ElementsAre(" repeats an element: those at 7 and 20000 are equal"));
}

}  // namespace
}  // namespace narratoria::tool
