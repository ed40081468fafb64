// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a script may call.

#include <cstdint>
#include <string>
#include <string_view>

#include "script/value.hpp"

namespace narratoria::script {

// A call whose arguments are evaluated and checked.
struct ToolCall {
    std::string_view tool;  // valid while the machine lives
    Value arguments;        // an object
    uint32_t line = 0;
    uint32_t column = 0;
};

// The machine asks in this order: has(), when the CALL begins; check(), when the arguments are
// evaluated; start(). These functions must not call run(), resume() or fail() of the machine that
// asks. Values must not outlive that machine.
class Tools {
public:
    enum class Outcome : uint8_t {
        Returned,  // `result` is set
        Failed,    // `message` says why
        Waiting,   // Machine::resume() or fail() will answer
    };

    virtual ~Tools() = default;

    virtual bool has(std::string_view tool) = 0;

    // Checks `arguments` (an object) against the tool's schema and removes what the schema does not
    // name: `memory` makes the object that replaces it. False: `faults` has all of them, separated by
    // "; ", each as "Parameter 'o.k': Required (Expected number, received undefined)".
    virtual bool check(std::string_view tool, Value& arguments, Memory& memory,
                       std::string& faults) = 0;

    // Starts the tool. A tool that answers at once needs no further call.
    virtual Outcome start(const ToolCall& call, Memory& memory, Value& result,
                          std::string& message) = 0;
};

}  // namespace narratoria::script
