// SPDX-License-Identifier: Apache-2.0
#include "script/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "script/program.hpp"

namespace narratoria::script {
namespace {

std::string described(const std::string& source) {
    Error error;
    EXPECT_FALSE(Program::compile(source, {}, error));
    return describe(error, source);
}

TEST(ScriptError, ShowsTheLineWithACaret) {
    EXPECT_EQ(described("LET a = 1\nIF true PRINT(a) END\n"),
              "ParserError: Expected 'THEN' after IF condition. at 2:9\n"
              "  2 | IF true PRINT(a) END\n"
              "    |         ^\n");
}

TEST(ScriptError, CaretIsBelowItsCharacter) {
    EXPECT_EQ(described("\tLET \xC3\xBC"),
              "LexerError: Unknown character '\xC3\xBC' at line 1, column 6\n"
              "  1 | \tLET \xC3\xBC\n"
              "    | \t    ^\n"
              "  hint: names consist of the letters A to Z and a to z, digits and _\n");
    EXPECT_EQ(described("\n\nLET a = \"\xC3\xBC\" LET\r\n"),
              "ParserError: Expected variable name after 'LET'. at 4:1\n"
              "  4 | \n"
              "    | ^\n");
    EXPECT_THAT(described("PRINT(1)\rPRINT(x"), testing::HasSubstr("1 | PRINT(1) PRINT(x\n"));
}

TEST(ScriptError, ShowsAnExcerptOfALongLine) {
    const std::string shown =
        described("LET a = [" + std::string(1000, '1') + " @ " + std::string(1000, '2') + "]");
    EXPECT_NE(shown.find("\n  1 | …1"), std::string::npos) << shown;
    EXPECT_NE(shown.find("2…\n"), std::string::npos);
    EXPECT_LT(shown.size(), 400u);
}

TEST(ScriptError, HasHintsForSyntaxOfOtherLanguages) {
    const auto hint = [](const std::string& source) {
        const std::string text = described(source);
        const size_t at = text.find("  hint: ");
        return at == std::string::npos ? std::string() : text.substr(at);
    };
    for (const char* number : {"1e999", "12E3", "1.5e-3", "2e+7"}) {
        EXPECT_EQ(hint("PRINT(" + std::string(number) + ")"),
                  "  hint: numbers have no exponent; write all digits\n");
    }
    EXPECT_EQ(hint("PRINT(1ex)"), "");
    EXPECT_EQ(hint("PRINT(e1e3"), "");
    EXPECT_EQ(hint("PRINT(1 e3)"), "");
    EXPECT_EQ(
        hint("\xEF\xBB\xBFPRINT(1)"),
        "  hint: a byte order mark, which editors do not show; save the script as UTF-8 without "
        "one\n");
}

TEST(ScriptError, ErrorWithoutPositionHasNoLine) {
    Limits limits;
    limits.source_bytes = 3;
    Error error;
    EXPECT_FALSE(Program::compile("PRINT(1)", limits, error));
    EXPECT_EQ(
        describe(error, "PRINT(1)"),
        "SizeLimitError: The script has 8 bytes; the limit is 3\n"
        "  hint: the limit is script_source_bytes in [limits] of story.toml and in the host's "
        "limits, and --max-source\n");
}

TEST(ScriptError, InvalidUtf8IsReplacedInTheExcerpt) {
    EXPECT_EQ(described("LET a = \"\xFF\""),
              "LexerError: Invalid UTF-8 at line 1, column 10\n"
              "  1 | LET a = \"\xEF\xBF\xBD\"\n"
              "    |          ^\n");
}

}  // namespace
}  // namespace narratoria::script
