// SPDX-License-Identifier: Apache-2.0
// The syntax tree as JSON. The nodes have the names of the language's first implementation, so that
// programs can read the trees of both.

#include <cmath>

#include "base/json/writer.hpp"
#include "script/number_text.hpp"
#include "script/positions.hpp"
#include "script/syntax.hpp"

namespace narratoria::script {

namespace {

const char* operator_text(TokenKind kind) {
    switch (kind) {
        case TokenKind::Or: return "OR";
        case TokenKind::And: return "AND";
        case TokenKind::Not: return "NOT";
        case TokenKind::Equal: return "==";
        case TokenKind::NotEqual: return "!=";
        case TokenKind::Less: return "<";
        case TokenKind::LessEqual: return "<=";
        case TokenKind::Greater: return ">";
        case TokenKind::GreaterEqual: return ">=";
        case TokenKind::Plus: return "+";
        case TokenKind::Minus: return "-";
        case TokenKind::Star: return "*";
        case TokenKind::Slash: return "/";
        case TokenKind::Percent: return "%";
        default: return "";
    }
}

// Writes a node by pushing its parts on an explicit stack in reverse order, so that a deep tree
// does not need recursion.
class TreeWriter {
public:
    TreeWriter(std::string& out, const Syntax& syntax)
        : out_(out), syntax_(syntax), positions_(syntax.text()) {}

    void write() {
        out_ += R"({"kind":"Script","statements":[)";
        text("]}");
        statements(syntax_.nodes.size(), 0);
        while (!todo_.empty()) {
            const Item item = todo_.back();
            todo_.pop_back();
            if (item.literal != nullptr) out_ += item.literal;
            else if (item.node != kNoNode) node(item.node);
            else if (item.symbol != kNoNode) key(item.symbol);
        }
    }

private:
    static constexpr uint32_t kNoNode = UINT32_MAX;
    struct Item {
        const char* literal;
        uint32_t symbol;
        uint32_t node;
    };

    // Push items in reverse order: the last part of a node first.
    void text(const char* literal) { todo_.push_back({literal, kNoNode, kNoNode}); }
    void part(uint32_t node) { todo_.push_back({nullptr, kNoNode, node}); }
    void key_of(uint32_t symbol) { todo_.push_back({nullptr, symbol, kNoNode}); }

    void key(uint32_t symbol) {
        json::append_string(out_, syntax_.symbols.text(symbol));
        out_ += ':';
    }
    uint32_t before(uint32_t node) const { return node - syntax_.nodes[node].size; }

    // Pushes the statements in the nodes [begin, end).
    void statements(uint32_t end, uint32_t begin) {
        for (bool is_last = true; end > begin; is_last = false) {
            if (!is_last) text(",");
            part(end - 1);
            end -= syntax_.nodes[end - 1].size;
        }
    }

    void name(const char* member, uint32_t symbol) {
        out_ += ",\"";
        out_ += member;
        out_ += "\":";
        json::append_string(out_, syntax_.symbols.text(symbol));
    }

    void begin(const char* kind, uint32_t byte) {
        const json::Position position = positions_.of(byte);
        out_ += R"({"kind":")";
        out_ += kind;
        out_ += R"(","line":)";
        json::append_number(out_, static_cast<int64_t>(position.line));
        out_ += R"(,"column":)";
        json::append_number(out_, static_cast<int64_t>(position.column));
    }

    void node(uint32_t at) {
        const Node& self = syntax_.nodes[at];
        switch (self.kind) {
            case NodeKind::Property:
            case NodeKind::Argument:
                part(at - 1);
                key_of(self.value);
                return;
            default: begin(kind_name(self.kind), self.byte);
        }
        switch (self.kind) {
            case NodeKind::Null: out_ += ",\"value\":null}"; break;
            case NodeKind::False: out_ += ",\"value\":false}"; break;
            case NodeKind::True: out_ += ",\"value\":true}"; break;
            case NodeKind::Number:
                out_ += ",\"value\":";
                if (std::isfinite(syntax_.numbers[self.value])) {
                    append_number_text(out_, syntax_.numbers[self.value]);
                } else {
                    out_ += "null";
                }
                out_ += '}';
                break;
            case NodeKind::String:
                name("value", self.value);
                out_ += '}';
                break;
            case NodeKind::Variable:
                name("name", self.value);
                out_ += '}';
                break;
            case NodeKind::List:
                out_ += ",\"elements\":[";
                text("]}");
                statements(at, at + 1 - self.size);
                break;
            case NodeKind::Object:
                out_ += ",\"properties\":{";
                text("}}");
                statements(at, at + 1 - self.size);
                break;
            case NodeKind::Unary:
                out_ += ",\"operator\":\"";
                out_ += operator_text(self.operation);
                out_ += "\",\"operand\":";
                text("}");
                part(at - 1);
                break;
            case NodeKind::Binary:
                out_ += ",\"operator\":\"";
                out_ += operator_text(self.operation);
                out_ += "\",\"left\":";
                text("}");
                part(at - 1);
                text(",\"right\":");
                part(before(at - 1));
                break;
            case NodeKind::Index:
                out_ += ",\"object\":";
                text("}");
                part(at - 1);
                text(",\"index\":");
                part(before(at - 1));
                break;
            case NodeKind::Member:
                name("property", self.value);
                out_ += ",\"object\":";
                text("}");
                part(at - 1);
                break;
            case NodeKind::Function:
                name("functionName", syntax_.functions[self.value].name);
                out_ += ",\"arguments\":[";
                text("]}");
                statements(at, at + 1 - self.size);
                break;
            case NodeKind::Call:
            case NodeKind::CallStatement:
                name("toolName", self.value);
                out_ += ",\"arguments\":{";
                text("}}");
                statements(at, at + 2 - self.size);  // the nodes after CallBegin
                break;
            case NodeKind::Let:
                name("variableName", self.value);
                out_ += ",\"value\":";
                text("}");
                part(at - 1);
                break;
            case NodeKind::Expression:
                out_ += ",\"expression\":";
                text("}");
                part(at - 1);
                break;
            case NodeKind::If: {
                uint32_t end = at;
                text("]}");
                if (self.value != 0) {
                    const uint32_t marker = marker_before(end, NodeKind::Else);
                    statements(end, marker + 1);
                    text("],\"elseBlock\":[");
                    end = marker;
                }
                const uint32_t marker = marker_before(end, NodeKind::Then);
                statements(end, marker + 1);
                text(",\"thenBlock\":[");
                part(marker - 1);
                out_ += ",\"condition\":";
                break;
            }
            case NodeKind::For: {
                const uint32_t marker = marker_before(at, NodeKind::Do);
                name("iteratorVariable", syntax_.nodes[marker].value);
                text("]}");
                statements(at, marker + 1);
                text(",\"loopBlock\":[");
                part(marker - 1);
                out_ += ",\"iterable\":";
                break;
            }
            default: break;
        }
    }

    uint32_t marker_before(uint32_t end, NodeKind kind) const {
        while (syntax_.nodes[end - 1].kind != kind) end -= syntax_.nodes[end - 1].size;
        return end - 1;
    }

    std::string& out_;
    const Syntax& syntax_;
    const Positions positions_;
    std::vector<Item> todo_;
};

}  // namespace

const char* kind_name(NodeKind kind) {
    switch (kind) {
        case NodeKind::Null:
        case NodeKind::False:
        case NodeKind::True:
        case NodeKind::Number:
        case NodeKind::String: return "LiteralExpr";
        case NodeKind::Variable: return "VariableExpr";
        case NodeKind::List: return "ListLiteralExpr";
        case NodeKind::Object: return "ObjectLiteralExpr";
        case NodeKind::Unary: return "UnaryOpExpr";
        case NodeKind::Binary: return "BinaryOpExpr";
        case NodeKind::Index: return "ArrayIndexExpression";
        case NodeKind::Member: return "MemberAccessExpr";
        case NodeKind::Function: return "FunctionCallExpr";
        case NodeKind::Call: return "CallExpr";
        case NodeKind::Let: return "LetStatement";
        case NodeKind::CallStatement: return "CallStatement";
        case NodeKind::If: return "IfStatement";
        case NodeKind::For: return "ForStatement";
        case NodeKind::Expression: return "ExpressionStatement";
        default: return "";
    }
}

void append_tree(std::string& out, const Syntax& syntax) { TreeWriter(out, syntax).write(); }

}  // namespace narratoria::script
