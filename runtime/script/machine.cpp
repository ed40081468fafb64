// SPDX-License-Identifier: Apache-2.0
#include "script/machine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace narratoria::script {
namespace {

// Steps between two checks of the clock and of the cancellation: about 100 µs.
constexpr uint64_t kStepsPerCheck = 16384;

// An operation on a large value costs one additional step for this number of bytes.
constexpr uint64_t kBytesPerStep = 32;

bool are_numbers(const Value& a, const Value& b) { return a.is_number() && b.is_number(); }
bool are_booleans(const Value& a, const Value& b) { return a.is_boolean() && b.is_boolean(); }

double remainder_of(double a, double b) {
    // For 32-bit integers this is ten times as fast as fmod().
    const auto x = static_cast<int64_t>(std::fabs(a) < 2147483648.0 ? a : 0);
    const auto y = static_cast<int64_t>(std::fabs(b) < 2147483648.0 ? b : 0);
    if (static_cast<double>(x) == a && static_cast<double>(y) == b) {
        return static_cast<double>(static_cast<int32_t>(x) % y);
    }
    return std::fmod(a, b);
}

}  // namespace

Machine::Machine(std::shared_ptr<const Program> program, Tools& tools, const Options& options)
    : program_(std::move(program)),
      tools_(tools),
      limits_(options.limits),
      clock_(options.clock),
      on_output_(options.on_output),
      memory_(options.limits),
      frame_(new Value[program_->frame_size_]),
      is_defined_(program_->variables_.size()) {
    std::copy(program_->constants_.begin(), program_->constants_.end(), frame_.get());
}

Machine::~Machine() = default;

int64_t Machine::now_ms() const {
    return clock_ != nullptr ? clock_->steady_ms() : clock::steady_ms();
}

size_t Machine::bytes() const {
    size_t bytes = sizeof(Machine) + program_->frame_size_ * sizeof(Value) + memory_.used();
    for (const std::string& line : output_) bytes += sizeof line + line.capacity();
    return bytes;
}

Machine::State Machine::run(uint64_t steps) {
    if (state_ == State::Finished || state_ == State::Failed) return state_;
    if (!has_begun_) {
        has_begun_ = true;
        if (limits_.milliseconds > 0) {
            deadline_ms_ = now_ms() + static_cast<int64_t>(limits_.milliseconds);
        }
    }
    // Return unused steps of the last slice, but keep a debt. The longest block must fit into a
    // slice.
    if (left_ > 0) {
        steps_done_ -= static_cast<uint64_t>(left_);
        left_ = 0;
    }
    slice_end_ = 0;
    if (steps > 0) {
        slice_end_ = steps_done_ + static_cast<uint64_t>(-left_) +
                     std::max<uint64_t>(steps, program_->longest_block_);
    }
    is_paused_ = false;
    const bool is_waiting = state_ == State::Waiting;
    if (!refill() || is_waiting) {
        if (state_ == State::Ready && is_waiting) state_ = State::Waiting;
        return state_;
    }
    execute();
    return state_;
}

bool Machine::refill() {
    if (is_cancelled_.load(std::memory_order_relaxed)) {
        fail_with("CancelledError", "The script was cancelled.");
        return false;
    }
    if (deadline_ms_ != 0 && now_ms() >= deadline_ms_) {
        fail_with("TimeLimitError",
                  "The script did not end within " + std::to_string(limits_.milliseconds) + " ms");
        return false;
    }
    // steps_done_ counts granted steps. A debt (left_ < 0) is paid first.
    const uint64_t debt = left_ < 0 ? static_cast<uint64_t>(-left_) : 0;
    uint64_t most = UINT64_MAX;
    if (limits_.steps > 0) most = limits_.steps - std::min(limits_.steps, steps_done_);
    if (debt > most) {
        fail_with("StepLimitError",
                  "The script needs more than " + std::to_string(limits_.steps) + " steps");
        return false;
    }
    if (slice_end_ > 0 && steps_done_ >= slice_end_) {
        state_ = State::Ready;
        return false;
    }
    uint64_t grant = kStepsPerCheck;
    if (slice_end_ > 0) grant = std::min(grant, slice_end_ - steps_done_);
    grant = std::min(most, std::max(debt, grant));
    steps_done_ += grant;
    left_ += static_cast<int64_t>(grant);
    return true;
}

// Uses locals instead of members, so that data read in every instruction stays in registers.
// `instruction` is the current instruction, `next` the one after it.
void Machine::execute() {
    Value* const frame = frame_.get();
    const Instruction* const code = program_->code_.data();
    const Instruction* next = code + at_;
    int64_t left = left_;

#define NUWA_SAVE() (at_ = static_cast<uint32_t>(next - code - 1), left_ = left)

// Charges `steps`. If they are used up, `pause` runs before the machine stops.
#define NUWA_CHARGE(steps, pause)                    \
    if ((left -= static_cast<int64_t>(steps)) < 0) { \
        NUWA_SAVE();                                 \
        if (!refill()) {                             \
            pause;                                   \
            return;                                  \
        }                                            \
        left = left_;                                \
    }
// The instruction is repeated after the pause, and charged again.
#define NUWA_CHARGE_BEFORE(steps) NUWA_CHARGE(steps, left_ += static_cast<int64_t>(steps))
// The instruction is complete.
#define NUWA_CHARGE_AFTER(steps) NUWA_CHARGE(steps, ++at_)

// A binary operator with operands that must be `fit`.
#define NUWA_BINARY(fit, type, set, expression) \
    {                                           \
        const Value& b = frame[instruction.b];  \
        const Value& c = frame[instruction.c];  \
        if (!(fit)) goto binary_operands;       \
        const auto x = b.type(), y = c.type();  \
        frame[instruction.a].set(expression);   \
        break;                                  \
    }
#define NUWA_ARITHMETIC(expression) NUWA_BINARY(are_numbers(b, c), number, set_number, expression)
#define NUWA_DIVISION(expression) \
    NUWA_BINARY(are_numbers(b, c) && c.number() != 0, number, set_number, expression)
#define NUWA_COMPARISON(expression) NUWA_BINARY(are_numbers(b, c), number, set_boolean, expression)
#define NUWA_LOGIC(expression) NUWA_BINARY(are_booleans(b, c), boolean, set_boolean, expression)

    for (;;) {
        const Instruction& instruction = *next++;
        switch (instruction.operation) {
            case Operation::Add: NUWA_ARITHMETIC(x + y)
            case Operation::Subtract: NUWA_ARITHMETIC(x - y)
            case Operation::Multiply: NUWA_ARITHMETIC(x * y)
            case Operation::Divide: NUWA_DIVISION(x / y)
            case Operation::Remainder: NUWA_DIVISION(remainder_of(x, y))
            case Operation::Less: NUWA_COMPARISON(x < y)
            case Operation::LessEqual: NUWA_COMPARISON(x <= y)
            case Operation::Greater: NUWA_COMPARISON(x > y)
            case Operation::GreaterEqual: NUWA_COMPARISON(x >= y)
            case Operation::And: NUWA_LOGIC(x && y)
            case Operation::Or: NUWA_LOGIC(x || y)
            case Operation::Equal:
            case Operation::NotEqual: {
                const Value& b = frame[instruction.b];
                const Value& c = frame[instruction.c];
                const uint64_t work =
                    b.is_block() && c.is_block() ? std::min(b.bytes(), c.bytes()) : 0;
                const bool is_equal = equal(b, c);
                frame[instruction.a].set_boolean(is_equal ==
                                                 (instruction.operation == Operation::Equal));
                NUWA_CHARGE_AFTER(work / kBytesPerStep)
                break;
            }
            case Operation::Not: {
                const Value& b = frame[instruction.b];
                if (!b.is_boolean()) goto unary_operand;
                frame[instruction.a].set_boolean(!b.boolean());
                break;
            }
            case Operation::Negate:
            case Operation::Plus: {
                const Value& b = frame[instruction.b];
                if (!b.is_number()) goto unary_operand;
                const double x = b.number();
                frame[instruction.a].set_number(instruction.operation == Operation::Negate ? -x
                                                                                           : x);
                break;
            }
            case Operation::Index: {
                const Value& list = frame[instruction.b];
                const Value& index = frame[instruction.c];
                if (!list.is_list() || !index.is_number() || !(index.number() >= 0) ||
                    !(index.number() < list.block()->count) ||
                    index.number() != std::trunc(index.number())) {
                    NUWA_SAVE();
                    return index_error(list, index);
                }
                // A copy first: the result may replace the list.
                Value element = list.elements()[static_cast<size_t>(index.number())];
                frame[instruction.a] = std::move(element);
                break;
            }
            case Operation::Member: {
                const Value& object = frame[instruction.b];
                const Value* const found =
                    object.is_object() ? object.find(string(instruction.c)) : nullptr;
                if (found == nullptr) {
                    NUWA_SAVE();
                    return member_error(instruction);
                }
                Value member = *found;
                frame[instruction.a] = std::move(member);
                break;
            }
            case Operation::List: {
                Value list = memory_.list(instruction.c, [&](uint32_t i) {
                    return take(program_->operands_[instruction.b + i]);
                });
                if (!list.is_defined()) goto refused;
                frame[instruction.a] = std::move(list);
                break;
            }
            case Operation::Object: {
                Value object = make_object(program_->shapes_[instruction.c], instruction.b);
                if (!object.is_defined()) goto refused;
                frame[instruction.a] = std::move(object);
                break;
            }
            case Operation::Now: {
                const int64_t now = clock_ != nullptr ? clock_->wall_us() : clock::wall_us();
                frame[instruction.a].set_number(static_cast<double>(now / 1000));
                break;
            }
            case Operation::Print: {
                const uint64_t work = frame[instruction.b].bytes() / kBytesPerStep;
                NUWA_SAVE();
                if (!print(frame[instruction.b])) return;
                frame[instruction.a] = Value::null();
                if (on_output_) {
                    // End the slice here: on_output_ may have cancelled the script or taken long.
                    left_ -= static_cast<int64_t>(work);
                    if (left_ > 0) {
                        steps_done_ -= static_cast<uint64_t>(left_);
                        left_ = 0;
                    }
                    if (slice_end_ > 0) slice_end_ = steps_done_;
                    if (!refill()) {
                        ++at_;
                        return;
                    }
                    left = left_;
                    break;
                }
                NUWA_CHARGE_AFTER(work)
                break;
            }
            case Operation::Format: {
                NUWA_SAVE();
                Value result;
                if (!format(frame[instruction.b], frame[instruction.c], result)) return;
                const uint64_t work =
                    (frame[instruction.b].bytes() + result.bytes()) / kBytesPerStep;
                frame[instruction.a] = std::move(result);
                NUWA_CHARGE_AFTER(work)
                break;
            }
            case Operation::Lookup: {
                NUWA_SAVE();
                uint64_t work = 0;
                if (!look_up(instruction, frame[instruction.a], work)) return;
                NUWA_CHARGE_AFTER(work / kBytesPerStep)
                break;
            }
            case Operation::Fail:
                NUWA_SAVE();
                return fail_with("RuntimeError", std::string(string(instruction.c)));

            case Operation::Copy: frame[instruction.a] = frame[instruction.b]; break;
            case Operation::Move: frame[instruction.a] = std::move(frame[instruction.b]); break;
            case Operation::CopyIfDefined:
                if (frame[instruction.b].is_defined()) {
                    frame[instruction.a] = frame[instruction.b];
                    next = code + instruction.c;
                }
                break;
            case Operation::Require:
                if (!frame[instruction.b].is_defined()) {
                    NUWA_SAVE();
                    fail_with("UndefinedVariableError", undefined_variable(string(instruction.c)));
                    error_.hint = hint_at_variable(string(instruction.c));
                    return;
                }
                break;
            case Operation::Define: define(instruction.b); break;
            case Operation::Undefine: frame[instruction.a] = Value(); break;

            case Operation::Charge: NUWA_CHARGE_BEFORE(instruction.b) break;
            case Operation::Jump: next = code + instruction.c; break;
            case Operation::Branch: {
                const Value& condition = frame[instruction.b];
                if (!condition.is_boolean()) {
                    NUWA_SAVE();
                    return fail_on(condition, "InvalidConditionError",
                                   std::string("IF condition evaluated to type ") +
                                       type_name(condition.type()) + ", expected boolean.");
                }
                if (!condition.boolean()) next = code + instruction.c;
                break;
            }
            case Operation::BeginFor: {
                const Value& list = frame[instruction.b];
                if (!list.is_list()) {
                    NUWA_SAVE();
                    return fail_on(list, "InvalidIterableError",
                                   std::string("FOR loop expected an iterable list, got ") +
                                       type_name(list.type()) + ".");
                }
                frame[instruction.a] = list;
                frame[instruction.a + 1].set_number(0);
                break;
            }
            case Operation::NextRound: {
                Value& list = frame[instruction.a];
                Value& position = frame[instruction.a + 1];
                const auto at = static_cast<uint32_t>(position.number());
                if (at == list.block()->count) {
                    list = Value();
                    break;
                }
                NUWA_CHARGE_BEFORE(instruction.b)
                frame[instruction.a + 2] = list.elements()[at];
                position.set_number(at + 1);
                next = code + instruction.c;
                break;
            }
            case Operation::FindTool:
                if (!tools_.has(string(instruction.c))) {
                    NUWA_SAVE();
                    fail_with("ToolNotFoundError", missing_tool(string(instruction.c)));
                    error_.hint = tools_.hint(string(instruction.c));
                    return;
                }
                break;
            case Operation::Call:
                NUWA_SAVE();
                if (!call_tool(instruction)) return;
                break;
            case Operation::End:
                NUWA_SAVE();
                state_ = State::Finished;
                return;
        }
    }
binary_operands:
    NUWA_SAVE();
    return operand_error(next[-1]);
unary_operand:
    NUWA_SAVE();
    return unary_error(next[-1]);
refused:
    NUWA_SAVE();
    return refuse();
#undef NUWA_SAVE
#undef NUWA_CHARGE
#undef NUWA_CHARGE_BEFORE
#undef NUWA_CHARGE_AFTER
#undef NUWA_BINARY
#undef NUWA_ARITHMETIC
#undef NUWA_DIVISION
#undef NUWA_COMPARISON
#undef NUWA_LOGIC
}

}  // namespace narratoria::script
