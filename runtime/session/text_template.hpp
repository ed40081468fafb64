// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text templates of a story, such as "You light {thing}." {{ and }} are single braces.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"

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
    // Of a name such as {/list|nothing}: what stands for an empty or missing text.
    std::optional<std::string> otherwise = {};
};

// The position and reason of a syntax error. The message ends with what to write instead.
struct TemplateProblem {
    size_t byte = 0;  // in the text
    std::string message;
};

// What a name refers to, which its form says.
enum class NameKind : uint8_t {
    Plain,  // {thing}: a capture, or {prompt}
    State,  // {/player/name}: a JSON Pointer into the state, which may contain names
    Tool,   // {roll.result.total}: what the tool with the toolId "roll" returned
    Typed   // {thing:/things}: a capture that names a part of the state; only in patterns
};
NameKind kind_of(std::string_view name);

// Splits a template into its parts, in order. Two plain texts are never adjacent. Returns nothing
// if a brace is unmatched or a name is invalid. A pointer in a name may contain names that contain
// none: {/things/{thing}/at}. The part's text is then "/things/{thing}/at".
std::optional<std::vector<TemplatePart>> parse_template(std::string_view text,
                                                        TemplateProblem& problem);

// Returns the text of a name, or nothing if it has none.
using NameLookup = std::function<std::optional<std::string>(std::string_view name)>;
NameLookup look_up_in(const Bindings& bindings);

// The values of names as texts and as JSON.
struct NameLookups {
    NameLookup text;
    NameLookup json;
};

// Replaces each name by its text, which is not expanded again, or by what the template has for an
// empty one. An invalid template and names without a text stay unchanged.
std::string expand_template(std::string_view text, const NameLookup& lookup);

// True for a text, or a list or an object with a text, that may contain a name.
bool may_have_name(json::Value value);
// True for a text that is one name and nothing else. {/list|nothing} is always a text.
bool is_one_name(std::string_view text);
// The same, if the name may have a value that is not a text: it is not a capture.
bool is_one_value(std::string_view text);

// Appends a value with the names in all its texts replaced, but not in keys. A text that is one name
// keeps the type of the name's value.
void append_expanded(std::string& out, json::Value value, const NameLookups& names);

// In the pattern of a pointer, in place of a segment with a name. Not a character of a JSON Pointer
// that a story contains.
inline constexpr char kAnySegment = '\x01';
// Replaces each segment with a name in a JSON Pointer: /things/{thing}/at becomes /things/\x01/at.
std::string pattern_of_pointer(std::string_view pointer);

// Replaces the names in a JSON Pointer, such as /things/{thing}/at. Returns nothing if one of them
// has no text.
std::optional<std::string> expand_pointer(std::string_view pointer, const NameLookup& text_of);

// Returns how a value is shown in a text: a string as it is, the elements of a list and the keys of an
// object separated by commas, null and a missing value as nothing, and everything else as JSON.
std::string shown(json::Value value);

}  // namespace narratoria::session
