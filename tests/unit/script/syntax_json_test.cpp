// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "conformance/json.hpp"
#include "script/syntax.hpp"

namespace narratoria::script {
namespace {

using narratoria::test::Json;

std::string tree(const std::string& source) {
    Syntax syntax;
    Error error;
    EXPECT_TRUE(parse(source, {}, syntax, error)) << error.message;
    std::string out;
    append_tree(out, syntax);
    return out;
}

TEST(SyntaxJson, EachLiteralIsWrittenAsItself) {
    const Json list = Json(tree("PRINT([0, false, 1, true, 2, null, \"a\", {}, [], x])"));
    const Json elements = list["statements"][0]["expression"]["arguments"][0]["elements"];
    ASSERT_EQ(elements.size(), 10u);
    EXPECT_EQ(elements[0]["value"].integer(), 0);
    EXPECT_FALSE(elements[1]["value"].boolean());
    EXPECT_TRUE(elements[3]["value"].boolean());
    EXPECT_EQ(elements[4]["value"].integer(), 2);
}

TEST(SyntaxJson, HasEveryKindOfNode) {
    EXPECT_EQ(Json(tree("LET x = [1, \"a\"]\nCALL t {a: x[0]}\nIF NOT true THEN PRINT(null) ELSE\n"
                        "FOR i IN {b: -x.c}.b DO 1 + 2 * CALL u {} END END")),
              Json(R"({"kind":"Script","statements":[
{"kind":"LetStatement","line":1,"column":1,"variableName":"x","value":
  {"kind":"ListLiteralExpr","line":1,"column":9,"elements":[
    {"kind":"LiteralExpr","line":1,"column":10,"value":1},
    {"kind":"LiteralExpr","line":1,"column":13,"value":"a"}]}},
{"kind":"CallStatement","line":2,"column":1,"toolName":"t","arguments":{"a":
  {"kind":"ArrayIndexExpression","line":2,"column":13,
   "object":{"kind":"VariableExpr","line":2,"column":12,"name":"x"},
   "index":{"kind":"LiteralExpr","line":2,"column":14,"value":0}}}},
{"kind":"IfStatement","line":3,"column":1,
 "condition":{"kind":"UnaryOpExpr","line":3,"column":4,"operator":"NOT",
   "operand":{"kind":"LiteralExpr","line":3,"column":8,"value":true}},
 "thenBlock":[{"kind":"ExpressionStatement","line":3,"column":18,"expression":
   {"kind":"FunctionCallExpr","line":3,"column":18,"functionName":"PRINT","arguments":[
     {"kind":"LiteralExpr","line":3,"column":24,"value":null}]}}],
 "elseBlock":[{"kind":"ForStatement","line":4,"column":1,"iteratorVariable":"i",
   "iterable":{"kind":"MemberAccessExpr","line":4,"column":20,"property":"b","object":
     {"kind":"ObjectLiteralExpr","line":4,"column":10,"properties":{"b":
       {"kind":"UnaryOpExpr","line":4,"column":14,"operator":"-","operand":
         {"kind":"MemberAccessExpr","line":4,"column":17,"property":"c","object":
           {"kind":"VariableExpr","line":4,"column":15,"name":"x"}}}}}},
   "loopBlock":[{"kind":"ExpressionStatement","line":4,"column":25,"expression":
     {"kind":"BinaryOpExpr","line":4,"column":27,"operator":"+",
      "left":{"kind":"LiteralExpr","line":4,"column":25,"value":1},
      "right":{"kind":"BinaryOpExpr","line":4,"column":31,"operator":"*",
        "left":{"kind":"LiteralExpr","line":4,"column":29,"value":2},
        "right":{"kind":"CallExpr","line":4,"column":33,"toolName":"u","arguments":{}}}}}]}]}
]})"));
}

TEST(SyntaxJson, EmptyScriptHasNoStatements) {
    EXPECT_EQ(tree(" // nothing"), R"({"kind":"Script","statements":[]})");
}

TEST(SyntaxJson, PropertiesFollowTheLanguagesOrder) {
    const Json object =
        Json(tree(R"({b: 1, "2": 2, "1": 3, b: 4})"))["statements"][0]["expression"];
    EXPECT_EQ(object["properties"].keys(), (std::vector<std::string>{"1", "2", "b"}));
    EXPECT_EQ(object["properties"]["b"]["value"].integer(), 4);
}

TEST(SyntaxJson, LongChainsAndLinesAreWritten) {
    std::string source = "LET x = 1";
    for (int i = 0; i < 20000; ++i) source += " + 1";
    const std::string text = tree(source);
    EXPECT_NE(text.find("\"line\":1,\"column\":80007,"), std::string::npos);
}

}  // namespace
}  // namespace narratoria::script
