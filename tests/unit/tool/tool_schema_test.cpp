// SPDX-License-Identifier: Apache-2.0
#include "tool/tool_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace narratoria::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example of spec 002.
constexpr const char* kProfile = R"({"name":"get_user_profile","description":"Retrieves a profile.",
    "parameters":[{"name":"user_id","type":"string","description":"The user."},
    {"name":"depth","type":"number","description":"","required":false}],"returns":"object"})";

ToolSchema read(const std::string& text) {
    json::Document document;
    json::ParseError error;
    EXPECT_TRUE(document.parse(text, error)) << error.message;
    Faults faults;
    ToolSchema out;
    EXPECT_TRUE(out.read(document.root(), "", faults)) << describe_faults(faults, text);
    return out;
}

std::shared_ptr<const Schema> compiled(const std::string& text) {
    Faults faults;
    auto out = Schema::compile(text, faults);
    EXPECT_NE(out, nullptr) << describe_faults(faults, text);
    return out;
}

std::vector<std::string> faults_of(const std::string& text) {
    json::Document document;
    json::ParseError error;
    EXPECT_TRUE(document.parse(text, error)) << error.message;
    Faults faults;
    ToolSchema out;
    EXPECT_FALSE(out.read(document.root(), "/schema", faults));
    std::vector<std::string> told;
    for (const Fault& fault : faults) told.push_back(fault.pointer + " " + fault.message);
    return told;
}

SchemaFaults check(const Schema& schema, const std::string& text) {
    json::Document document;
    json::ParseError error;
    EXPECT_TRUE(document.parse(text, error));
    return schema.check(document.root());
}

// covers: 002-parameter-required
TEST(ToolSchema, IsReadLikeSpec002) {
    const ToolSchema schema = read(kProfile);
    EXPECT_EQ(schema.name, "get_user_profile");
    ASSERT_EQ(schema.parameters.size(), 2u);
    EXPECT_TRUE(schema.parameters[0].required) << "missing means required";
    EXPECT_FALSE(schema.parameters[1].required);
    EXPECT_EQ(schema.returns, "object");
}

// covers: 002-schema-parameters, 002-schema-returns, 002-parameter-type, 002-nuwa-any
TEST(ToolSchema, ConvertsToJsonSchemaAndBack) {
    const ToolSchema schema = read(kProfile);
    EXPECT_EQ(
        schema.input_schema(),
        R"({"type":"object","properties":{"user_id":{"type":"string","description":"The user."},)"
        R"("depth":{"type":"number"}},"required":["user_id"]})");
    EXPECT_EQ(schema.result_schema(), R"({"type":"object"})");
    const auto input = compiled(schema.input_schema());
    const auto result = compiled(schema.result_schema());
    EXPECT_EQ(ToolSchema::of(schema.name, schema.description, input.get(), result.get()).to_json(),
              schema.to_json());
    const auto any = compiled(R"({"properties":{"v":)" + ToolSchema().result_schema() + "}}");
    for (const char* value : {"null", "1.5", "\"a\"", "[[]]", "{\"b\":true}"}) {
        EXPECT_TRUE(check(*any, std::string(R"({"v":)") + value + "}").empty()) << value;
    }
    // Members that are not in the schema are allowed.
    EXPECT_TRUE(check(*input, R"({"user_id":"1","more":true})").empty());
}

TEST(ToolSchema, TakesNextWiderTypeOfJsonSchema) {
    const auto input = compiled(R"({"$defs":{"P":{"type":"object"}},"properties":{
        "i":{"type":"integer"},"p":{"$ref":"#/$defs/P"},"o":{"anyOf":[{"type":"string"},
        {"type":"null"}]},"e":{"enum":["a","b"]},"c":{"const":[1]},"any":true}})");
    const ToolSchema schema = ToolSchema::of("t", "", input.get(), nullptr);
    std::vector<std::string> types;
    for (const ToolParameter& each : schema.parameters)
        types.push_back(each.name + ":" + each.type);
    EXPECT_THAT(types,
                ElementsAre("i:number", "p:object", "o:any", "e:string", "c:array", "any:any"));
    EXPECT_EQ(schema.returns, "any");
}

TEST(ToolSchema, ReportsAllFaultsWithPlaces) {
    EXPECT_THAT(faults_of(R"({"parameters":[{"name":"a","type":"int"},{"name":"a","type":"any",
                    "required":"yes"},{"type":"any"},7],"returns":"void","name":1})"),
                ElementsAre("/schema/name \"name\" must be a string",
                            HasSubstr("/schema/returns a type must be"),
                            HasSubstr("/schema/parameters/0/type a type must be"),
                            "/schema/parameters/1/name two parameters have the name \"a\"",
                            "/schema/parameters/1/required \"required\" must be true or false",
                            "/schema/parameters/2/name \"name\" is missing",
                            "/schema/parameters/3 a parameter must be an object"));
    EXPECT_THAT(faults_of("{}"), ElementsAre("/schema/parameters \"parameters\" is missing"));
}

TEST(ToolSchema, DescribesArgumentFaultsLikeNuwaScript) {
    const auto input = compiled(R"({"type":"object","required":["n"],"properties":{
        "o":{"properties":{"k":{"type":"number"}}},"l":{"items":{"type":"string"}},
        "n":{"type":"number"}}})");
    EXPECT_EQ(
        describe_as_parameters(check(*input, R"({"o":{"k":"x"},"l":["a",1]})")),
        "Parameter 'o.k': Expected number, received string (Expected number, received string); "
        "Parameter 'l.1': Expected string, received number (Expected string, received number); "
        "Parameter 'n': Required (Expected number, received undefined)");
}

}  // namespace
}  // namespace narratoria::tool
