// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text templates of a story, such as "You light {thing}." {{ and }} are single braces.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::session {

// A name and its value.
struct Binding {
    std::string_view name;
    std::string_view value;
};
using Bindings = std::vector<Binding>;

struct TemplatePart {
    bool is_name;
    std::string text;  // the name, or plain text with single braces
};

// The position and reason of a syntax error. The message ends with what to write instead.
struct TemplateProblem {
    size_t byte = 0;  // in the text
    std::string message;
};

// Splits a template into its parts, in order. Two plain texts are never adjacent. Returns nothing
// if a brace is unmatched or a name is invalid.
std::optional<std::vector<TemplatePart>> parse_template(std::string_view text,
                                                        TemplateProblem& problem);

// Replaces each name by its value. Values are not expanded again. An invalid template and unbound
// names stay unchanged.
std::string expand_template(std::string_view text, const Bindings& bindings);

}  // namespace narratoria::session
