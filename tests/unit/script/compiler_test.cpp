// SPDX-License-Identifier: Apache-2.0
// The compiler resolves at compile time the scopes that the language defines at run time. Random
// scripts must behave as in a plain interpreter that keeps one map per scope.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "script/machine.hpp"
#include "test_tools.hpp"

namespace narratoria::script {
namespace {

struct Statement {
    enum Kind { Let, Print, If, For } kind;
    std::string name;  // Let, Print, For; If: the variable compared with `value`
    std::string from;  // Let: the variable to read, or empty
    int value = 0;     // Let: the addend; If: the comparand; For: the rounds
    std::vector<Statement> block, other;
};

class Scripts {
public:
    explicit Scripts(unsigned seed) : random_(seed) {}

    std::vector<Statement> block(int depth) {
        std::vector<Statement> out(1 + below(4));
        for (Statement& each : out) each = statement(depth);
        return out;
    }

private:
    size_t below(size_t end) { return random_() % end; }
    std::string name() { return std::string(1, static_cast<char>('a' + below(4))); }

    Statement statement(int depth) {
        Statement out;
        const size_t kind = below(depth > 0 ? 10 : 6);
        out.kind = kind < 3   ? Statement::Let
                   : kind < 6 ? Statement::Print
                   : kind < 8 ? Statement::If
                              : Statement::For;
        out.name = name();
        out.value = static_cast<int>(below(4));
        if (out.kind == Statement::Let && below(3) == 0) out.from = name();
        if (out.kind == Statement::If || out.kind == Statement::For) out.block = block(depth - 1);
        if (out.kind == Statement::If && below(2) == 0) out.other = block(depth - 1);
        return out;
    }

    std::mt19937 random_;
};

void write(std::string& out, const std::vector<Statement>& block) {
    for (const Statement& each : block) {
        const std::string value = std::to_string(each.value);
        switch (each.kind) {
            case Statement::Let:
                out += "LET " + each.name + " = " + (each.from.empty() ? "" : each.from + " + ") +
                       value + "\n";
                break;
            case Statement::Print: out += "PRINT([" + each.name + "])\n"; break;
            case Statement::If:
                out += "IF " + each.name + " % 2 == " + value + " % 2 THEN\n";
                write(out, each.block);
                if (!each.other.empty()) {
                    out += "ELSE\n";
                    write(out, each.other);
                }
                out += "END\n";
                break;
            case Statement::For:
                out += "FOR " + each.name + " IN [";
                for (int i = 0; i < each.value; ++i) out += std::to_string(i) + ",";
                out += "] DO\n";
                write(out, each.block);
                out += "END\n";
                break;
        }
    }
}

class Interpreter {
public:
    std::vector<std::string> output;
    std::string undefined;  // the undefined variable that ended the script

    void run(const std::vector<Statement>& block) {
        scopes_.emplace_back();
        execute(block);
    }

private:
    std::optional<int> read(const std::string& name) {
        for (size_t i = scopes_.size(); i-- > 0;) {
            const auto found = scopes_[i].find(name);
            if (found != scopes_[i].end()) return found->second;
        }
        undefined = name;
        return std::nullopt;
    }

    bool execute(const std::vector<Statement>& block) {
        for (const Statement& each : block) {
            switch (each.kind) {
                case Statement::Let: {
                    const auto from = each.from.empty() ? 0 : read(each.from);
                    if (!from) return false;
                    scopes_.back()[each.name] = *from + each.value;
                    break;
                }
                case Statement::Print: {
                    const auto value = read(each.name);
                    if (!value) return false;
                    output.push_back("[" + std::to_string(*value) + "]");
                    break;
                }
                case Statement::If: {
                    const auto value = read(each.name);
                    if (!value) return false;
                    if (!execute(*value % 2 == each.value % 2 ? each.block : each.other)) {
                        return false;
                    }
                    break;
                }
                case Statement::For:
                    for (int i = 0; i < each.value; ++i) {
                        scopes_.push_back({{each.name, i}});
                        const bool goes_on = execute(each.block);
                        scopes_.pop_back();
                        if (!goes_on) return false;
                    }
                    break;
            }
        }
        return true;
    }

    std::vector<std::map<std::string, int>> scopes_;
};

TEST(Compiler, RandomScriptsMatchAPlainInterpreter) {
    size_t finished = 0;
    for (unsigned seed = 0; seed < 5000; ++seed) {
        const std::vector<Statement> block = Scripts(seed).block(4);
        std::string source;
        write(source, block);
        Interpreter expected;
        expected.run(block);

        test::TestTools tools;
        Error error;
        const auto program = Program::compile(source, {}, error);
        ASSERT_TRUE(program) << source << error.message;
        Machine machine(program, tools, {});
        machine.run();
        ASSERT_EQ(machine.output(), expected.output) << source;
        ASSERT_EQ(
            machine.error().message,
            expected.undefined.empty() ? "" : "Variable '" + expected.undefined + "' not defined.")
            << source;
        finished += expected.undefined.empty();
    }
    EXPECT_GT(finished, 250u) << "most scripts must not end at once";
}

}  // namespace
}  // namespace narratoria::script
