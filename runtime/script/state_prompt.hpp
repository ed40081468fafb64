// SPDX-License-Identifier: Apache-2.0
#pragma once
// The session's state as text for a model (formatStateForPrompt).

#include <string>

#include "base/json/tape.hpp"
#include "state/metadata.hpp"

namespace narratoria::script {

// One line "key: value (description)" for each member of `state`, an object, in its order.
std::string format_state_for_prompt(json::Value state, const state::Metadata& metadata);

}  // namespace narratoria::script
