// SPDX-License-Identifier: Apache-2.0
#pragma once
// A compiled script: the code of a register machine. Immutable, so many machines may share a
// program. All of them must be on one thread, because its values have reference counts.
//
// A frame is one array of values: constants, variables, temporary values. Every operand is one
// index, so an operator with a literal needs no load.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "script/error.hpp"
#include "script/limits.hpp"
#include "script/value.hpp"

namespace narratoria::script {

enum class Operation : uint8_t {
    // a = result, b and c = operands.
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Not,
    Negate,
    Plus,
    Index,   // b = list, c = index
    Member,  // b = object, c = string; extra = NodeKind of the object's expression
    List,    // b = first of Program::operands, c = number of elements
    Object,  // b = first of Program::operands, c = shape
    Now,
    Print,   // b = value
    Format,  // b = template, c = object
    Lookup,  // b = first of Program::operands, c = number of arguments: 2 of HAS, 3 of GET
    Fail,    // c = string, the message of a RuntimeError
    // Variables.
    Copy,           // a = b
    Move,           // a = b, a temporary value
    CopyIfDefined,  // if b is defined: a = b, go to c
    Require,        // b must be defined; c = string, its name
    Define,         // a, a variable of the script's own scope, now has a value; b = its number
    Undefine,       // a
    // Control.
    Charge,     // b = steps of the block that begins
    Jump,       // c
    Branch,     // b = condition; go to c if it is false
    BeginFor,   // a = list of the loop, a + 1 = its position, a + 2 = its variable; b = list
    NextRound,  // a as above, b = steps of a round; go to c if an element is left
    FindTool,   // c = call
    Call,       // a = result, b = first of Program::operands, c = call
    End,
};

struct Instruction {
    Operation operation;
    uint8_t extra = 0;
    uint16_t reserved = 0;
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
};
static_assert(sizeof(Instruction) == 16);

class Program {
public:
    // Parses and compiles. Returns NULL and an error on failure.
    static std::shared_ptr<const Program> compile(std::string_view source, const Limits& limits,
                                                  Error& error);
    Program() = default;
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    std::string_view source() const { return {source_.data(), source_.size() - 1}; }
    struct ToolName {
        std::string_view name;  // valid as long as the program
        uint32_t byte;          // position of the CALL in the source
    };
    // The tools of all CALLs, in the order of the source.
    std::vector<ToolName> tool_names() const;
    // True if it has a PRINT or a CALL.
    bool acts() const;
    // The memory of the program.
    size_t bytes() const;

private:
    friend class Compiler;
    friend class Machine;

    // Flag in operands_: the value is not used again and can be moved.
    static constexpr uint32_t kTemporary = 1u << 31;

    struct Shape {       // the keys of an object or of a call's arguments
        uint32_t first;  // of keys_
        uint32_t count;
    };
    struct CallSite {
        uint32_t tool;  // string
        Shape arguments;
        uint32_t line;
        uint32_t column;
    };
    struct Variable {    // of the script's own scope
        uint32_t name;   // string
        uint32_t place;  // in the frame
    };

    std::vector<char> source_;  // zero-terminated
    std::vector<Instruction> code_;
    std::vector<uint32_t> bytes_;   // position in the source of each instruction
    std::vector<Value> constants_;  // the beginning of each frame
    std::vector<Value> strings_;    // names, keys and texts; immortal
    std::vector<uint32_t> operands_;
    std::vector<uint32_t> keys_;  // strings
    std::vector<Shape> shapes_;
    std::vector<CallSite> calls_;
    std::vector<Variable> variables_;
    uint32_t frame_size_ = 0;
    uint32_t longest_block_ = 1;  // the most steps that are charged at once
};

}  // namespace narratoria::script
