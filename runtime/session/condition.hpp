// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conditions on the state in a story: {"/torch/lit": true, "/coins": {">=": 3}}.
//
// A condition is an object, and all its members must hold. A key that begins with / is a JSON
// Pointer into the state: its value equals the given one, or satisfies the given operators. The
// other keys are "not" (a condition), "any" and "all" (lists of conditions). A value that the state
// does not have counts as false, and as 0 for <, <=, >, >= and count. In place of a condition a text may
// stand, the name of a condition. Names in braces are replaced in pointers and in values.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "session/state_view.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {

// Checks the form of a condition. `names`: of the known conditions; `conditions`: all of the story,
// those that may not be used here, too; or empty. Calls `report` for each fault, with the faulty
// value, and `mention` for each test of a value with its pointer and a JSON value that the state may
// have there; it is empty if the test says nothing about the type. Calls `check` for each text that
// may contain names, and `use` for each name of a known condition.
struct ConditionReader {
    std::function<void(json::Value at, std::string message)> report;
    std::function<void(json::Value at, std::string_view pointer, std::string operand)> mention;
    std::function<void(json::Value at, std::string_view text)> check;
    std::function<void(json::Value name)> use;
    const std::vector<std::string_view>& names;
    json::Value conditions = {};

    void read(json::Value condition) const;

private:
    void read_name(json::Value name) const;
    void read_list(json::Value list, std::string_view key) const;
    void read_count(json::Value operand) const;
    void read_operators(std::string_view pointer, json::Value operators) const;
    void check_names(json::Value operand) const;
};

// A pointer has at most 32 segments.
inline constexpr const char* kPointerTooDeep = "a JSON Pointer of a story has at most 32 parts";
bool is_too_deep(std::string_view pointer);

// Whether each named condition holds.
using NamedConditions = std::map<std::string_view, bool>;

// True if the state satisfies a condition whose form is valid. An empty Value always holds.
bool holds(json::Value condition, const StateView& state, const NamedConditions& named,
           const NameLookups& names);

// `conditions`: an object of valid conditions by name, each of which names only those before it; or
// empty. Each is evaluated once, so conditions that name others cannot take exponential time.
NamedConditions evaluate(json::Value conditions, const StateView& state, const NameLookups& names);

}  // namespace narratoria::session
