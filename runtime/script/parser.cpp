// SPDX-License-Identifier: Apache-2.0
// An operator-precedence parser with an explicit stack, so that deeply nested source does not need
// recursion.

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>

#include "script/syntax.hpp"
#include "script/value.hpp"

namespace narratoria::script {

namespace {

// An unfinished construct on the parser's stack.
enum class Open : uint8_t {
    // Blocks.
    Script,
    Then,
    Else,
    Do,
    // Statements that wait for their expression.
    Let,
    Condition,
    Iterable,
    Expression,
    // Brackets.
    Parenthesis,
    List,
    Index,
    Function,
    Object,
    Arguments,           // of a CALL that is an expression
    StatementArguments,  // of a CALL that is a statement
    // Operators that wait for their right side.
    Unary,
    Binary,
};

struct Frame {
    Open open;
    TokenKind operation = TokenKind::End;
    uint8_t precedence = 0;
    uint32_t byte = 0;    // position of the future node in the source
    uint32_t start = 0;   // index of its first part
    uint32_t symbol = 0;  // its name; in an object or CALL: the current key
    uint32_t count = 0;   // elements so far
    uint32_t key_byte = 0;
};

constexpr uint8_t kUnaryPrecedence = 7;

uint8_t precedence_of(TokenKind kind) {
    switch (kind) {
        case TokenKind::Or: return 1;
        case TokenKind::And: return 2;
        case TokenKind::Equal:
        case TokenKind::NotEqual: return 3;
        case TokenKind::Less:
        case TokenKind::LessEqual:
        case TokenKind::Greater:
        case TokenKind::GreaterEqual: return 4;
        case TokenKind::Plus:
        case TokenKind::Minus: return 5;
        case TokenKind::Star:
        case TokenKind::Slash:
        case TokenKind::Percent: return 6;
        default: return 0;
    }
}

// True if the text has an ELSE that an IF follows.
bool has_else_if(std::string_view text) {
    constexpr std::string_view kElse = "ELSE";
    for (size_t at = text.find(kElse); at != std::string_view::npos; at = text.find(kElse, at)) {
        at = std::min(text.find_first_not_of(" \t\r\n", at + kElse.size()), text.size());
        if (text.substr(at).starts_with("IF ")) return true;
    }
    return false;
}

class Parser {
public:
    Parser(Syntax& syntax, const Limits& limits, Error& error)
        : syntax_(syntax),
          nodes_(syntax.nodes),
          lexer_(syntax.text(), syntax.symbols),
          error_(error),
          depth_limit_(std::min(limits.depth == 0 ? Limits::kMaximumDepth : limits.depth,
                                Limits::kMaximumDepth)) {}

    bool run();

private:
    // The construct that is expected next.
    enum class State : uint8_t { Statement, Operand, Operator, Key, ArgumentName, Done, Failed };

    State statement();
    State operand();
    State after_operand();
    State close_expression();
    State key();
    State argument_name();
    State begin_call(Open open);
    State end_call();
    State end_object();
    State end_function();
    State end_block();

    void advance() { lexer_.next(token_); }
    bool is(TokenKind kind) const { return token_.kind == kind; }
    bool expect(TokenKind kind, const char* message) {
        if (!is(kind)) {
            fail(message);
            return false;
        }
        advance();
        return true;
    }
    bool expect_name(uint32_t& symbol, const char* message) {
        symbol = token_.symbol;
        return expect(TokenKind::Identifier, message);
    }
    bool push(const Frame& frame);
    // The source ends in a block.
    State fail_unclosed();
    State fail(const std::string& message) { return fail_at(message, token_.begin); }
    State fail_at(const std::string& message, uint32_t byte);
    State fail_with(const char* name, const std::string& message, uint32_t byte);

    void emit(NodeKind kind, uint32_t byte, uint32_t size, uint32_t value,
              TokenKind operation = TokenKind::End) {
        nodes_.push_back({kind, operation, 0, byte, size, value});
    }
    // Emits a node with the parts from `start` on.
    void emit_from(uint32_t start, NodeKind kind, uint32_t byte, uint32_t value) {
        emit(kind, byte, nodes_.size() - start + 1, value);
    }
    void emit_operator(const Frame& frame);
    uint32_t count() const { return nodes_.size(); }
    uint32_t number(double value);
    void order_parts(Frame& frame, bool orders_integers);

    Syntax& syntax_;
    Nodes& nodes_;
    Lexer lexer_;
    Error& error_;
    uint32_t depth_limit_;
    uint32_t depth_ = 0;
    Token token_;
    std::vector<Frame> frames_;
    std::unordered_map<uint64_t, uint32_t> numbers_;
    std::vector<uint32_t> small_numbers_ = std::vector<uint32_t>(1024);
    std::vector<uint32_t> last_use_;  // last use as a key, by symbol
    uint32_t uses_ = 0;
};

// Counts the nesting depth. Binary operators do not count, because their chains are flat.
bool Parser::push(const Frame& frame) {
    if (frame.open != Open::Binary && frame.open > Open::Script && ++depth_ > depth_limit_) {
        fail_with("DepthLimitError",
                  "The script is nested more than " + std::to_string(depth_limit_) +
                      " levels deep; split it into several statements",
                  frame.byte);
        return false;
    }
    frames_.push_back(frame);
    return true;
}

Parser::State Parser::fail_at(const std::string& message, uint32_t byte) {
    const bool is_incomplete = is(TokenKind::End);
    // Read the rest of the source: in the language, an error of the lexer takes precedence.
    while (!is(TokenKind::Invalid) && !is(TokenKind::End)) advance();
    if (is(TokenKind::Invalid)) {
        error_ = lexer_.error();
        return State::Failed;
    }
    fail_with("ParserError", message, byte);
    error_.message += " at " + std::to_string(error_.line) + ":" + std::to_string(error_.column);
    error_.is_incomplete = is_incomplete;
    return State::Failed;
}

Parser::State Parser::fail_with(const char* name, const std::string& message, uint32_t byte) {
    error_.name = name;
    error_.message = message;
    place(error_, syntax_.text(), byte);
    return State::Failed;
}

bool Parser::run() {
    advance();
    frames_.push_back({Open::Script});
    State state = State::Statement;
    for (;;) {
        switch (state) {
            case State::Statement: state = statement(); break;
            case State::Operand: state = operand(); break;
            case State::Operator: state = after_operand(); break;
            case State::Key: state = key(); break;
            case State::ArgumentName: state = argument_name(); break;
            case State::Done: return true;
            case State::Failed: return false;
        }
    }
}

Parser::State Parser::statement() {
    Frame frame{Open::Expression};
    frame.byte = token_.begin;
    frame.start = count();
    const Open block = frames_.back().open;
    switch (token_.kind) {
        case TokenKind::Let:
            frame.open = Open::Let;
            advance();
            if (!expect_name(frame.symbol, "Expected variable name after 'LET'.") ||
                !expect(TokenKind::Assign, "Expected '=' after variable name.")) {
                return State::Failed;
            }
            break;
        case TokenKind::Call: return begin_call(Open::StatementArguments);
        case TokenKind::If:
            frame.open = Open::Condition;
            advance();
            break;
        case TokenKind::For:
            frame.open = Open::Iterable;
            advance();
            if (!expect_name(frame.symbol, "Expected iterator variable name after 'FOR'.") ||
                !expect(TokenKind::In, "Expected 'IN' after iterator variable.")) {
                return State::Failed;
            }
            break;
        case TokenKind::Else:
            if (block != Open::Then) break;
            frames_.back().open = Open::Else;
            emit(NodeKind::Else, token_.begin, 1, 0);
            advance();
            return State::Statement;
        case TokenKind::EndKeyword:
            if (block == Open::Script) break;
            advance();
            return end_block();
        case TokenKind::End:
            if (block == Open::Script) return State::Done;
            return fail_unclosed();
        default: break;
    }
    frame.key_byte = token_.begin;  // of the expression
    return push(frame) ? State::Operand : State::Failed;
}

Parser::State Parser::fail_unclosed() {
    const Frame& block = frames_.back();
    const char* const keyword = block.open == Open::Do ? "FOR" : "IF";
    fail("Expected 'END' to close '" + std::string(keyword) + "' statement.");
    Error opened;
    place(opened, syntax_.text(), block.byte);
    error_.hint =
        "the " + std::string(keyword) + " of line " + std::to_string(opened.line) + " has no END";
    if (block.open == Open::Else && has_else_if(syntax_.text().substr(block.byte))) {
        error_.hint += "; an IF after ELSE needs an END of its own";
    }
    return State::Failed;
}

Parser::State Parser::end_block() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    --depth_;
    if (frame.open == Open::Do) emit_from(frame.start, NodeKind::For, frame.byte, 0);
    else emit_from(frame.start, NodeKind::If, frame.byte, frame.open == Open::Else);
    return State::Statement;
}

Parser::State Parser::operand() {
    Frame frame{Open::Unary};
    frame.byte = token_.begin;
    frame.start = count();
    switch (token_.kind) {
        case TokenKind::Number:
            emit(NodeKind::Number, token_.begin, 1, number(token_.number));
            break;
        case TokenKind::String: emit(NodeKind::String, token_.begin, 1, token_.symbol); break;
        case TokenKind::True: emit(NodeKind::True, token_.begin, 1, 0); break;
        case TokenKind::False: emit(NodeKind::False, token_.begin, 1, 0); break;
        case TokenKind::Null: emit(NodeKind::Null, token_.begin, 1, 0); break;
        case TokenKind::Identifier:
            frame.symbol = token_.symbol;
            advance();
            if (!is(TokenKind::OpenParenthesis)) {
                emit(NodeKind::Variable, frame.byte, 1, frame.symbol);
                return State::Operator;
            }
            frame.open = Open::Function;
            advance();
            if (!push(frame)) return State::Failed;
            return is(TokenKind::CloseParenthesis) ? end_function() : State::Operand;
        case TokenKind::Call: return begin_call(Open::Arguments);
        case TokenKind::OpenParenthesis:
            frame.open = Open::Parenthesis;
            advance();
            return push(frame) ? State::Operand : State::Failed;
        case TokenKind::OpenBracket:
            advance();
            if (is(TokenKind::CloseBracket)) {
                emit(NodeKind::List, frame.byte, 1, 0);
                break;
            }
            frame.open = Open::List;
            return push(frame) ? State::Operand : State::Failed;
        case TokenKind::OpenBrace:
            frame.open = Open::Object;
            advance();
            return push(frame) ? State::Key : State::Failed;
        case TokenKind::Not:
        case TokenKind::Plus:
        case TokenKind::Minus:
            frame.operation = token_.kind;
            frame.precedence = kUnaryPrecedence;
            advance();
            return push(frame) ? State::Operand : State::Failed;
        default:
            return fail("Expected an expression, got " + describe(token_, syntax_.text()) + ".");
    }
    advance();
    return State::Operator;
}

void Parser::emit_operator(const Frame& frame) {
    const bool is_unary = frame.open == Open::Unary;
    emit_from(frame.start, is_unary ? NodeKind::Unary : NodeKind::Binary, frame.byte, 0);
    nodes_.back().operation = frame.operation;
    if (is_unary) --depth_;
}

Parser::State Parser::after_operand() {
    switch (token_.kind) {
        case TokenKind::OpenBracket: {
            Frame frame{Open::Index};
            frame.byte = token_.begin;
            frame.start = count() - nodes_.back().size;
            advance();
            return push(frame) ? State::Operand : State::Failed;
        }
        case TokenKind::Dot: {
            advance();
            const uint32_t byte = token_.begin;
            uint32_t symbol;
            if (!expect_name(symbol, "Expected property name after '.'.")) return State::Failed;
            emit_from(count() - nodes_.back().size, NodeKind::Member, byte, symbol);
            return State::Operator;
        }
        default: break;
    }
    // Operators associate to the left. Precedence 0 means that no operator follows, so all open
    // ones are complete.
    const uint8_t precedence = precedence_of(token_.kind);
    while (frames_.back().precedence > 0 && frames_.back().precedence >= precedence) {
        emit_operator(frames_.back());
        frames_.pop_back();
    }
    if (precedence == 0) return close_expression();
    Frame frame{Open::Binary};
    frame.operation = token_.kind;
    frame.precedence = precedence;
    frame.byte = token_.begin;
    frame.start = count() - nodes_.back().size;
    advance();
    frames_.push_back(frame);
    return State::Operand;
}

// Called after a complete expression.
Parser::State Parser::close_expression() {
    Frame& frame = frames_.back();
    const auto pop = [&] {
        frames_.pop_back();
        --depth_;
    };
    switch (frame.open) {
        case Open::Let:
            emit_from(frame.start, NodeKind::Let, frame.byte, frame.symbol);
            pop();
            return State::Statement;
        case Open::Expression:
            emit_from(frame.start, NodeKind::Expression, frame.byte, 0);
            pop();
            return State::Statement;
        case Open::Condition:
            if (!expect(TokenKind::Then, "Expected 'THEN' after IF condition.")) {
                return State::Failed;
            }
            emit(NodeKind::Then, frame.key_byte, 1, 0);
            frame.open = Open::Then;
            return State::Statement;
        case Open::Iterable:
            if (!expect(TokenKind::Do, "Expected 'DO' after iterable expression.")) {
                return State::Failed;
            }
            emit(NodeKind::Do, frame.key_byte, 1, frame.symbol);
            frame.open = Open::Do;
            return State::Statement;
        case Open::Parenthesis:
            if (!expect(TokenKind::CloseParenthesis, "Expected ')' after expression.")) {
                return State::Failed;
            }
            pop();
            return State::Operator;
        case Open::Index:
            if (!expect(TokenKind::CloseBracket, "Expected ']' after array index expression.")) {
                return State::Failed;
            }
            emit_from(frame.start, NodeKind::Index, frame.byte, 0);
            pop();
            return State::Operator;
        case Open::List:
            ++frame.count;
            if (is(TokenKind::Comma)) {
                advance();
                if (!is(TokenKind::CloseBracket)) return State::Operand;
            }
            if (!expect(TokenKind::CloseBracket, "Expected ']' after list elements.")) {
                return State::Failed;
            }
            emit_from(frame.start, NodeKind::List, frame.byte, frame.count);
            pop();
            return State::Operator;
        case Open::Function:
            ++frame.count;
            if (is(TokenKind::Comma)) {
                advance();
                if (!is(TokenKind::CloseParenthesis)) return State::Operand;
            }
            return end_function();
        case Open::Object:
            ++frame.count;
            emit_from(count() - nodes_.back().size, NodeKind::Property, frame.key_byte,
                      frame.symbol);
            if (is(TokenKind::Comma)) {
                advance();
                return State::Key;
            }
            return end_object();
        case Open::Arguments:
        case Open::StatementArguments:
            ++frame.count;
            emit_from(count() - nodes_.back().size, NodeKind::Argument, frame.key_byte,
                      frame.symbol);
            if (is(TokenKind::Comma)) {
                advance();
                return State::ArgumentName;
            }
            return end_call();
        default: return State::Failed;
    }
}

Parser::State Parser::end_function() {
    const Frame frame = frames_.back();
    if (!is(TokenKind::CloseParenthesis)) {
        return fail("Expected ')' after function arguments for '" +
                    std::string(syntax_.symbols.text(frame.symbol)) + "'.");
    }
    if (frame.count > 0 && syntax_.symbols.text(frame.symbol) == "NOW") {
        return fail_at("Function NOW() expects no arguments, got " + std::to_string(frame.count),
                       frame.byte);
    }
    advance();
    syntax_.functions.push_back({frame.symbol, frame.count});
    emit_from(frame.start, NodeKind::Function, frame.byte,
              static_cast<uint32_t>(syntax_.functions.size() - 1));
    frames_.pop_back();
    --depth_;
    return State::Operator;
}

// Reads the key of a property, or the end of the object after "{" or a comma.
Parser::State Parser::key() {
    if (is(TokenKind::CloseBrace)) return end_object();
    if (!is(TokenKind::Identifier) && !is(TokenKind::String)) {
        return fail("Expected identifier or string literal as object key.");
    }
    frames_.back().symbol = token_.symbol;
    frames_.back().key_byte = token_.begin;
    advance();
    return expect(TokenKind::Colon, "Expected ':' after object key.") ? State::Operand
                                                                      : State::Failed;
}

Parser::State Parser::end_object() {
    if (!expect(TokenKind::CloseBrace, "Expected '}' after object properties.")) {
        return State::Failed;
    }
    Frame frame = frames_.back();
    order_parts(frame, true);
    emit_from(frame.start, NodeKind::Object, frame.byte, frame.count);
    frames_.pop_back();
    --depth_;
    return State::Operator;
}

Parser::State Parser::begin_call(Open open) {
    Frame frame{open};
    frame.byte = token_.begin;
    frame.start = count();
    advance();
    uint32_t tool;
    if (!expect_name(tool, "Expected tool name after 'CALL'.") ||
        !expect(TokenKind::OpenBrace, "Expected '{' to start arguments block.") || !push(frame)) {
        return State::Failed;
    }
    emit(NodeKind::CallBegin, frame.byte, 1, tool);
    return is(TokenKind::CloseBrace) ? end_call() : State::ArgumentName;
}

Parser::State Parser::argument_name() {
    frames_.back().key_byte = token_.begin;
    if (!expect_name(frames_.back().symbol, "Expected argument name.") ||
        !expect(TokenKind::Colon, "Expected ':' after argument name.")) {
        return State::Failed;
    }
    return State::Operand;
}

Parser::State Parser::end_call() {
    if (!expect(TokenKind::CloseBrace, "Expected '}' to end arguments block.")) {
        return State::Failed;
    }
    Frame frame = frames_.back();
    const uint32_t tool = nodes_[frame.start].value;
    ++frame.start;  // skip CallBegin
    order_parts(frame, false);
    const bool is_statement = frame.open == Open::StatementArguments;
    emit_from(frame.start - 1, is_statement ? NodeKind::CallStatement : NodeKind::Call, frame.byte,
              tool);
    frames_.pop_back();
    --depth_;
    return is_statement ? State::Statement : State::Operator;
}

// Orders properties or arguments: integer-like keys first. Of parts with the same name, one
// remains: it has the place of the first and the value of the last. The other values are never
// evaluated.
void Parser::order_parts(Frame& frame, bool orders_integers) {
    struct Part {
        uint32_t begin, end, symbol, place, number;
        bool is_integer;
    };
    // Most lists need no change, so look for one first, without storing the parts.
    last_use_.resize(syntax_.symbols.size());
    const uint32_t first_use = uses_ + 1;
    bool changes = false;
    uint32_t end = count();
    for (uint32_t i = frame.count; i > 0; --i) {
        const Node& part = nodes_[end - 1];
        end -= part.size;
        uint32_t& use = last_use_[part.value];
        uint32_t ignored;
        changes |= use >= first_use ||
                   (orders_integers && is_integer_key(syntax_.symbols.text(part.value), ignored));
        use = ++uses_;
    }
    if (!changes) return;

    std::vector<Part> parts;
    for (uint32_t i = frame.count, last = count(); i > 0; --i) {
        const Node& node = nodes_[last - 1];
        Part part{last - node.size, last, node.value, i, 0, false};
        part.is_integer =
            orders_integers && is_integer_key(syntax_.symbols.text(node.value), part.number);
        parts.push_back(part);
        last -= node.size;
    }
    // Parts are from last to first, so the first one seen has the value, and later ones the place.
    std::unordered_map<uint32_t, size_t> kept_as;
    size_t kept = 0;
    for (const Part& part : parts) {
        const auto [found, is_new] = kept_as.emplace(part.symbol, kept);
        if (is_new) parts[kept++] = part;
        else parts[found->second].place = part.place;
    }
    parts.resize(kept);
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
        if (a.is_integer != b.is_integer) return a.is_integer;
        return a.is_integer ? a.number < b.number : a.place < b.place;
    });
    std::vector<Node> ordered;
    for (const Part& part : parts) {
        ordered.insert(ordered.end(), nodes_.begin() + part.begin, nodes_.begin() + part.end);
    }
    nodes_.truncate(frame.start);
    for (const Node& node : ordered) nodes_.push_back(node);
    frame.count = static_cast<uint32_t>(kept);
}

uint32_t Parser::number(double value) {
    const auto add = [&] {
        syntax_.numbers.push_back(value);
        return static_cast<uint32_t>(syntax_.numbers.size() - 1);
    };
    if (value < static_cast<double>(small_numbers_.size()) &&
        value == static_cast<double>(static_cast<uint32_t>(value))) {
        uint32_t& known = small_numbers_[static_cast<uint32_t>(value)];
        if (known == 0) known = add() + 1;
        return known - 1;
    }
    const auto found = numbers_.find(std::bit_cast<uint64_t>(value));
    if (found != numbers_.end()) return found->second;
    return numbers_[std::bit_cast<uint64_t>(value)] = add();
}

}  // namespace

bool parse(std::string_view source, const Limits& limits, Syntax& syntax, Error& error) {
    const uint64_t most =
        std::min(limits.source_bytes == 0 ? Limits::kMaximumSource : limits.source_bytes,
                 Limits::kMaximumSource);
    if (source.size() > most) {
        error = {"SizeLimitError",
                 "The script has " + std::to_string(source.size()) + " bytes; the limit is " +
                     std::to_string(most),
                 0, 0};
        return false;
    }
    syntax.source.reserve(source.size() + 1);
    syntax.source.assign(source.begin(), source.end());
    syntax.source.push_back('\0');
    return Parser(syntax, limits, error).run();
}

}  // namespace narratoria::script
