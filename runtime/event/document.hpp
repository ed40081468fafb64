// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a tool's printed output as a document, for tool authors.

#include <string_view>

#include "base/fault.hpp"

namespace narratoria::event {

// Returns all faults and warnings of `text`: one event that may span lines, or one event per line
// (NDJSON). They are sorted by their position in the text, to which their offsets refer. Events are
// checked one by one. With several lines, a missing "done" and events after it are warnings. A
// document without an event is a fault.
Faults check_document(std::string_view text);

}  // namespace narratoria::event
