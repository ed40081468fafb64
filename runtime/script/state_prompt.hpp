// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared state of a script's tools as text for a model (formatStateForPrompt).

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"

namespace narratoria::script {

// What is known about a key of the state.
struct StateDescription {
    std::string description;  // empty: none
    // The value as text; empty: the default form.
    std::function<std::string(std::string_view value_json)> formatter;
};

// One line "key: value (description)" for each member of `state`, an object, in its order. `describe`
// is asked for each key; it may be empty.
std::string format_state_for_prompt(
    json::Value state,
    const std::function<std::optional<StateDescription>(std::string_view key)>& describe = {});

}  // namespace narratoria::script
