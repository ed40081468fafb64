// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/project/binding.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

// What a file says of one tool. Its pack and the project's settings complete it.
struct Draft {
    Binding binding;
    std::optional<RunnerKind> runner;
    std::optional<bool> sandbox;
    std::optional<bool> warm;
    std::optional<uint32_t> timeout_ms;
    // The file is wrong about the tool: the faults of the list from `first_fault` to before `end_fault`
    // say how, unless there are too many.
    bool is_faulty = false;
    size_t first_fault = 0;
    size_t end_fault = 0;
    bool has_unknown_runner = false;
    Fault place;  // where the file names the tool; the rest of the fault is empty
    std::map<std::string, Fault> fields;  // the places of the fields that it has
};

// True for module:function.
bool is_entry(std::string_view text);

// Reads the tools of .namel3ss/tools.yaml, of a pack's tools.yaml, or of a pack's entrypoints.
std::vector<Draft> read_tools(File& file, const Node& tools, const std::string& pointer);

// A warning for each field that the draft has, and that tools of this runner do not use.
void warn_of_unused(const Draft& draft, RunnerKind runner, Faults& faults);

// All of a tools.yaml.
std::vector<Draft> read_bindings(File& file);

}  // namespace narratoria::tool::project
