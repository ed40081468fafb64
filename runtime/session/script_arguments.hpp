// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of a CALL, checked against the schema of the tool.

#include <string>

#include "base/json/tape.hpp"
#include "script/value.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::session {

// Keeps what a check needs, so that a CALL allocates little.
class ScriptArguments {
public:
    // Removes the members that the schema does not name, at any depth, where it lists all: `memory`
    // makes the object that replaces `arguments`, undefined beyond a limit. False: `faults` has all faults, in the words
    // of the language. `schema` NULL: any object fits.
    bool check(const tool::Schema* schema, script::Value& arguments, script::Memory& memory,
               std::string& faults);
    // Those of the last check that succeeded, as JSON.
    const std::string& json() const { return json_; }

private:
    // False: a number has no form in JSON, and `faults` names it.
    bool write_json(const script::Value& arguments, std::string& faults);

    std::string json_;
    json::Document document_;
};

}  // namespace narratoria::session
