// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text with names in braces, as a story writes it: "You light {thing}." {{ and }} are braces.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::session {

// A name and what stands for it.
struct Binding {
    std::string_view name;
    std::string_view value;
};
using Bindings = std::vector<Binding>;

struct TemplatePart {
    bool is_name;
    std::string text;  // the name, or plain text with single braces
};

// Where a text is no template, and why; the sentence ends with what to write instead.
struct TemplateProblem {
    size_t byte = 0;  // in the text
    std::string message;
};

// The parts of a template, in order; no two plain texts follow each other. Nothing when a brace is
// alone or a name is none.
std::optional<std::vector<TemplatePart>> parse_template(std::string_view text,
                                                        TemplateProblem& problem);

// Puts values in the place of names. What is put in is not looked at again. A text that is no
// template, and a name that is not bound, stay as they are.
std::string expand_template(std::string_view text, const Bindings& bindings);

}  // namespace narratoria::session
