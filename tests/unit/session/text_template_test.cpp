// SPDX-License-Identifier: Apache-2.0
#include "session/text_template.hpp"

#include <gtest/gtest.h>

#include <string>

namespace narratoria::session {
namespace {

// "text|<name>|text", or "problem at BYTE: message".
std::string parsed(std::string_view text) {
    TemplateProblem problem;
    const auto parts = parse_template(text, problem);
    if (!parts) return "problem at " + std::to_string(problem.byte) + ": " + problem.message;
    std::string out;
    for (const TemplatePart& part : *parts) {
        if (!out.empty()) out += '|';
        out += part.is_name ? "<" + part.text + ">" : part.text;
    }
    return out;
}

TEST(TextTemplate, ConsistsOfTextAndNames) {
    EXPECT_EQ(parsed(""), "");
    EXPECT_EQ(parsed("plain"), "plain");
    EXPECT_EQ(parsed("You light {thing}."), "You light |<thing>|.");
    EXPECT_EQ(parsed("{a}{_B9}"), "<a>|<_B9>");
}

TEST(TextTemplate, JoinsEscapedBracesWithAdjacentText) {
    EXPECT_EQ(parsed("a{{b}}c"), "a{b}c");
    EXPECT_EQ(parsed("{{{a}}}"), "{|<a>|}");
}

TEST(TextTemplate, ReportsThePositionOfAWrongBrace) {
    EXPECT_EQ(parsed("ab}").substr(0, 14), "problem at 2: ");
    EXPECT_EQ(parsed("ab{c").substr(0, 14), "problem at 2: ");
    EXPECT_EQ(parsed("a{b{c}").substr(0, 14), "problem at 1: ");
    EXPECT_NE(parsed("{}").find("{} has no name"), std::string::npos);
    for (const char* name : {"{1a}", "{a b}", "{é}", "{a-b}"}) {
        EXPECT_NE(parsed(name).find("must have only letters, digits and _"), std::string::npos)
            << name;
    }
}

TEST(TextTemplate, ExpandsBoundNamesOnce) {
    const Bindings bindings{{"a", "{b}"}, {"b", "B"}};
    EXPECT_EQ(expand_template("{a} and {b}", look_up_in(bindings)), "{b} and B");
    EXPECT_EQ(expand_template("{c} {{a}}", look_up_in(bindings)), "{c} {a}")
        << "an unbound name is kept";
    EXPECT_EQ(expand_template("{a} {", look_up_in(bindings)), "{a} {")
        << "an invalid template is kept unchanged";
}

TEST(TextTemplate, SaysSomethingElseInPlaceOfAnEmptyText) {
    const Bindings bindings{{"a", "A"}, {"none", ""}, {"/at/{a}", "here"}};
    const auto expanded = [&](std::string_view text) {
        return expand_template(text, look_up_in(bindings));
    };
    EXPECT_EQ(expanded("{a|x} {none|nothing at all} {b|B|} {none|}."), "A nothing at all B| .");
    EXPECT_EQ(expanded("{/at/{a}|nowhere}"), "here");
    EXPECT_EQ(expand_pointer("/at/{none|c}", look_up_in(bindings)), "/at/c");
    EXPECT_FALSE(is_one_name("{a|x}")) << "it is always a text";
    EXPECT_EQ(parsed("{/at/{a}|no {a}}"),
              "problem at 0: what follows the | is plain text, without names");
    EXPECT_EQ(parsed("{/at/{a|b}/c}"), "</at/{a|b}/c>");
    EXPECT_NE(parsed("{|x}").find("{} has no name"), std::string::npos);
}

}  // namespace
}  // namespace narratoria::session
