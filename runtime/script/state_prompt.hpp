// SPDX-License-Identifier: Apache-2.0
#pragma once
// The session's state as text for a model (formatStateForPrompt).

#include <string>

#include "base/json/tape.hpp"
#include "state/metadata.hpp"

namespace narratoria::script {

// Returns one line "key: value (description)" for each member of the object `state`, in its order.
// `calls_formatters` must be false inside a formatter, which would otherwise call itself endlessly.
std::string format_state_for_prompt(json::Value state, const state::Metadata& metadata,
                                    bool calls_formatters = true);

}  // namespace narratoria::script
