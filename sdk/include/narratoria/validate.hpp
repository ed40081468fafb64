// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks documents against their schema and against the rules that a schema cannot express.
// Thread-safe.

#include "narratoria/exceptions.hpp"
#include "narratoria/status.hpp"
#include "narratoria/text.hpp"
#include "narratoria/validate.h"

#include <cstdint>
#include <string_view>

namespace narratoria {

enum class Document : std::uint32_t {
    Events = NAR_DOCUMENT_EVENTS,  // a tool's output: NDJSON
    Plan = NAR_DOCUMENT_PLAN,
    Result = NAR_DOCUMENT_RESULT,
    Story = NAR_DOCUMENT_STORY,    // the text is the path of the story's folder
    Plugin = NAR_DOCUMENT_PLUGIN,  // a plugin's metadata
    Tool = NAR_DOCUMENT_TOOL,      // a tool's manifest, NAME.tool.json
    // The text is the path of a manifest. The name in the manifest must match the file name.
    ToolFile = NAR_DOCUMENT_TOOL_FILE,
    Project = NAR_DOCUMENT_PROJECT,  // the text is the path of a Namel3ss project's folder
};

enum class Warnings : std::uint32_t {
    Omitted = 0,
    Listed = NAR_DOCUMENT_WARNINGS,  // among the faults, with "level": "warning"
};

// Returns all faults as a JSON array, in the order in which they occur in the text; "[]" if there
// are none. Throws if the document cannot be checked, for example because the story's folder does
// not exist.
inline Text validate(Document document, std::string_view text,
                     Warnings warnings = Warnings::Omitted) {
    detail::Check check;
    nar_text* faults = nullptr;
    check(nar_validate(static_cast<std::uint32_t>(document) | static_cast<std::uint32_t>(warnings),
                       detail::to_c(text), &faults, check.details()));
    return Text(faults);
}

}  // namespace narratoria
