// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults of documents, as narratoria/validate.h lists them, for people.

#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"
#include "narratoria/status.hpp"

namespace narratoria::command {

// "file:line:column: pointer: message [rule]" for each; a fault that names its own file (a story's)
// is shown with that one.
std::vector<std::string> fault_lines(const terminal::json::Value& faults,
                                     const std::string& shown_file);

// Throws Refused with every fault of a document that the library refused; other errors with their
// message. `what` names the document, `unchanged` says what has not happened.
[[noreturn]] void refuse_document(const Error& error, const std::string& shown_file,
                                  std::string_view what, std::string_view unchanged);

// The same for a session of a story, a project, a store, or several: names the one that was refused.
// `project` may be empty: the story's folder can be one.
[[noreturn]] void refuse_session(const Error& error, const std::string& story,
                                 const std::string& project, std::string_view unchanged);

}  // namespace narratoria::command
