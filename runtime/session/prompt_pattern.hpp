// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns of what a player may write: "light {thing} please".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/text_template.hpp"

namespace narratoria::session {

// What the player wrote, made ready for matching once: ASCII letters in lower case, runs of white
// space as one space, none at the ends, no . ! ? at the end. It remembers where everything stood,
// because captures are the player's own bytes.
class NormalizedPrompt {
public:
    // `text` must outlive it.
    explicit NormalizedPrompt(std::string_view text);

    std::string_view text() const { return normalized_; }
    std::string_view original(size_t begin, size_t end) const {
        return original_.substr(offsets_[begin], offsets_[end] - offsets_[begin]);
    }

private:
    std::string_view original_;
    std::string normalized_;
    std::vector<size_t> offsets_;  // of each byte, and of the end
};

// Matches whole prompts. A capture takes one character or more, as few as possible. Takes time
// proportional to the prompt, and at worst to prompt × pattern.
class PromptPattern {
public:
    static std::optional<PromptPattern> compile(std::string_view text, TemplateProblem& problem);

    const std::vector<std::string>& names() const { return names_; }

    // True and the captures; they point into the prompt and into this pattern.
    bool match(const NormalizedPrompt& prompt, Bindings& captures) const;

private:
    std::string before_;                 // in front of the first capture
    std::vector<std::string> names_;     // of the captures
    std::vector<std::string> literals_;  // behind each capture; only the last may reach the end
};

}  // namespace narratoria::session
