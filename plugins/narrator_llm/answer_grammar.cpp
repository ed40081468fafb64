// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/answer_grammar.hpp"

#include "narrator_llm/json.hpp"

namespace narratoria::llm {
namespace {

// One space at most: a model that may write any number of them may never stop.
constexpr const char* kJson = R"(
object ::= "{" space (text ":" space value ("," space text ":" space value)*)? "}"
array ::= "[" space (value ("," space value)*)? "]"
value ::= (object | array | text | number | "true" | "false" | "null") space
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
text ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\"" space
space ::= " "?
)";

// A literal of the grammar: the text as JSON.
std::string literal(std::string_view text) {
    rapidjson::StringBuffer json;
    JsonWriter writer(json);
    write(writer, text);
    std::string out = "\"";
    for (const char each : std::string_view(json.GetString(), json.GetSize())) {
        if (each == '"' || each == '\\') out += '\\';
        out += each;
    }
    return out + '"';
}

}  // namespace

std::string answer_grammar(const std::vector<ToolDescription>& tools) {
    std::string grammar = R"(root ::= "{\"narrative\": " text )";
    if (!tools.empty()) grammar += R"(", \"tools\": [" (use (", " use)*)? "]" )";
    grammar += R"(", \"choices\": [" (text (", " text)*)? "]}")";
    if (!tools.empty()) {
        grammar +=
            "\n"
            R"(use ::= "{\"tool\": " name ", \"input\": " object "}")"
            "\nname ::= ";
        for (const ToolDescription& tool : tools) {
            if (&tool != &tools.front()) grammar += " | ";
            grammar += literal(tool.name);
        }
    }
    return grammar + kJson;
}

}  // namespace narratoria::llm
