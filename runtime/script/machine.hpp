// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a program. A machine is one run of one script:
//
//     Machine machine(program, tools, options);
//     State state = machine.run();
//     while (state == State::Waiting) {          // for machine.call().tool
//         …                                      // the event loop may do other work here
//         machine.resume_json("5");
//         state = machine.run();
//     }
//
// Used on one thread, except cancel(). A waiting machine holds its frame and nothing else.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "script/error.hpp"
#include "script/limits.hpp"
#include "script/program.hpp"
#include "script/tools.hpp"
#include "script/value.hpp"

namespace narratoria::script {

class Machine {
public:
    enum class State : uint8_t {
        Ready,    // run() continues
        Waiting,  // for the answer to call()
        Finished,
        Failed,  // error() has the reason
    };

    struct Options {
        Limits limits;
        // A clock for tests; NULL: the system's.
        const Clock* clock = nullptr;
        // Called for each printed line, during run(). If empty, output() collects the lines.
        std::function<void(std::string_view line)> on_output;
    };

    // `tools` must outlive the machine.
    Machine(std::shared_ptr<const Program> program, Tools& tools, const Options& options);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Sets the initial variables: a JSON object. Call it before the first run(). Returns false and
    // an error if the object is not valid.
    bool set_scope(std::string_view json, Error& error);

    // Runs until the script ends, waits, or has done about `steps` steps (State::Ready), so that a
    // long script does not block the loop. 0: no bound.
    State run(uint64_t steps = 0);
    State state() const { return state_; }

    // The call that a waiting machine waits for.
    const ToolCall& call() const { return call_; }
    // Answers call(). False if the machine does not wait. The script fails if a limit forbids the
    // value, or if the text is not valid JSON. Call run() afterwards.
    bool resume(const Value& result);
    bool resume_json(std::string_view json);
    bool resume_json(json::Value value);
    bool fail(std::string_view message);

    // For Tools::start(): run() returns State::Ready after this call, so that the loop can do other
    // work.
    void pause() { is_paused_ = true; }

    // Ends the script with CancelledError: at its next check if it is running, otherwise at the
    // next run(). Thread-safe.
    void cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }

    // The deadline of the script in milliseconds of Clock::steady_ms(); 0: none. The host must call
    // run() at that time if the machine waits.
    int64_t deadline_ms() const { return deadline_ms_; }

    const Error& error() const { return error_; }
    const std::vector<std::string>& output() const { return output_; }

    // Appends the variables of the script's own scope as a JSON object, in the order of their first
    // assignment. False, and nothing is appended, if they exceed Limits::value_bytes.
    bool append_scope(std::string& out) const;
    // Returns a variable of the script's own scope; Undefined if it has no value.
    Value variable(std::string_view name) const;
    const Limits& limits() const { return limits_; }

    const Program& program() const { return *program_; }
    Memory& memory() { return memory_; }
    // The steps charged so far. A block is charged when it begins.
    uint64_t steps() const { return steps_done_ - static_cast<uint64_t>(left_); }
    uint64_t calls() const { return calls_; }
    // The memory of this run, without the program.
    size_t bytes() const;

private:
    struct Extra {  // a variable of set_scope() that the script does not name
        std::string name;
        Value value;
    };
    static constexpr uint32_t kExtra = 1u << 31;

    void execute();
    // Called when the steps of `left_` are used up. False: run() must return `state_`.
    bool refill();
    void answer(Value result);
    // Returns the operand of a list or call. Moves a temporary value. Inline, because a CALL makes
    // an object for its arguments.
    Value take(uint32_t operand) {
        Value& value = frame_[operand & ~Program::kTemporary];
        return operand & Program::kTemporary ? std::move(value) : Value(value);
    }
    Value make_object(const Program::Shape& shape, uint32_t first_operand) {
        return memory_.ordered_object(
            shape.count,
            [&](uint32_t i) { return program_->strings_[program_->keys_[shape.first + i]]; },
            [&](uint32_t i) { return take(program_->operands_[first_operand + i]); });
    }
    bool call_tool(const Instruction& instruction);
    bool print(const Value& value);
    bool format(const Value& text, const Value& object, Value& result);
    bool look_up(const Instruction& instruction, Value& result, uint64_t& work);
    void define(uint32_t variable);

    int64_t now_ms() const;
    std::string_view string(uint32_t number) const { return program_->strings_[number].text(); }
    // The byte of the source from which the current instruction was compiled.
    uint32_t current_byte() const { return program_->bytes_[at_]; }
    void fail_with(const char* name, std::string message);
    // Also says which value it is, if the message calls it an object and it is not one.
    void fail_on(const Value& value, const char* name, std::string message);
    void fail_without_place(const char* name, std::string message);
    // Asks for the variable with a similar name that has a value; empty if there is none.
    std::string hint_at_variable(std::string_view name) const;
    static std::string hint_at_key(std::string_view name, const Value& object);
    void refuse();
    void type_error(const char* kind, const char* symbol, const char* wanted, const Value& left,
                    const Value& right);
    void operand_error(const Instruction& instruction);
    void unary_error(const Instruction& instruction);
    void index_error(const Value& list, const Value& index);
    void member_error(const Instruction& instruction);

    const std::shared_ptr<const Program> program_;
    Tools& tools_;
    const Limits limits_;
    const Clock* const clock_;
    const std::function<void(std::string_view)> on_output_;

    Memory memory_;
    json::Document answer_;  // of the last tool; keeps its memory for the next one
    std::unique_ptr<Value[]> frame_;
    State state_ = State::Ready;
    bool has_begun_ = false;
    bool is_paused_ = false;
    std::atomic<bool> is_cancelled_ = false;
    uint32_t at_ = 0;      // the current instruction; between runs: the next one
    uint32_t result_ = 0;  // the place for the answer to call_

    int64_t left_ = 0;         // steps until the next check
    uint64_t steps_done_ = 0;  // includes those granted in left_
    uint64_t slice_end_ = 0;   // steps_done_ at which run() returns; 0: no bound
    uint64_t calls_ = 0;
    uint64_t printed_ = 0;
    int64_t deadline_ms_ = 0;

    ToolCall call_;
    Error error_;
    std::vector<std::string> output_;
    std::vector<Extra> extras_;
    std::vector<uint32_t> order_;   // variables, or extras with kExtra, by first assignment
    std::vector<bool> is_defined_;  // of each variable of the program
};

}  // namespace narratoria::script
