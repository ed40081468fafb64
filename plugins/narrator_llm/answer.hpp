// SPDX-License-Identifier: Apache-2.0
#pragma once
// The answer of a model: {"narrative": "…", "tools": [{"tool": "…", "input": {…}}], "choices": ["…"]}.
// Models write more and less than that, so it is read leniently and checked strictly.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::llm {

struct Answer {
    struct ToolUse {
        std::string tool;
        std::string input;  // a JSON object
    };
    std::string narrative;
    std::vector<ToolUse> tools;
    std::vector<std::string> choices;
};

// What follows the thoughts at the beginning of an answer, "<think>…</think>"; nothing as long as they
// have not ended.
std::string_view without_thoughts(std::string_view text);

// The text without white space around it.
std::string_view trimmed(std::string_view text);

// The first byte of the object in an answer, or npos. Words before it may have braces too.
std::size_t find_object(std::string_view text);

// Reads the first JSON object in `text`: fences and words around it are ignored, and an end that was
// cut off is completed as far as it is certain. Text without an object is a narrative. `tools`: the
// names that a tool may have. Returns what is wrong, for the model, or nothing.
std::string read_answer(std::string_view text, const std::vector<std::string>& tools,
                        Answer& answer);

// Returns the JSON text with what is missing at its end: a cut string, number or name is dropped
// with its member, a cut narrative is kept. Empty if it was cut within "tools".
std::string completed(std::string_view json);

// Returns the answer as JSON, as the model should have written it.
std::string to_json(const Answer& answer);

// Returns Plan JSON. `continues`: the narrator is asked again when the tools have run. `metadata`: a
// JSON object, or empty.
std::string to_plan(const Answer& answer, std::string_view request_id, bool continues,
                    std::string_view metadata);

}  // namespace narratoria::llm
