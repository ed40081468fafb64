// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria {

// A rule that a document breaks, and where.
struct Fault {
    std::string rule;     // for programs, for example "plan-tool-id-unique"
    std::string pointer;  // JSON Pointer to the value, or to where it should be
    size_t byte = 0;      // in the document (of an event: in its line), from 0
    std::string message;  // for people: what is wrong and what to do
    std::string file;     // relative to the story, where a document is several files; else empty
    // Where the byte is for a person, from 1; 0: it is counted in the document's text. Set where a
    // fault has a file, whose text the reader of the fault does not hold.
    size_t line = 0;
    size_t column = 0;
    // The document is valid all the same: the runtime accepts it and reports a warning.
    bool is_warning = false;
};

using Faults = std::vector<Fault>;

// Sets line and column of the faults from `first` on, whose bytes count in `text`.
void place_faults(Faults& faults, size_t first, std::string_view text);

// [{"file","line","column","byte","pointer","rule","level","message"}], the form of nar_validate.
// `text` is what the bytes count in; `file` stands only where a fault has one, `level` in a warning. Takes one pass over the text.
void append_faults(std::string& out, const Faults& faults, std::string_view text);

// One line a fault: "line 3, column 5: /tools/0/toolId: message [rule]".
std::string describe_faults(const Faults& faults, std::string_view text);

}  // namespace narratoria
