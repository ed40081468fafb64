// SPDX-License-Identifier: Apache-2.0
// Compiles in one pass over the nodes, which are in the order of evaluation. Names become places in
// the frame.
//
// IF does not open a scope, so a LET inside it may or may not add a variable to the loop's scope.
// The compiler tracks whether each variable is unassigned, assigned or perhaps assigned at this
// point. Only the last case has a cost at run time: a check whether the place is defined, and a
// read of the outer scope if it is not. Such places are made undefined before every round.

#include <algorithm>
#include <optional>

#include "script/positions.hpp"
#include "script/program.hpp"
#include "script/syntax.hpp"

namespace narratoria::script {

class Compiler {
public:
    Compiler(const Syntax& syntax, Program& program) : syntax_(syntax), program_(program) {}

    void run();

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    // Marks the number of a temporary value; place_temporaries() replaces it by a place.
    static constexpr uint32_t kTemporaryPlace = 1u << 30;

    enum class Assigned : uint8_t { No, Perhaps, Yes };

    struct Binding {  // a name in one scope
        uint32_t symbol;
        uint32_t place;
        uint32_t outer;  // the binding of the same name in an outer scope
        Assigned assigned;
        bool is_cleared;  // made undefined before every round
        uint32_t mark;    // its last position in a list of undo(), plus one
    };
    struct Change {
        uint32_t binding;
        Assigned before;
    };
    struct Branch {  // a variable that an alternative of IF assigned
        uint32_t binding;
        Assigned after;
    };
    struct Operand {
        uint32_t place;
        bool is_temporary;
        uint32_t producer;  // the instruction with this result, or kNone; assign() may retarget it
    };
    struct Block {
        uint32_t charge;  // the instruction to complete
        uint32_t cost;
        size_t changes;  // size of changes_ when the block began
        // For IF.
        uint32_t jump = kNone;
        std::vector<Branch> then;
        // For FOR.
        uint32_t loop = 0;
        uint32_t first_binding = 0;
        uint32_t free_place = 0;
        std::vector<uint32_t> cleared;
    };

    void place_constants();
    uint32_t string(uint32_t symbol);
    uint32_t emit(Operation operation, uint32_t byte, uint32_t a = 0, uint32_t b = 0,
                  uint32_t c = 0);
    uint32_t here() const { return static_cast<uint32_t>(program_.code_.size()); }

    void push(uint32_t place) { operands_.push_back({place, false, kNone}); }
    Operand pop();
    uint32_t temporary();
    uint32_t variable(uint32_t places);
    void place_temporaries();
    void push_result(uint32_t producer);
    uint32_t take_operands(uint32_t count, uint32_t& first);

    void node(uint32_t at);
    void read(uint32_t symbol, uint32_t byte);
    void call_function(const Node& node);
    void assign(uint32_t symbol, uint32_t byte);
    void end_call(uint32_t at);
    void begin_then(const Node& node);
    void begin_else(const Node& node);
    void end_if();
    void begin_for(const Node& node);
    void end_for(const Node& node);
    void begin_block(uint32_t charge);
    void charge(uint32_t instruction);

    uint32_t bind(uint32_t symbol, uint32_t place);
    void set(uint32_t binding, Assigned assigned);
    std::vector<Branch> undo(size_t changes);
    Branch* find(std::vector<Branch>& branch, uint32_t binding);

    const Syntax& syntax_;
    Program& program_;
    // By symbol; kNone: none.
    std::vector<uint32_t> strings_;
    std::vector<uint32_t> constants_;
    uint32_t first_number_ = 0;
    std::vector<uint32_t> innermost_;  // bindings, by symbol; kNone: none
    std::vector<Binding> bindings_;
    uint32_t loop_bindings_ = 0;   // bindings before this one belong to the script's own scope
    std::vector<uint32_t> loops_;  // blocks that are loops
    std::vector<Change> changes_;
    std::vector<Operand> operands_;
    std::vector<Block> blocks_;
    std::optional<Positions> positions_;  // of the source; created by the first CALL
    uint32_t next_place_ = 0;             // the first free place after the variables in use
    uint32_t most_places_ = 0;
    uint32_t temporaries_ = 0;  // number in use
    uint32_t most_temporaries_ = 0;
    static constexpr uint32_t kNull = 0, kFalse = 1, kTrue = 2;
};

uint32_t Compiler::string(uint32_t symbol) {
    if (strings_[symbol] == kNone) {
        strings_[symbol] = static_cast<uint32_t>(program_.strings_.size());
        program_.strings_.push_back(Memory::immortal_string(syntax_.symbols.text(symbol)));
    }
    return strings_[symbol];
}

// The constants come first in the frame, then a place for each name, because any name may be a
// variable of the script's own scope.
void Compiler::place_constants() {
    const uint32_t symbols = syntax_.symbols.size();
    strings_.assign(symbols, kNone);
    constants_.assign(symbols, kNone);
    innermost_.assign(symbols, kNone);
    auto& constants = program_.constants_;
    constants = {Value::null(), Value::boolean(false), Value::boolean(true)};
    first_number_ = static_cast<uint32_t>(constants.size());
    for (const double number : syntax_.numbers) constants.emplace_back(number);
    for (const Node& node : syntax_.nodes) {
        if (node.kind != NodeKind::String || constants_[node.value] != kNone) continue;
        constants_[node.value] = static_cast<uint32_t>(constants.size());
        constants.push_back(program_.strings_[string(node.value)]);
    }
    variable(static_cast<uint32_t>(constants.size()));
    for (const Node& node : syntax_.nodes) {
        if (node.kind != NodeKind::Variable && node.kind != NodeKind::Let) continue;
        if (innermost_[node.value] != kNone) continue;
        const uint32_t place = variable(1);
        const uint32_t binding = bind(node.value, place);
        // The host may give it a value (Machine::set_scope()).
        bindings_[binding].assigned = Assigned::Perhaps;
        program_.variables_.push_back({string(node.value), place});
    }
    loop_bindings_ = static_cast<uint32_t>(bindings_.size());
}

void Compiler::run() {
    place_constants();
    begin_block(emit(Operation::Charge, 0));
    for (uint32_t at = 0; at < syntax_.nodes.size(); ++at) node(at);
    emit(Operation::End, static_cast<uint32_t>(syntax_.text().size()));
    charge(blocks_.back().charge);
    place_temporaries();
    const auto shrink = [](auto&... vectors) { (vectors.shrink_to_fit(), ...); };
    shrink(program_.code_, program_.bytes_, program_.constants_, program_.strings_,
           program_.operands_, program_.keys_, program_.shapes_, program_.calls_,
           program_.variables_);
}

uint32_t Compiler::emit(Operation operation, uint32_t byte, uint32_t a, uint32_t b, uint32_t c) {
    program_.code_.push_back({operation, 0, 0, a, b, c});
    program_.bytes_.push_back(byte);
    if (!blocks_.empty()) ++blocks_.back().cost;
    return here() - 1;
}

Compiler::Operand Compiler::pop() {
    const Operand operand = operands_.back();
    operands_.pop_back();
    temporaries_ -= operand.is_temporary;
    return operand;
}

// Temporary values follow all variables in the frame, and the number of variables is known only at
// the end. They do not share places: a variable that is perhaps assigned must not find an earlier
// temporary value in its place.
uint32_t Compiler::temporary() {
    most_temporaries_ = std::max(most_temporaries_, temporaries_ + 1);
    return kTemporaryPlace | temporaries_++;
}

uint32_t Compiler::variable(uint32_t places) {
    const uint32_t place = next_place_;
    next_place_ += places;
    most_places_ = std::max(most_places_, next_place_);
    return place;
}

void Compiler::place_temporaries() {
    const auto move = [&](uint32_t& place) {
        if (place & kTemporaryPlace) place = (place & ~kTemporaryPlace) + most_places_;
    };
    for (Instruction& instruction : program_.code_) {
        switch (instruction.operation) {
            case Operation::Define:
            case Operation::Undefine:
            case Operation::Charge:
            case Operation::Jump:
            case Operation::NextRound:
            case Operation::FindTool:
            case Operation::End: break;
            case Operation::List:
            case Operation::Object:
            case Operation::Call:
            case Operation::Lookup:
            case Operation::Now:
            case Operation::Fail: move(instruction.a); break;
            case Operation::Not:
            case Operation::Negate:
            case Operation::Plus:
            case Operation::Member:
            case Operation::Print:
            case Operation::Copy:
            case Operation::Move:
            case Operation::CopyIfDefined:
            case Operation::Require:
            case Operation::Branch:
            case Operation::BeginFor:
                move(instruction.a);
                move(instruction.b);
                break;
            default:
                move(instruction.a);
                move(instruction.b);
                move(instruction.c);
        }
    }
    for (uint32_t& operand : program_.operands_) {
        const uint32_t flag = operand & Program::kTemporary;
        operand &= ~Program::kTemporary;
        move(operand);
        operand |= flag;
    }
    program_.frame_size_ = most_places_ + most_temporaries_;
}

// Pushes the result of an instruction, which writes it to a new temporary value.
void Compiler::push_result(uint32_t producer) {
    const uint32_t place = temporary();
    program_.code_[producer].a = place;
    operands_.push_back({place, true, producer});
}

// Lists the last `count` operands in Program::operands.
uint32_t Compiler::take_operands(uint32_t count, uint32_t& first) {
    first = static_cast<uint32_t>(program_.operands_.size());
    const size_t begin = operands_.size() - count;
    for (size_t i = begin; i < operands_.size(); ++i) {
        const Operand& operand = operands_[i];
        program_.operands_.push_back(operand.place |
                                     (operand.is_temporary ? Program::kTemporary : 0));
        temporaries_ -= operand.is_temporary;
    }
    operands_.resize(begin);
    // An element costs a step, like an operator.
    blocks_.back().cost += count;
    return count;
}

void Compiler::node(uint32_t at) {
    const Node& self = syntax_.nodes[at];
    switch (self.kind) {
        case NodeKind::Null: push(kNull); break;
        case NodeKind::False: push(kFalse); break;
        case NodeKind::True: push(kTrue); break;
        case NodeKind::Number: push(first_number_ + self.value); break;
        case NodeKind::String: push(constants_[self.value]); break;
        case NodeKind::Variable: read(self.value, self.byte); break;
        case NodeKind::List: {
            uint32_t first;
            const uint32_t count = take_operands(self.value, first);
            push_result(emit(Operation::List, self.byte, 0, first, count));
            break;
        }
        case NodeKind::Object: {
            uint32_t first;
            take_operands(self.value, first);
            const auto first_key = static_cast<uint32_t>(program_.keys_.size());
            program_.keys_.resize(first_key + self.value);
            uint32_t end = at;
            for (uint32_t i = self.value; i > 0; --i) {
                program_.keys_[first_key + i - 1] = string(syntax_.nodes[end - 1].value);
                end -= syntax_.nodes[end - 1].size;
            }
            program_.shapes_.push_back({first_key, self.value});
            push_result(emit(Operation::Object, self.byte, 0, first,
                             static_cast<uint32_t>(program_.shapes_.size() - 1)));
            break;
        }
        case NodeKind::Unary: {
            const uint32_t operand = pop().place;
            const Operation operation = self.operation == TokenKind::Not     ? Operation::Not
                                        : self.operation == TokenKind::Minus ? Operation::Negate
                                                                             : Operation::Plus;
            push_result(emit(operation, self.byte, 0, operand));
            break;
        }
        case NodeKind::Binary: {
            const uint32_t right = pop().place;
            const uint32_t left = pop().place;
            Operation operation = Operation::Add;
            switch (self.operation) {
                case TokenKind::Or: operation = Operation::Or; break;
                case TokenKind::And: operation = Operation::And; break;
                case TokenKind::Equal: operation = Operation::Equal; break;
                case TokenKind::NotEqual: operation = Operation::NotEqual; break;
                case TokenKind::Less: operation = Operation::Less; break;
                case TokenKind::LessEqual: operation = Operation::LessEqual; break;
                case TokenKind::Greater: operation = Operation::Greater; break;
                case TokenKind::GreaterEqual: operation = Operation::GreaterEqual; break;
                case TokenKind::Minus: operation = Operation::Subtract; break;
                case TokenKind::Star: operation = Operation::Multiply; break;
                case TokenKind::Slash: operation = Operation::Divide; break;
                case TokenKind::Percent: operation = Operation::Remainder; break;
                default: break;
            }
            push_result(emit(operation, self.byte, 0, left, right));
            break;
        }
        case NodeKind::Index: {
            const uint32_t index = pop().place;
            const uint32_t list = pop().place;
            push_result(emit(Operation::Index, self.byte, 0, list, index));
            break;
        }
        case NodeKind::Member: {
            const uint32_t object = pop().place;
            const uint32_t instruction =
                emit(Operation::Member, self.byte, 0, object, string(self.value));
            program_.code_[instruction].extra = static_cast<uint8_t>(syntax_.nodes[at - 1].kind);
            push_result(instruction);
            break;
        }
        case NodeKind::Function: call_function(self); break;
        case NodeKind::CallBegin:
            // end_call() completes it, because the arguments may contain calls, which are compiled
            // first.
            emit(Operation::FindTool, self.byte, 0, 0, string(self.value));
            break;
        case NodeKind::Property:
        case NodeKind::Argument: break;
        case NodeKind::Call: end_call(at); break;
        case NodeKind::CallStatement:
            end_call(at);
            pop();
            break;
        case NodeKind::Expression: pop(); break;
        case NodeKind::Let: assign(self.value, self.byte); break;
        case NodeKind::Then: begin_then(self); break;
        case NodeKind::Else: begin_else(self); break;
        case NodeKind::If: end_if(); break;
        case NodeKind::Do: begin_for(self); break;
        case NodeKind::For: end_for(self); break;
    }
}

void Compiler::end_call(uint32_t at) {
    const Node& self = syntax_.nodes[at];
    std::vector<uint32_t> keys;
    uint32_t end = at;
    for (; syntax_.nodes[end - 1].kind == NodeKind::Argument; end -= syntax_.nodes[end - 1].size) {
        keys.push_back(string(syntax_.nodes[end - 1].value));
    }
    std::reverse(keys.begin(), keys.end());
    const auto first_key = static_cast<uint32_t>(program_.keys_.size());
    program_.keys_.insert(program_.keys_.end(), keys.begin(), keys.end());
    uint32_t first;
    const uint32_t count = take_operands(static_cast<uint32_t>(keys.size()), first);
    if (!positions_) positions_.emplace(syntax_.text());
    const json::Position position = positions_->of(self.byte);
    program_.calls_.push_back({string(self.value),
                               {first_key, count},
                               static_cast<uint32_t>(position.line),
                               static_cast<uint32_t>(position.column)});
    push_result(emit(Operation::Call, self.byte, 0, first,
                     static_cast<uint32_t>(program_.calls_.size() - 1)));
}

void Compiler::call_function(const Node& self) {
    const uint32_t symbol = syntax_.functions[self.value].name;
    const uint32_t count = syntax_.functions[self.value].arguments;
    const std::string_view name = syntax_.symbols.text(symbol);
    if (const std::string fault = function_fault(name, count); !fault.empty()) {
        for (uint32_t i = 0; i < count; ++i) pop();
        program_.strings_.push_back(Memory::immortal_string(fault));
        push_result(emit(Operation::Fail, self.byte, 0, 0,
                         static_cast<uint32_t>(program_.strings_.size() - 1)));
    } else if (name == "NOW") {
        push_result(emit(Operation::Now, self.byte));
    } else if (name == "PRINT") {
        const uint32_t value = pop().place;
        push_result(emit(Operation::Print, self.byte, 0, value));
    } else if (name == "FORMAT") {
        const uint32_t object = pop().place;
        const uint32_t text = pop().place;
        push_result(emit(Operation::Format, self.byte, 0, text, object));
    } else {  // HAS or GET
        uint32_t first = 0;
        take_operands(count, first);
        push_result(emit(Operation::Lookup, self.byte, 0, first, count));
    }
}

void Compiler::read(uint32_t symbol, uint32_t byte) {
    std::vector<uint32_t> perhaps;
    uint32_t binding = innermost_[symbol];
    while (binding >= loop_bindings_ && bindings_[binding].assigned != Assigned::Yes) {
        if (bindings_[binding].assigned == Assigned::Perhaps) perhaps.push_back(binding);
        binding = bindings_[binding].outer;
    }
    const auto require = [&] {
        if (bindings_[binding].assigned == Assigned::Yes) return;
        emit(Operation::Require, byte, 0, bindings_[binding].place, string(symbol));
    };
    if (perhaps.empty()) {
        require();
        if (bindings_[binding].assigned != Assigned::Yes) set(binding, Assigned::Yes);
        return push(bindings_[binding].place);
    }
    const uint32_t place = temporary();
    std::vector<uint32_t> found;
    for (const uint32_t inner : perhaps) {
        found.push_back(emit(Operation::CopyIfDefined, byte, place, bindings_[inner].place));
    }
    require();
    emit(Operation::Copy, byte, place, bindings_[binding].place);
    for (const uint32_t jump : found) program_.code_[jump].c = here();
    operands_.push_back({place, true, kNone});
}

uint32_t Compiler::bind(uint32_t symbol, uint32_t place) {
    bindings_.push_back({symbol, place, innermost_[symbol], Assigned::No, false, 0});
    innermost_[symbol] = static_cast<uint32_t>(bindings_.size() - 1);
    return innermost_[symbol];
}

void Compiler::set(uint32_t binding, Assigned assigned) {
    if (bindings_[binding].assigned == assigned) return;
    changes_.push_back({binding, bindings_[binding].assigned});
    bindings_[binding].assigned = assigned;
}

void Compiler::assign(uint32_t symbol, uint32_t byte) {
    const Operand value = pop();
    const bool in_loop = !loops_.empty();
    uint32_t binding = innermost_[symbol];
    if (in_loop && binding < blocks_[loops_.back()].first_binding) {
        binding = bind(symbol, variable(1));
    }
    const uint32_t place = bindings_[binding].place;
    if (value.producer != kNone) program_.code_[value.producer].a = place;
    else emit(value.is_temporary ? Operation::Move : Operation::Copy, byte, place, value.place);
    if (!in_loop) emit(Operation::Define, byte, place, binding);
    set(binding, Assigned::Yes);
}

void Compiler::begin_block(uint32_t charge) {
    Block block;
    block.charge = charge;
    block.cost = 1;
    block.changes = changes_.size();
    blocks_.push_back(std::move(block));
}

// Completes the instruction that charges the innermost block.
void Compiler::charge(uint32_t instruction) {
    program_.code_[instruction].b = blocks_.back().cost;
    program_.longest_block_ = std::max(program_.longest_block_, blocks_.back().cost);
}

void Compiler::begin_then(const Node& self) {
    const uint32_t condition = pop().place;
    const uint32_t jump = emit(Operation::Branch, self.byte, 0, condition);
    begin_block(emit(Operation::Charge, self.byte));
    blocks_.back().jump = jump;
}

// Reverts all assignments since `changes`, and returns them.
std::vector<Compiler::Branch> Compiler::undo(size_t changes) {
    std::vector<Branch> branch;
    while (changes_.size() > changes) {
        const Change change = changes_.back();
        changes_.pop_back();
        Binding& binding = bindings_[change.binding];
        if (find(branch, change.binding) == nullptr) {
            branch.push_back({change.binding, binding.assigned});
            binding.mark = static_cast<uint32_t>(branch.size());
        }
        binding.assigned = change.before;
    }
    return branch;
}

// Returns the entry of a binding, or NULL. No later result of undo() may have the binding.
Compiler::Branch* Compiler::find(std::vector<Branch>& branch, uint32_t binding) {
    const uint32_t mark = bindings_[binding].mark;
    if (mark == 0 || mark > branch.size() || branch[mark - 1].binding != binding) return nullptr;
    return &branch[mark - 1];
}

void Compiler::begin_else(const Node& self) {
    Block& block = blocks_.back();
    const uint32_t jump = emit(Operation::Jump, self.byte);
    charge(block.charge);
    program_.code_[block.jump].c = here();
    block.jump = jump;
    block.then = undo(block.changes);
    block.cost = 1;
    block.charge = emit(Operation::Charge, self.byte);
}

// Without ELSE, undo() returns the assignments of THEN.
void Compiler::end_if() {
    charge(blocks_.back().charge);
    Block block = std::move(blocks_.back());
    blocks_.pop_back();
    program_.code_[block.jump].c = here();
    std::vector<Branch> other = undo(block.changes);

    const auto merge = [&](uint32_t binding, Assigned one, Assigned two) {
        const Assigned merged = one == two ? one : Assigned::Perhaps;
        set(binding, merged);
        Binding& variable = bindings_[binding];
        if (merged != Assigned::Perhaps || binding < loop_bindings_ || variable.is_cleared) return;
        variable.is_cleared = true;
        // It belongs to the innermost loop: variables of outer loops are not assigned here.
        blocks_[loops_.back()].cleared.push_back(variable.place);
    };
    for (const Branch& one : block.then) {
        Branch* const same = find(other, one.binding);
        Assigned two = bindings_[one.binding].assigned;
        if (same != nullptr) {
            two = same->after;
            same->binding = kNone;
        }
        merge(one.binding, one.after, two);
    }
    for (const Branch& one : other) {
        if (one.binding != kNone) merge(one.binding, bindings_[one.binding].assigned, one.after);
    }
}

void Compiler::begin_for(const Node& self) {
    const uint32_t list = pop().place;
    const uint32_t free_place = next_place_;
    const uint32_t place = variable(3);
    emit(Operation::BeginFor, self.byte, place, list);
    const uint32_t jump = emit(Operation::Jump, self.byte);
    begin_block(kNone);
    Block& block = blocks_.back();
    block.jump = jump;
    block.loop = place;
    block.first_binding = static_cast<uint32_t>(bindings_.size());
    block.free_place = free_place;
    loops_.push_back(static_cast<uint32_t>(blocks_.size() - 1));
    if (innermost_[self.value] == kNone) {
        // The script never reads the variable.
        bindings_.push_back({self.value, place + 2, kNone, Assigned::Yes, false, 0});
        return;
    }
    bindings_[bind(self.value, place + 2)].assigned = Assigned::Yes;
}

void Compiler::end_for(const Node& self) {
    // The loop may have no round, so its assignments do not count after the loop.
    const Block& block = blocks_.back();
    undo(block.changes);
    loops_.pop_back();
    while (bindings_.size() > block.first_binding) {
        const Binding& binding = bindings_.back();
        if (innermost_[binding.symbol] == bindings_.size() - 1) {
            innermost_[binding.symbol] = binding.outer;
        }
        bindings_.pop_back();
    }
    // Reuse the places only outside of loops: in an outer loop, a variable that is perhaps assigned
    // would find a value there.
    if (loops_.empty()) next_place_ = block.free_place;
    program_.code_[block.jump].c = here();
    for (const uint32_t place : block.cleared) emit(Operation::Undefine, self.byte, place);
    const uint32_t next = emit(Operation::NextRound, self.byte, block.loop, 0, block.jump + 1);
    charge(next);
    blocks_.pop_back();
}

std::shared_ptr<const Program> Program::compile(std::string_view source, const Limits& limits,
                                                Error& error) {
    Syntax syntax;
    if (!parse(source, limits, syntax, error)) return nullptr;
    auto program = std::make_shared<Program>();
    Compiler(syntax, *program).run();
    program->source_ = std::move(syntax.source);
    return program;
}

Program::~Program() {
    std::vector<const Block*> blocks;
    for (const Value& string : strings_) blocks.push_back(string.block());
    // Destroy the values first, because ~Value() reads its block.
    constants_.clear();
    strings_.clear();
    for (const Block* block : blocks) Memory::free_immortal(block);
}

std::vector<Program::ToolName> Program::tool_names() const {
    std::vector<ToolName> names;
    for (size_t i = 0; i < code_.size(); ++i) {
        if (code_[i].operation != Operation::FindTool) continue;
        names.push_back({strings_[code_[i].c].text(), bytes_[i]});
    }
    return names;
}

bool Program::acts() const {
    return std::any_of(code_.begin(), code_.end(), [](const Instruction& instruction) {
        return instruction.operation == Operation::Print ||
               instruction.operation == Operation::FindTool;
    });
}

size_t Program::bytes() const {
    size_t bytes = sizeof(Program) + source_.capacity();
    const auto add = [&](const auto& vector) {
        bytes += vector.capacity() * sizeof(*vector.data());
    };
    add(code_);
    add(bytes_);
    add(constants_);
    add(strings_);
    add(operands_);
    add(keys_);
    add(shapes_);
    add(calls_);
    add(variables_);
    for (const Value& string : strings_) bytes += sizeof(Block) + string.text().size();
    return bytes;
}

}  // namespace narratoria::script
