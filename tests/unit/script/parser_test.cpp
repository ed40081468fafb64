// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "script/syntax.hpp"

namespace narratoria::script {
namespace {

Error error_of(const std::string& source) {
    Syntax syntax;
    Error error;
    parse(source, {}, syntax, error);
    return error;
}

TEST(ScriptParser, TruncatedScriptIsIncomplete) {
    for (const char* source : {"LET",
                               "LET a",
                               "LET a =",
                               "LET a = 1 +",
                               "NOT",
                               "CALL",
                               "CALL t",
                               "CALL t {",
                               "CALL t { a",
                               "CALL t { a:",
                               "CALL t { a: 1",
                               "CALL t { a: 1,",
                               "IF true",
                               "IF true THEN",
                               "IF true THEN PRINT(1) ELSE",
                               "FOR",
                               "FOR i",
                               "FOR i IN",
                               "FOR i IN [1]",
                               "FOR i IN [1] DO // and so on",
                               "PRINT(",
                               "PRINT(1",
                               "PRINT(1,",
                               "[",
                               "[1",
                               "[1,",
                               "{",
                               "{a",
                               "{a:",
                               "{a: 1",
                               "{a: 1,",
                               "(1",
                               "a.",
                               "a[",
                               "a[0"}) {
        const Error error = error_of(source);
        EXPECT_EQ(error.name, "ParserError") << source;
        EXPECT_TRUE(error.is_incomplete) << source;
    }
}

TEST(ScriptParser, ScriptWithASyntaxErrorIsNotIncomplete) {
    for (const char* source : {"LET = 5", "1 + )", "END", "ELSE", "IF true PRINT(1)",
                               "IF true THEN ]", "CALL t { a: 1, }", "NOW(1)", "IF true THEN \"a",
                               "PRINT(\"a\n", "FOR i IN [1] DO @", "IF \xFF"}) {
        const Error error = error_of(source);
        EXPECT_TRUE(error) << source;
        EXPECT_FALSE(error.is_incomplete) << source;
    }
    EXPECT_FALSE(error_of("LET a = 1"));
}

}  // namespace
}  // namespace narratoria::script
