// SPDX-License-Identifier: Apache-2.0
#include "session/prompt_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace narratoria::session {
namespace {

// The captures as "name=value name=value", "no match", or the pattern's fault.
std::string matched(std::string_view pattern_text, std::string_view prompt) {
    TemplateProblem problem;
    const auto pattern = PromptPattern::compile(pattern_text, problem);
    if (!pattern) return problem.message;
    Bindings captures;
    const NormalizedPrompt normalized(prompt);
    if (!pattern->match(normalized, captures)) return "no match";
    std::string out;
    for (const Binding& each : captures) {
        if (!out.empty()) out += ' ';
        out.append(each.name).append("=").append(each.value);
    }
    return out;
}

TEST(NormalizedPrompt, IgnoresCaseSpacesAndFinalPunctuation) {
    EXPECT_EQ(NormalizedPrompt("  Light \t THE  torch ! ?. ").text(), "light the torch");
    EXPECT_EQ(NormalizedPrompt(" .! ").text(), "");
    EXPECT_EQ(NormalizedPrompt("a.b").text(), "a.b") << "inner dots are kept";
    EXPECT_EQ(NormalizedPrompt("\u00A0ÄÖ\u3000ÉTÉ Ж Σς \u00A0!").text(), "äö été ж σσ");
}

TEST(PromptPattern, MatchesTheWholePrompt) {
    EXPECT_EQ(matched("Look  around.", "look around"), "");
    EXPECT_EQ(matched("look", "look around"), "no match");
    EXPECT_EQ(matched("around", "look around"), "no match");
}

TEST(PromptPattern, CapturesTheOriginalBytes) {
    EXPECT_EQ(matched("light {thing} please", "LIGHT the  OLD Torch please!"),
              "thing=the  OLD Torch");
    // Case folding changes the length: U+1E9E has three bytes and folds to two; U+023A has two and
    // folds to three.
    EXPECT_EQ(matched("öffne {x} \u2C65", "ÖFFNE \u1E9E\u1E9E die Tür \u023A"),
              "x=\u1E9E\u1E9E die Tür");
    EXPECT_EQ(matched("{who} says {what}", "Ann says: hi"), "no match");
    EXPECT_EQ(matched("{who} says {what}", "Ann says hi says Bob"), "who=Ann what=hi says Bob");
}

TEST(PromptPattern, CapturesAtLeastOneCharacterAndAsFewAsPossible) {
    EXPECT_EQ(matched("{a}{b}", "é!x"), "a=é b=!x");
    EXPECT_EQ(matched("{a}{b}", "x"), "no match");
    EXPECT_EQ(matched("take {a}", "take"), "no match");
    EXPECT_EQ(matched("{a} x {b}", "1 x 2 x 3"), "a=1 b=2 x 3");
}

TEST(PromptPattern, RefusesInvalidCaptures) {
    EXPECT_NE(matched("say {prompt}", "x").find("cannot be captured"), std::string::npos);
    EXPECT_NE(matched("{a} {a}", "x").find("captured twice"), std::string::npos);
    EXPECT_NE(matched(" .!", "x").find("needs more than"), std::string::npos);
    EXPECT_NE(matched("{a", "x").find("write {{"), std::string::npos);
}

}  // namespace
}  // namespace narratoria::session
