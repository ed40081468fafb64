// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of a CALL, checked against the schema of the tool.

#include <string>

#include "base/json/tape.hpp"
#include "script/value.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::session {

// Reuses its buffers, so that a CALL allocates little.
class ScriptArguments {
public:
    // Checks the arguments. Removes members that the schema does not name, at any depth where it
    // lists all members; `memory` then allocates the object that replaces `arguments`, which is
    // undefined beyond a limit. Returns false if `faults` holds faults, in the terms of the
    // language. `schema` NULL: every object is valid.
    bool check(const tool::Schema* schema, script::Value& arguments, script::Memory& memory,
               std::string& faults);
    // The arguments of the last successful check, as JSON.
    const std::string& json() const { return json_; }

private:
    // False if a number is not finite, which JSON cannot represent; `faults` names it.
    bool write_json(const script::Value& arguments, std::string& faults);

    std::string json_;
    json::Document document_;
};

}  // namespace narratoria::session
