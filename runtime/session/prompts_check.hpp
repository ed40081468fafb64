// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks how the parts of a story for the template narrator fit together.

#include "base/fault.hpp"
#include "session/prompts.hpp"
#include "session/story.hpp"

namespace narratoria::session {

// Appends warnings of choices that no pattern matches, of patterns and answers that are never used,
// and those of check_state_uses(). The prompts must have no fault.
void check_prompts(const Story& story, const Prompts& prompts, Faults& faults);

}  // namespace narratoria::session
