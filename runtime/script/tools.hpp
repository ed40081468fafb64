// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools that a script may call.

#include <cstdint>
#include <string>
#include <string_view>

#include "script/value.hpp"

namespace narratoria::script {

// A call with evaluated and checked arguments.
struct ToolCall {
    std::string_view tool;  // valid as long as the machine
    Value arguments;        // an object
    uint32_t line = 0;
    uint32_t column = 0;
};

// For each CALL the machine calls has(), evaluates the arguments, and calls check() and start().
// These functions must not call run(), resume() or fail() of that machine. Values must not outlive
// it.
class Tools {
public:
    enum class Outcome : uint8_t {
        Returned,  // `result` is set
        Failed,    // `message` has the reason
        Waiting,   // Machine::resume() or fail() will be called
    };

    virtual ~Tools() = default;

    virtual bool has(std::string_view tool) = 0;

    // What to do about a name that has() does not know, such as a similar name; may be empty.
    virtual std::string hint(std::string_view) { return {}; }

    // Checks `arguments` (an object) against the tool's schema, and removes members that the schema
    // does not name; `memory` then allocates the object that replaces it. If it returns false,
    // `faults` has all faults, separated by "; ", each in the form
    // "Parameter 'o.k': Required (Expected number, received undefined)".
    virtual bool check(std::string_view tool, Value& arguments, Memory& memory,
                       std::string& faults) = 0;

    // Starts the tool.
    virtual Outcome start(const ToolCall& call, Memory& memory, Value& result,
                          std::string& message) = 0;
};

}  // namespace narratoria::script
