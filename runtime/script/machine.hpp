// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a program. A machine is one run of one script:
//
//     Machine machine(program, tools, options);
//     State state = machine.run();
//     while (state == State::Waiting) {          // for machine.call().tool
//         …                                      // the loop serves others meanwhile
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
        Ready,    // run() goes on
        Waiting,  // for the answer to call()
        Finished,
        Failed,  // error() says why
    };

    struct Options {
        Limits limits;
        // The engine's clock in tests; null: the system's.
        const Clock* clock = nullptr;
        // Called for each printed line, during run(). Without it the lines are in output().
        std::function<void(std::string_view line)> on_output;
    };

    // `tools` must outlive the machine.
    Machine(std::shared_ptr<const Program> program, Tools& tools, const Options& options);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Sets the variables that the script begins with: a JSON object. Only in front of the first
    // run(). False: `error` says why.
    bool set_scope(std::string_view json, Error& error);

    // Runs until the script ends, waits, or has done about so many steps (State::Ready), so that a
    // long script shares the loop. 0: no such bound.
    State run(uint64_t steps = 0);
    State state() const { return state_; }

    // The call that a waiting machine waits for.
    const ToolCall& call() const { return call_; }
    // Answers it. False if the machine does not wait. A value that a limit forbids, or text that is
    // not JSON, fails the script. run() goes on.
    bool resume(const Value& result);
    bool resume_json(std::string_view json);
    bool fail(std::string_view message);

    // In Tools::start(): run() returns State::Ready behind this call, so that others get their turn.
    void pause() { is_paused_ = true; }

    // Ends the script with CancelledError: a running script at its next check, any other at the next
    // run(). Thread-safe.
    void cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }

    // When the time limit ends a waiting script, in milliseconds of Clock::steady_ms(); 0: never. The
    // host calls run() then.
    int64_t deadline_ms() const { return deadline_ms_; }

    const Error& error() const { return error_; }
    const std::vector<std::string>& output() const { return output_; }

    // Appends the variables of the script's own scope as a JSON object, in the order in which they got
    // their first value. False, and nothing is appended: they exceed Limits::value_bytes.
    bool append_scope(std::string& out) const;
    const Limits& limits() const { return limits_; }

    const Program& program() const { return *program_; }
    Memory& memory() { return memory_; }
    // Of the current instruction in the program.
    uint32_t position() const { return at_; }
    // The steps of a block count when it begins.
    uint64_t steps() const { return steps_done_ - static_cast<uint64_t>(left_); }
    uint64_t calls() const { return calls_; }
    // What this run occupies, without the program.
    size_t bytes() const;

private:
    struct Extra {  // a variable of the first scope that the script does not name
        std::string name;
        Value value;
    };
    static constexpr uint32_t kExtra = 1u << 31;

    void execute();
    // Called when the steps of `left_` are used up. False: stop, and `state_` says why.
    bool refill();
    void answer(Value result);
    Value take(uint32_t operand);
    Value make_object(const Program::Shape& shape, uint32_t first_operand);
    bool call_tool(const Instruction& instruction);
    bool print(const Value& value);
    bool format(const Value& text, const Value& object, Value& result);
    void define(uint32_t variable);

    int64_t now_ms() const;
    std::string_view string(uint32_t number) const { return program_->strings_[number].text(); }
    // The byte of the source that the current instruction stands for.
    uint32_t current_byte() const { return program_->bytes_[at_]; }
    void fail_with(const char* name, std::string message);
    void fail_without_place(const char* name, std::string message);
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
    std::unique_ptr<Value[]> frame_;
    State state_ = State::Ready;
    bool has_begun_ = false;
    bool is_paused_ = false;
    std::atomic<bool> is_cancelled_ = false;
    uint32_t at_ = 0;      // the current instruction; between runs the next one
    uint32_t result_ = 0;  // place of the answer to call_

    int64_t left_ = 0;         // steps until the next check
    uint64_t steps_done_ = 0;  // those granted in left_ included
    uint64_t slice_end_ = 0;   // steps_done_ at which run() returns; 0: does not
    uint64_t calls_ = 0;
    uint64_t printed_ = 0;
    int64_t deadline_ms_ = 0;

    ToolCall call_;
    Error error_;
    std::vector<std::string> output_;
    std::vector<Extra> extras_;
    std::vector<uint32_t> order_;   // variables, or extras with kExtra, by their first value
    std::vector<bool> is_defined_;  // of each variable of the program
};

}  // namespace narratoria::script
