// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool printed, checked as a document: for authors, before any runtime reads it.

#include <string_view>

#include "base/fault.hpp"

namespace narratoria::event {

// Every fault and warning of one event that may span lines, or else of events a line each (NDJSON), in the
// order of the text, whose bytes they count in. Each event is judged by itself; a document without
// an event is a fault.
Faults check_document(std::string_view text);

}  // namespace narratoria::event
