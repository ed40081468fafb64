// SPDX-License-Identifier: Apache-2.0
#pragma once
// The syntax tree of a script: a flat array of nodes in postfix order, each node after its parts.
// Neither the parser nor the compiler needs recursion, and a node takes 16 bytes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/block.hpp"
#include "script/error.hpp"
#include "script/lexer.hpp"
#include "script/limits.hpp"
#include "script/symbols.hpp"

namespace narratoria::script {

enum class NodeKind : uint8_t {
    // Expressions. `value` is:
    Null,
    False,
    True,
    Number,    // the index in Syntax::numbers
    String,    // a symbol
    Variable,  // a symbol
    List,      // the number of elements
    Object,    // the number of properties, which are unique and in the order of the language
    Unary,
    Binary,
    Index,
    Member,    // a symbol
    Function,  // the index in Syntax::functions; the arguments precede it
    Call,      // a symbol, the tool; Argument nodes precede it
    // Parts of expressions.
    Property,   // a symbol, the key; its value precedes it
    Argument,   // a symbol, the name; its value precedes it
    CallBegin,  // a symbol, the tool; precedes the arguments, because a tool is looked up first
    // Statements.
    Let,            // a symbol; the value precedes it
    CallStatement,  // like Call
    If,             // condition, Then, statements, [Else, statements]
    For,            // list, Do, statements
    Expression,
    // Parts of statements.
    Then,  // follows the condition
    Else,
    Do,  // a symbol, the variable; follows the list
};

struct Node {
    NodeKind kind;
    TokenKind operation;  // Unary, Binary
    uint16_t reserved;
    uint32_t byte;   // position in the source, for errors
    uint32_t size;   // number of nodes of this subtree, including itself
    uint32_t value;  // see NodeKind
};
static_assert(sizeof(Node) == 16);

// A vector of nodes in a block that grows without copying (base/block.hpp), so that large trees are
// built as fast as the kernel provides memory.
class Nodes {
public:
    Nodes() = default;
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;
    ~Nodes() { free_block(nodes_, size_t{capacity_} * sizeof(Node)); }

    uint32_t size() const { return size_; }
    Node& operator[](uint32_t at) { return nodes_[at]; }
    const Node& operator[](uint32_t at) const { return nodes_[at]; }
    Node& back() { return nodes_[size_ - 1]; }
    const Node* begin() const { return nodes_; }
    const Node* end() const { return nodes_ + size_; }
    void push_back(const Node& node) {
        if (size_ == capacity_) grow();
        nodes_[size_++] = node;
    }
    void truncate(uint32_t size) { size_ = size; }

private:
    void grow() {
        const uint32_t more = capacity_ == 0 ? 64 : capacity_ * 2;
        nodes_ = static_cast<Node*>(
            grow_block(nodes_, size_t{capacity_} * sizeof(Node), size_t{more} * sizeof(Node)));
        capacity_ = more;
    }

    Node* nodes_ = nullptr;
    uint32_t size_ = 0;
    uint32_t capacity_ = 0;
};

struct Syntax {
    // A vector, because moving it does not move its bytes: the symbols are views into them.
    std::vector<char> source;
    Nodes nodes;
    std::vector<double> numbers;  // the distinct number literals
    Symbols symbols;
    struct Function {
        uint32_t name;  // a symbol
        uint32_t arguments;
    };
    std::vector<Function> functions;

    std::string_view text() const { return {source.data(), source.size() - 1}; }
};

// Parses a script. If it returns false, `error` is a LexerError, ParserError, DepthLimitError or
// SizeLimitError.
bool parse(std::string_view source, const Limits& limits, Syntax& syntax, Error& error);

// The name of an expression's kind in error messages and in the JSON tree, such as "VariableExpr".
const char* kind_name(NodeKind kind);

// Appends the tree as one JSON object. Nodes have "kind", "line" and "column"; docs/nuwa-script.md
// lists their other members.
void append_tree(std::string& out, const Syntax& syntax);

}  // namespace narratoria::script
