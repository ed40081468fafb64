// SPDX-License-Identifier: Apache-2.0
#include "script/machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "script/number_text.hpp"
#include "script/syntax.hpp"

namespace narratoria::script {

namespace {

// Steps between two checks of the clock and of the cancellation: about 100 µs.
constexpr uint64_t kStepsPerCheck = 16384;

// An operation on a large value costs one additional step for this number of bytes.
constexpr uint64_t kBytesPerStep = 32;
// The memory for a longer result is freed when the result was taken.
constexpr size_t kLargeResult = 1024;

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

// A message does not show more of a value.
constexpr size_t kShownBytes = 1000;

// Converts a value to a string like ECMAScript, for the message about an index.
void append_converted(std::string& out, const Value& value, bool is_element = false) {
    if (value.is_list()) {
        const char* separator = "";
        for (const Value& element : value.elements()) {
            if (out.size() > kShownBytes) return;  // index_error() cuts it
            out += separator;
            append_converted(out, element, true);
            separator = ",";
        }
    } else if (value.is_object()) {
        out += "[object Object]";
    } else if (!is_element || !value.is_null()) {
        append_text(out, value);
    }
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

bool Machine::set_scope(std::string_view text, Error& error) {
    json::Document document;
    json::ParseError problem;
    error = {"ScopeError", "", 0, 0};
    if (has_begun_) {
        error.message = "The scope can be set only before the script begins";
        return false;
    }
    if (!document.parse(text, problem)) {
        const json::Position position = json::position_of(text, problem.byte);
        error.message = "The scope is not JSON: " + problem.message + " at line " +
                        std::to_string(position.line) + ", column " +
                        std::to_string(position.column);
        return false;
    }
    if (!document.root().is_object()) {
        error.message = "The scope must be a JSON object with the variables as members";
        return false;
    }
    const Value scope = memory_.from_json(document.root());
    if (!scope.is_defined()) {
        refuse();
        error = std::move(error_);
        error_ = {};
        state_ = State::Ready;
        return false;
    }
    error = {};
    for (const Member& member : scope.members()) {
        const auto& variables = program_->variables_;
        const auto known = std::find_if(variables.begin(), variables.end(), [&](const auto& each) {
            return string(each.name) == member.key.text();
        });
        if (known != variables.end()) {
            frame_[known->place] = member.value;
            define(static_cast<uint32_t>(known - variables.begin()));
        } else {
            order_.push_back(kExtra | static_cast<uint32_t>(extras_.size()));
            extras_.push_back({std::string(member.key.text()), member.value});
        }
    }
    return true;
}

void Machine::define(uint32_t variable) {
    if (is_defined_[variable]) return;
    is_defined_[variable] = true;
    order_.push_back(variable);
}

bool Machine::append_scope(std::string& out) const {
    // Compute the size first: values share parts, but the text repeats them.
    uint64_t bytes = 2;
    for (const uint32_t each : order_) {
        if ((each & kExtra) != 0) {
            const Extra& extra = extras_[each & ~kExtra];
            bytes += extra.name.size() + extra.value.bytes() + 4;
        } else {
            const auto& variable = program_->variables_[each];
            bytes += string(variable.name).size() + frame_[variable.place].bytes() + 4;
        }
    }
    if (bytes > value_limit(limits_)) return false;
    out += '{';
    const char* separator = "";
    for (const uint32_t each : order_) {
        out += separator;
        separator = ",";
        const bool is_extra = (each & kExtra) != 0;
        const auto& variables = program_->variables_;
        json::append_string(out, is_extra ? std::string_view(extras_[each & ~kExtra].name)
                                          : string(variables[each].name));
        out += ':';
        append_json(out, is_extra ? extras_[each & ~kExtra].value : frame_[variables[each].place]);
    }
    out += '}';
    return true;
}

Value Machine::variable(std::string_view name) const {
    for (const auto& variable : program_->variables_) {
        if (string(variable.name) == name) return frame_[variable.place];
    }
    return {};
}

size_t Machine::bytes() const {
    size_t bytes = sizeof(Machine) + program_->frame_size_ * sizeof(Value) + memory_.used();
    for (const std::string& line : output_) bytes += sizeof line + line.capacity();
    return bytes;
}

// ---------------------------------------------------------------- errors

void Machine::fail_without_place(const char* name, std::string message) {
    state_ = State::Failed;
    error_ = {name, std::move(message), 0, 0};
    call_ = {};
}

void Machine::fail_with(const char* name, std::string message) {
    fail_without_place(name, std::move(message));
    place(error_, program_->source(), current_byte());
}

void Machine::fail_on(const Value& value, const char* name, std::string message) {
    // The language calls both an object.
    const char* const hint = value.is_null()   ? "the value is null"
                             : value.is_list() ? "the value is a list"
                                               : "";
    fail_with(name, std::move(message));
    error_.hint = hint;
}

std::string Machine::hint_at_variable(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const uint32_t each : order_) {
        names.push_back((each & kExtra) != 0 ? std::string_view(extras_[each & ~kExtra].name)
                                             : string(program_->variables_[each].name));
    }
    return ask_for_near_name(name, names);
}

std::string Machine::hint_at_key(std::string_view name, const Value& object) {
    std::vector<std::string_view> keys;
    for (const Member& member : object.members()) keys.push_back(member.key.text());
    return ask_for_near_name(name, keys);
}

// Fails because a limit forbids a value.
void Machine::refuse() {
    switch (memory_.refusal()) {
        case Memory::Refusal::Size:
            return fail_with("SizeLimitError", "A value is larger than the limit of " +
                                                   std::to_string(limits_.value_bytes) + " bytes");
        case Memory::Refusal::Depth:
            return fail_with("DepthLimitError", "A value is nested more than " +
                                                    std::to_string(limits_.depth) + " levels deep");
        default:
            return fail_with(
                "MemoryLimitError",
                "The values of the script and the records of its CALLs need more than " +
                    std::to_string(limits_.memory_bytes) + " bytes");
    }
}

void Machine::type_error(const char* kind, const char* symbol, const char* wanted,
                         const Value& left, const Value& right) {
    const bool is_left = left.is_null() || left.is_list();
    fail_on(is_left ? left : right, "TypeError",
            std::string(kind) + " operator '" + symbol + "' requires " + wanted +
                " operands, got " + type_name(left.type()) + " and " + type_name(right.type()) +
                ".");
}

// Fails because the operands of a binary operator are not valid.
void Machine::operand_error(const Instruction& instruction) {
    const Value& left = frame_[instruction.b];
    const Value& right = frame_[instruction.c];
    const auto arithmetic = [&](const char* symbol) {
        type_error("Arithmetic", symbol, "number", left, right);
    };
    const auto comparison = [&](const char* symbol) {
        type_error("Comparison", symbol, "number", left, right);
    };
    switch (instruction.operation) {
        case Operation::Add: return arithmetic("+");
        case Operation::Subtract: return arithmetic("-");
        case Operation::Multiply: return arithmetic("*");
        case Operation::Divide:
        case Operation::Remainder:
            if (are_numbers(left, right)) {
                return fail_with("DivisionByZeroError", "Division by zero.");
            }
            return arithmetic(instruction.operation == Operation::Divide ? "/" : "%");
        case Operation::Less: return comparison("<");
        case Operation::LessEqual: return comparison("<=");
        case Operation::Greater: return comparison(">");
        case Operation::GreaterEqual: return comparison(">=");
        case Operation::And: return type_error("Logical", "AND", "boolean", left, right);
        default: return type_error("Logical", "OR", "boolean", left, right);
    }
}

void Machine::unary_error(const Instruction& instruction) {
    const Value& value = frame_[instruction.b];
    const char* const type = type_name(value.type());
    if (instruction.operation == Operation::Not) {
        return fail_on(
            value, "TypeError",
            std::string("Logical operator 'NOT' requires a boolean operand, got ") + type + ".");
    }
    fail_on(value, "TypeError",
            std::string("Unary operator '") +
                (instruction.operation == Operation::Negate ? '-' : '+') +
                "' requires a number operand, got " + type + ".");
}

void Machine::index_error(const Value& list, const Value& index) {
    if (!list.is_list()) {
        return fail_on(list, "TypeError",
                       std::string("Cannot access index on non-list value (type: ") +
                           type_name(list.type()) + ").");
    }
    std::string shown;
    append_converted(shown, index);
    if (shown.size() > kShownBytes) {
        size_t end = kShownBytes;
        while (end > 0 && utf8::continues(shown[end])) --end;
        shown.replace(end, std::string::npos, "…");
    }
    if (!index.is_number() || index.number() != std::trunc(index.number()) ||
        std::isinf(index.number())) {
        return fail_with("TypeError", std::string("List index must be an integer, got ") +
                                          type_name(index.type()) + " (" + shown + ").");
    }
    fail_with("IndexOutOfBoundsError", "Index " + shown + " is out of bounds for array of length " +
                                           std::to_string(list.elements().size()) + ".");
}

void Machine::member_error(const Instruction& instruction) {
    const Value& object = frame_[instruction.b];
    const std::string property(string(instruction.c));
    const std::string kind = kind_name(static_cast<NodeKind>(instruction.extra));
    if (object.is_object()) {
        fail_with(
            "MemberAccessError",
            "Property '" + property + "' does not exist on object resulting from '" + kind + "'.");
        error_.hint = hint_at_key(property, object);
        return;
    }
    fail_on(object, "MemberAccessError",
            "Cannot access property '" + property + "' on non-object value resulting from '" +
                kind + "' (type: " + type_name(object.type()) + ").");
}

// ---------------------------------------------------------------- running

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

// Returns the operand of a list or call. Moves a temporary value.
Value Machine::take(uint32_t operand) {
    Value& value = frame_[operand & ~Program::kTemporary];
    return operand & Program::kTemporary ? std::move(value) : Value(value);
}

Value Machine::make_object(const Program::Shape& shape, uint32_t first_operand) {
    return memory_.ordered_object(
        shape.count,
        [&](uint32_t i) { return program_->strings_[program_->keys_[shape.first + i]]; },
        [&](uint32_t i) { return take(program_->operands_[first_operand + i]); });
}

// ---------------------------------------------------------------- tools

// False if the machine must stop because it failed, waits or pauses.
bool Machine::call_tool(const Instruction& instruction) {
    const Program::CallSite& site = program_->calls_[instruction.c];
    const std::string_view tool = string(site.tool);
    if (limits_.calls > 0 && calls_ == limits_.calls) {
        fail_with("CallLimitError",
                  "The script makes more CALLs than its limit of " + std::to_string(limits_.calls));
        return false;
    }
    ++calls_;
    Value arguments = make_object(site.arguments, instruction.b);
    if (!arguments.is_defined()) {
        refuse();
        return false;
    }
    std::string text;
    if (!tools_.check(tool, arguments, memory_, text)) {
        fail_with("ToolArgumentError",
                  "Invalid arguments for tool '" + std::string(tool) + "': " + text);
        return false;
    }
    if (!arguments.is_defined()) {
        refuse();
        return false;
    }
    result_ = instruction.a;
    call_.tool = tool;
    call_.arguments = std::move(arguments);
    call_.line = site.line;
    call_.column = site.column;
    state_ = State::Waiting;
    Value result;
    switch (tools_.start(call_, memory_, result, text)) {
        case Tools::Outcome::Returned: answer(std::move(result)); break;
        case Tools::Outcome::Failed: fail(text); break;
        case Tools::Outcome::Waiting: break;  // resume() may have been called already
    }
    if (state_ != State::Ready || std::exchange(is_paused_, false)) return false;
    --at_;  // `next` of execute() already points after the call
    return true;
}

void Machine::answer(Value result) {
    // at_ is the call until refuse() has used it for the position of an error.
    if (!result.is_defined()) return refuse();
    frame_[result_] = std::move(result);
    call_.arguments = Value();
    ++at_;
    state_ = State::Ready;
}

bool Machine::resume(const Value& result) {
    if (state_ != State::Waiting) return false;
    answer(result);
    return true;
}

bool Machine::resume_json(std::string_view text) {
    if (state_ != State::Waiting) return false;
    json::Document large;
    json::Document& document = text.size() > kLargeResult ? large : answer_;
    json::ParseError problem;
    if (!document.parse(text, problem)) return fail("The result is not JSON: " + problem.message);
    return resume_json(document.root());
}

bool Machine::resume_json(json::Value value) {
    if (state_ != State::Waiting) return false;
    answer(memory_.from_json(value));
    return true;
}

bool Machine::fail(std::string_view message) {
    if (state_ != State::Waiting) return false;
    const std::string tool(call_.tool);
    fail_with("ToolExecutionError", "Error executing tool '" + tool +
                                        "': Execution failed for tool '" + tool +
                                        "': " + std::string(message));
    return true;
}

// ---------------------------------------------------------------- functions

bool Machine::print(const Value& value) {
    std::string line;
    append_text(line, value);
    printed_ += line.size() + 1;
    if (limits_.output_bytes > 0 && printed_ > limits_.output_bytes) {
        fail_with("OutputLimitError",
                  "The script prints more than " + std::to_string(limits_.output_bytes) + " bytes");
        return false;
    }
    if (on_output_) on_output_(line);
    else output_.push_back(std::move(line));
    return true;
}

bool Machine::format(const Value& text, const Value& object, Value& result) {
    if (!text.is_string()) {
        fail_on(text, "TypeError",
                std::string("FORMAT function's first argument must be a string, got ") +
                    type_name(text.type()));
        return false;
    }
    if (!object.is_object()) {
        fail_on(object, "TypeError",
                std::string("FORMAT function's second argument must be an object, got ") +
                    type_name(object.type()));
        return false;
    }
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const std::string_view from = text.text();
    const uint64_t most = value_limit(limits_);
    std::string out;
    for (size_t at = 0; at < from.size();) {
        const size_t brace = std::min(from.find_first_of("{}", at), from.size());
        out += from.substr(at, brace - at);
        at = brace;
        if (at == from.size()) break;
        size_t end = at + 1;
        if (from[at] == '{' && end < from.size() && is_letter(from[end])) {
            while (end < from.size() &&
                   (is_letter(from[end]) || (from[end] >= '0' && from[end] <= '9'))) {
                ++end;
            }
            if (end < from.size() && from[end] == '}') {
                const std::string_view name = from.substr(at + 1, end - at - 1);
                const Value* const value = object.find(name);
                if (value == nullptr) {
                    fail_with("RuntimeError", "Key '" + std::string(name) +
                                                  "' not found in FORMAT arguments object");
                    error_.hint = hint_at_key(name, object);
                    return false;
                }
                append_text(out, *value);
                // Stop early: memory_.string() refuses the text below.
                if (out.size() > most) break;
                at = end + 1;
                continue;
            }
        }
        out += from[at];
        at += at + 1 < from.size() && from[at + 1] == from[at] ? 2 : 1;
    }
    result = memory_.string(out);
    if (result.is_defined()) return true;
    refuse();
    return false;
}

// HAS and GET: follows a path such as "exits.0.name" from member to member and element to element.
bool Machine::look_up(const Instruction& instruction, Value& result, uint64_t& work) {
    const bool is_get = instruction.c == 3;
    const char* const name = is_get ? "GET" : "HAS";
    Value at = take(program_->operands_[instruction.b]);
    const Value path = take(program_->operands_[instruction.b + 1]);
    Value otherwise = is_get ? take(program_->operands_[instruction.b + 2]) : Value();
    const auto refuse_argument = [&](const char* which, const char* wanted, const Value& given) {
        fail_on(given, "TypeError",
                std::string(name) + " function's " + which + " argument must be " + wanted +
                    ", got " + type_name(given.type()));
        return false;
    };
    if (!at.is_object() && !at.is_list()) {
        return refuse_argument("first", "an object or a list", at);
    }
    if (!path.is_string()) return refuse_argument("second", "a string", path);
    const std::string_view keys = path.text();
    work = keys.size();
    bool found = true;
    for (size_t begin = 0; found && begin <= keys.size();) {
        const size_t end = std::min(keys.find('.', begin), keys.size());
        const std::string_view key = keys.substr(begin, end - begin);
        begin = end + 1;
        const Value* next = nullptr;
        uint32_t index = 0;
        if (at.is_object()) {
            next = at.find(key);
        } else if (at.is_list() && is_integer_key(key, index) && index < at.elements().size()) {
            next = &at.elements()[index];
        }
        found = next != nullptr;
        if (found) at = Value(*next);
    }
    if (!is_get) result = Value::boolean(found);
    else result = found ? std::move(at) : std::move(otherwise);
    return true;
}

}  // namespace narratoria::script
