// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats the faults of documents (narratoria/validate.h) for people.

#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"
#include "narratoria/status.hpp"

namespace narratoria::command {

// Returns "file:line:column: pointer: message [rule]" for each fault. A fault that names a file (of
// a story) is shown with that file.
std::vector<std::string> fault_lines(const terminal::json::Value& faults,
                                     const std::string& display_name);

// Throws Refused with all faults of a document that the library refused, or with the message of any
// other error. `what` names the document; `unchanged` is for example "nothing was run".
[[noreturn]] void refuse_document(const Error& error, const std::string& display_name,
                                  std::string_view what, std::string_view unchanged);

// The same for a session, which may have a story, a project and a store: names the refused one.
// `project` may be empty: the story's folder can be a project.
[[noreturn]] void refuse_session(const Error& error, const std::string& story,
                                 const std::string& project, std::string_view unchanged);

}  // namespace narratoria::command
