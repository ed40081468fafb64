// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns for a player's prompts, such as "light {thing} please".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/text_template.hpp"

namespace narratoria::session {

// A prompt normalized for matching: case is folded, each run of white space becomes one space, and
// white space at both ends and . ! ? at the end are removed. Keeps the original offset of each
// byte, because a capture returns the player's bytes unchanged.
class NormalizedPrompt {
public:
    // `text` is UTF-8 and must outlive the object.
    explicit NormalizedPrompt(std::string_view text);

    std::string_view text() const { return normalized_; }
    std::string_view original(size_t begin, size_t end) const {
        return original_.substr(offsets_[begin], offsets_[end] - offsets_[begin]);
    }

private:
    std::string_view original_;
    std::string normalized_;
    std::vector<size_t> offsets_;  // original offset of each byte, and of the end
};

// Matches whole prompts. A capture takes at least one character, and as few as possible. Matching
// is linear in the prompt's size; the worst case is prompt × pattern. Immutable after compile(), so
// thread-safe.
class PromptPattern {
public:
    static std::optional<PromptPattern> compile(std::string_view text, TemplateProblem& problem);

    const std::vector<std::string>& names() const { return names_; }

    // On a match, fills `captures` with views into the prompt and into this pattern.
    bool match(const NormalizedPrompt& prompt, Bindings& captures) const;

private:
    std::string before_;                 // the text before the first capture
    std::vector<std::string> names_;     // names of the captures
    std::vector<std::string> literals_;  // the text after each capture; only the last is anchored
};

}  // namespace narratoria::session
