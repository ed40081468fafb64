// SPDX-License-Identifier: Apache-2.0
// Runs the tables of tests/conformance/script with the tools of test_tools.hpp; the tool `later`
// answers only after the script has paused.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/json.hpp"
#include "script/machine.hpp"
#include "script/program.hpp"
#include "support/folders.hpp"
#include "test_tools.hpp"
#include "unit/case_tables.hpp"

namespace narratoria::script {
namespace {

using narratoria::test::Json;
using narratoria::test::json_text;
using narratoria::test::ScriptCase;

std::string list_of(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) out += (out.size() > 1 ? "," : "") + json_text(text);
    return out + "]";
}

Limits limits_of(const ScriptCase& one) {
    Limits limits;
    for (const auto& [key, value] : one.limits) {
        if (key == "steps") limits.steps = value;
        else if (key == "calls") limits.calls = value;
        else if (key == "depth") limits.depth = static_cast<uint32_t>(value);
        else if (key == "source_bytes") limits.source_bytes = value;
        else if (key == "value_bytes") limits.value_bytes = value;
        else if (key == "memory_bytes") limits.memory_bytes = value;
        else if (key == "output_bytes") limits.output_bytes = value;
        else ADD_FAILURE() << "no limit " << key;
    }
    return limits;
}

// The observable behaviour of a script, as text to compare.
std::string report(const std::vector<std::string>& output, const std::string& scope,
                   const std::string& error, const ScriptCase& one,
                   const std::vector<std::string>& called) {
    std::string out =
        "output: " + list_of(output) + "\nscope: " + Json(scope).text() + "\nerror: " + error;
    if (one.has_called) out += "\ncalled: " + list_of(called);
    return out;
}

// `steps` limits each slice; 0 means no limit.
std::string result_of(const ScriptCase& one, uint64_t steps) {
    std::vector<std::string> output;
    std::string scope = "{}";
    Error error;
    test::TestTools tools;
    Machine::Options options;
    options.limits = limits_of(one);
    if (const auto program = Program::compile(one.script, options.limits, error)) {
        Machine machine(program, tools, options);
        if (!one.given.empty()) {
            EXPECT_TRUE(machine.set_scope(Json(one.given).text(), error)) << error.message;
        }
        for (;;) {
            const Machine::State state = machine.run(steps);
            if (state == Machine::State::Finished || state == Machine::State::Failed) break;
            if (state == Machine::State::Ready) continue;
            const Value arguments = machine.call().arguments;
            if (machine.call().tool == "later") machine.resume(*arguments.find("value"));
            else machine.fail(arguments.find("message")->text());
        }
        output = machine.output();
        scope.clear();
        machine.append_scope(scope);
        error = machine.error();
    }
    std::string said;
    if (error) {
        said = error.name + " at " + std::to_string(error.line) + ":" +
               std::to_string(error.column) + ": " + error.message;
    }
    return report(output, scope, said, one, tools.called);
}

void run_cases(const std::string& table) {
    const std::string path =
        narratoria::test::in_source("tests/conformance/script/") + table + ".toml";
    const std::vector<ScriptCase> cases = narratoria::test::script_cases(path);
    EXPECT_FALSE(cases.empty());
    for (const ScriptCase& one : cases) {
        SCOPED_TRACE(table + " " + one.name);
        const std::string expected = report(one.output, one.scope, one.error, one, one.called);
        EXPECT_EQ(result_of(one, 0), expected);
        // Slicing the script must not change its behaviour.
        EXPECT_EQ(result_of(one, 1), expected);
    }
}

// covers: 002-language-white-space
TEST(ScriptLanguage, WhiteSpace) { run_cases("white-space"); }

// covers: 002-language-comments
TEST(ScriptLanguage, Comments) { run_cases("comments"); }

// covers: 002-language-identifiers
TEST(ScriptLanguage, Identifiers) { run_cases("identifiers"); }

// covers: 002-language-numbers
TEST(ScriptLanguage, Numbers) { run_cases("numbers"); }

// covers: 002-language-minus
TEST(ScriptLanguage, Minus) { run_cases("minus"); }

// covers: 002-language-strings
TEST(ScriptLanguage, Strings) { run_cases("strings"); }

// covers: 002-language-keywords
TEST(ScriptLanguage, Keywords) { run_cases("keywords"); }

// covers: 002-language-built-in-names
TEST(ScriptLanguage, BuiltInNames) { run_cases("built-in-names"); }

// covers: 002-language-lexer-error
TEST(ScriptLanguage, LexerError) { run_cases("lexer-error"); }

// covers: 002-language-parser-error
TEST(ScriptLanguage, ParserError) { run_cases("parser-error"); }

// covers: 002-language-positions
TEST(ScriptLanguage, Positions) { run_cases("positions"); }

// covers: 002-language-no-special-names
TEST(ScriptLanguage, NoSpecialNames) { run_cases("no-special-names"); }

// covers: 002-language-statements
TEST(ScriptLanguage, Statements) { run_cases("statements"); }

// covers: 002-language-empty-blocks
TEST(ScriptLanguage, EmptyBlocks) { run_cases("empty-blocks"); }

// covers: 002-language-no-else-if
TEST(ScriptLanguage, NoElseIf) { run_cases("no-else-if"); }

// covers: 002-language-precedence
TEST(ScriptLanguage, Precedence) { run_cases("precedence"); }

// covers: 002-language-associativity
TEST(ScriptLanguage, Associativity) { run_cases("associativity"); }

// covers: 002-language-primary
TEST(ScriptLanguage, Primary) { run_cases("primary"); }

// covers: 002-language-call
TEST(ScriptLanguage, Call) { run_cases("call"); }

// covers: 002-language-trailing-commas
TEST(ScriptLanguage, TrailingCommas) { run_cases("trailing-commas"); }

// covers: 002-language-keys
TEST(ScriptLanguage, Keys) { run_cases("keys"); }

// covers: 002-language-values
TEST(ScriptLanguage, Values) { run_cases("values"); }

// covers: 002-language-equality
TEST(ScriptLanguage, Equality) { run_cases("equality"); }

// covers: 002-language-numbers-only
TEST(ScriptLanguage, NumbersOnly) { run_cases("numbers-only"); }

// covers: 002-language-booleans-only
TEST(ScriptLanguage, BooleansOnly) { run_cases("booleans-only"); }

// covers: 002-language-division
TEST(ScriptLanguage, Division) { run_cases("division"); }

// covers: 002-language-scopes
TEST(ScriptLanguage, Scopes) { run_cases("scopes"); }

// covers: 002-language-for-lists
TEST(ScriptLanguage, ForLists) { run_cases("for-lists"); }

// covers: 002-language-member-access
TEST(ScriptLanguage, MemberAccess) { run_cases("member-access"); }

// covers: 002-language-index
TEST(ScriptLanguage, Index) { run_cases("index"); }

// covers: 002-language-object-order
TEST(ScriptLanguage, ObjectOrder) { run_cases("object-order"); }

// covers: 002-language-undefined-variable
TEST(ScriptLanguage, UndefinedVariable) { run_cases("undefined-variable"); }

// covers: 002-language-if-condition
TEST(ScriptLanguage, IfCondition) { run_cases("if-condition"); }

// covers: 002-language-now
TEST(ScriptLanguage, Now) { run_cases("now"); }

// covers: 002-language-print
TEST(ScriptLanguage, Print) { run_cases("print"); }

// covers: 002-language-unknown-function
TEST(ScriptLanguage, UnknownFunction) { run_cases("unknown-function"); }

// covers: 002-language-format
TEST(ScriptLanguage, Format) { run_cases("format"); }

TEST(ScriptLanguage, LookUp) { run_cases("look-up"); }

// covers: 002-language-printed-form
TEST(ScriptLanguage, PrintedForm) { run_cases("printed-form"); }

// covers: 002-language-parsed-first
TEST(ScriptLanguage, ParsedFirst) { run_cases("parsed-first"); }

// covers: 002-language-result
TEST(ScriptLanguage, Result) { run_cases("result"); }

// covers: 002-language-tool-lookup
TEST(ScriptLanguage, ToolLookup) { run_cases("tool-lookup"); }

// covers: 002-language-tool-arguments
TEST(ScriptLanguage, ToolArguments) { run_cases("tool-arguments"); }

// covers: 002-language-tool-failure
TEST(ScriptLanguage, ToolFailure) { run_cases("tool-failure"); }

// covers: 002-language-limits
TEST(ScriptLanguage, Limits) { run_cases("limits"); }

}  // namespace
}  // namespace narratoria::script
