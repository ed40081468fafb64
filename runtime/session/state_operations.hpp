// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an answer of a story sets in the state:
// {"/door/open": true, "/coins": {"+": -1}, "/inventory": {"add": "lamp"}}.
//
// Each key is a JSON Pointer, which may contain names in braces. A value replaces the one in the
// state, and null removes it. An object is an operation: "+" adds to a number, "add" appends to a
// list unless it has the value, "remove" removes from a list. A missing number is 0, and a missing
// list is empty. Operations on one place follow each other.

#include <functional>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "session/state_view.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {

// Checks the form. Calls `report` for each fault, and `mention` for each pointer with a JSON value
// that the state may then have there; it is empty if that is not known. Calls `check` for each
// pointer, which may contain names.
struct StateOperationsReader {
    std::function<void(json::Value at, std::string message)> report;
    std::function<void(json::Value at, std::string_view pointer, std::string operand)> mention;
    std::function<void(json::Value at, std::string_view text)> check;

    void read(json::Value operations) const;
};

// Applies operations whose form is valid. Names have the values of before. Returns the reason, and
// changes nothing, if a name in a pointer has no value, or if the state does not allow an operation:
// a pointer into a list, because a patch can only replace the whole list.
std::string apply(json::Value operations, const NameLookups& names, StateView& state);

// Why a pointer that leads into a list cannot be set.
std::string describe_within_list(std::string_view pointer);

}  // namespace narratoria::session
