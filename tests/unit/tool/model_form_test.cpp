// SPDX-License-Identifier: Apache-2.0
#include "tool/model_form.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace narratoria::tool {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Schema> schema(std::string_view text) {
    Faults faults;
    auto out = Schema::compile(text, faults);
    EXPECT_NE(out, nullptr) << text;
    return out;
}

Definition dice(std::string_view input) {
    Definition out;
    out.name = "dice";
    out.description = "Rolls";
    if (!input.empty()) out.input = schema(input);
    return out;
}

std::string form_of(const Definition& definition, ModelForm form = ModelForm::Openai) {
    std::string out;
    std::string why;
    if (append_for_model(out, definition, form, why)) {
        EXPECT_EQ(why, "");
        return out;
    }
    EXPECT_EQ(out, "");
    return why;
}

TEST(ModelForm, WritesOpenaiAndModelContextProtocol) {
    Definition tool = dice(R"({"type":"object","required":["sides"]})");
    tool.result = schema(R"({"type":"object"})");
    EXPECT_EQ(form_of(tool),
              R"({"type":"function","function":{"name":"dice","description":"Rolls",)"
              R"("parameters":{"type":"object","required":["sides"]}}})");
    EXPECT_EQ(
        form_of(tool, ModelForm::Mcp),
        R"({"name":"dice","description":"Rolls",)"
        R"("inputSchema":{"type":"object","required":["sides"]},"outputSchema":{"type":"object"}})");
    // In the protocol, structured results must be objects.
    for (const char* const text : {"true", "{}", R"({"type":["object","null"]})"}) {
        tool.result = schema(text);
        EXPECT_THAT(form_of(tool, ModelForm::Mcp), Not(HasSubstr("outputSchema"))) << text;
    }
}

TEST(ModelForm, InputIsAlwaysObject) {
    const auto input = [](const char* text) {
        std::string form = form_of(dice(text), ModelForm::Mcp);
        const std::string before = R"({"name":"dice","description":"Rolls","inputSchema":)";
        EXPECT_THAT(form, testing::StartsWith(before));
        form.erase(0, before.size());
        form.pop_back();
        return form;
    };
    EXPECT_EQ(input(""), R"({"type":"object"})");
    EXPECT_EQ(input("true"), R"({"type":"object"})");
    EXPECT_EQ(input("{}"), R"({"type":"object"})");
    EXPECT_EQ(input(R"({ "minProperties" : 1 })"), R"({"type":"object","minProperties":1})");
    EXPECT_EQ(input(R"({"minProperties":1,"type":["null","object"],"maxProperties":2})"),
              R"({"minProperties":1,"type":"object","maxProperties":2})");
}

TEST(ModelForm, ReportsWhyToolHasNoForm) {
    EXPECT_THAT(form_of(dice("false")), HasSubstr("input schema is false"));
    EXPECT_THAT(form_of(dice(R"({"type":"string"})")),
                HasSubstr(R"(is "string" but must be "object")"));
    EXPECT_THAT(form_of(dice(R"({"type":["string","null"]})")), HasSubstr(R"(["string","null"])"));
    Definition tool = dice("");
    tool.name = "bell.sh";
    EXPECT_EQ(form_of(tool),
              "the name of an OpenAI function must consist of 1 to 64 letters, digits, _ and -");
    EXPECT_THAT(form_of(tool, ModelForm::Mcp), HasSubstr("\"bell.sh\""));
    tool.name = std::string(65, 'a');
    EXPECT_THAT(form_of(tool), HasSubstr("1 to 64"));
    EXPECT_THAT(form_of(tool, ModelForm::Mcp), HasSubstr(tool.name));
    tool.name = std::string(129, 'a');
    EXPECT_THAT(form_of(tool, ModelForm::Mcp), HasSubstr("1 to 128 letters, digits, _, . and -"));
}

}  // namespace
}  // namespace narratoria::tool
