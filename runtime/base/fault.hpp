// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria {

// A violated rule and its position in a document.
struct Fault {
    std::string rule;     // stable id for programs, for example "plan-tool-id-unique"
    std::string pointer;  // JSON Pointer to the value, or to where it is missing
    size_t byte = 0;      // offset in the document (for an event: in its line), from 0
    std::string message;  // human-readable: what is wrong and what to do
    std::string file;  // relative to the story, if a document consists of several files; else empty
    // Human-readable position, from 1. 0: computed from `byte` and the document's text. Must be set
    // if `file` is set, because the reader of the fault does not have that file's text.
    size_t line = 0;
    size_t column = 0;
    // False if the fault concerns a file or a folder as a whole. byte, line and column are then 0.
    bool has_position = true;
    // A warning: the document is valid, and the runtime accepts it and reports the fault.
    bool is_warning = false;
    std::string tool{};  // the name of the tool that the fault concerns, for programs; may be empty
};

using Faults = std::vector<Fault>;

// Sets line and column of the faults from index `first` on. Their `byte` must refer to `text`.
void place_faults(Faults& faults, size_t first, std::string_view text);

// Appends [{"file","line","column","byte","pointer","rule","level","tool","message"}], the format
// of nar_validate. `byte` refers to `text`. "file" and "tool" are present only if set, the position
// only if there is one, "level" only for warnings. Scans the text once.
void append_faults(std::string& out, const Faults& faults, std::string_view text);

// One line per fault: "line 3, column 5: /tools/0/toolId: message [rule]".
std::string describe_faults(const Faults& faults, std::string_view text);

}  // namespace narratoria
