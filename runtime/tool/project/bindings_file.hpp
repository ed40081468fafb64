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

// A tool as one file describes it. Its pack and the project's settings complete it.
struct Draft {
    Binding binding;
    std::optional<RunnerKind> runner;
    std::optional<bool> sandbox;
    std::optional<bool> warm;
    std::optional<uint32_t> timeout_ms;
    // True if the file has errors about this tool. They are the faults [first_fault, end_fault) of
    // the list, unless the list is full.
    bool is_faulty = false;
    size_t first_fault = 0;
    size_t end_fault = 0;
    bool has_unknown_runner = false;
    Fault place;  // where the file names the tool; the rest of the fault is empty
    std::map<std::string, Fault> fields;  // the places of the fields that are set
};

// True if `text` has the form module:function.
bool is_entry(std::string_view text);

// Reads the tools of .namel3ss/tools.yaml, a pack's tools.yaml, or a pack's "entrypoints".
std::vector<Draft> read_tools(File& file, const Node& tools, const std::string& pointer);

// Warns of each field of the draft that has no effect with this runner.
void warn_of_unused(const Draft& draft, RunnerKind runner, Faults& faults);

// Reads a whole tools.yaml.
std::vector<Draft> read_bindings(File& file);

}  // namespace narratoria::tool::project
