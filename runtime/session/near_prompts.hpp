// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::session {

// A prompt that the story understands.
struct KnownPrompt {
    std::string_view reduced;  // PromptPattern::reduced(), without captures
    std::string_view shown;
};

// Returns the prompts that a player who wrote `reduced` (PlayerWords::reduced) probably meant, at
// most three: first one with different letters, then those that have all its words and at most two
// more, or all of whose words it has.
std::vector<std::string_view> near_prompts(std::string_view reduced,
                                           const std::vector<KnownPrompt>& known);

}  // namespace narratoria::session
