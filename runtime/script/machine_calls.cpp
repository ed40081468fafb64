// SPDX-License-Identifier: Apache-2.0
// The CALLs of a script and the answers to them.
#include <utility>

#include "base/json/tape.hpp"
#include "script/machine.hpp"

namespace narratoria::script {
namespace {

// The memory for a longer result is freed when the result was taken.
constexpr size_t kLargeResult = 1024;

}  // namespace

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

}  // namespace narratoria::script
