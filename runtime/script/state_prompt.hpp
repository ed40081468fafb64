// SPDX-License-Identifier: Apache-2.0
#pragma once
// The session's state as text for a model (formatStateForPrompt).

#include <string>

#include "base/json/tape.hpp"
#include "state/metadata.hpp"

namespace narratoria::script {

// One line "key: value (description)" for each member of `state`, an object, in its order.
// `calls_formatters`: false inside a formatter, which would call itself without end.
std::string format_state_for_prompt(json::Value state, const state::Metadata& metadata,
                                    bool calls_formatters = true);

}  // namespace narratoria::script
