// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks what the parts of a story say about its state.

#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "session/prompts.hpp"
#include "session/story.hpp"

namespace narratoria::session {

inline constexpr const char* kStateSchema = "state.schema.json";

// Checks the story's [state], and every use of the state in prompts.json, against the story's
// state.schema.json, a JSON Schema. Appends faults.
void check_state_schema(const Story& story, const Prompts& prompts, std::string_view schema,
                        Faults& faults);

// Appends warnings of misspelled names of the state and, without a schema, of wrong types. The
// prompts must have no fault.
void check_state_uses(const Story& story, const Prompts& prompts, Faults& faults);

// The places in a state to which a pattern_of_pointer() may lead, 1000 at most: a name stands for each
// key of the object there, or for each position of the list.
std::vector<std::string> places_like(json::Value state, std::string_view pattern);

}  // namespace narratoria::session
