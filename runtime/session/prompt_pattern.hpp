// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns for a player's prompts, such as "light {thing} please".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/text_template.hpp"
#include "session/vocabulary.hpp"

namespace narratoria::session {

// A prompt in the form in which it is compared with patterns. Keeps the original offset of each
// byte, because a capture returns the player's bytes unchanged.
class NormalizedPrompt {
public:
    // Folds case, turns each run of white space into one space, and removes white space at both
    // ends and . ! ? at the end. `text` is UTF-8 and must outlive the object.
    explicit NormalizedPrompt(std::string_view text);
    // Joins the words that matter by spaces.
    NormalizedPrompt(std::string_view text, const Vocabulary& vocabulary);

    std::string_view text() const { return normalized_; }
    std::string_view original(size_t begin, size_t end) const {
        return original_.substr(offsets_[begin], offsets_[end] - offsets_[begin]);
    }

private:
    std::string_view original_;
    std::string normalized_;
    std::vector<size_t> offsets_;  // original offset of each byte, and of the end
};

// What the player wrote, in both forms.
struct PlayerWords {
    PlayerWords(std::string_view text, const Vocabulary& vocabulary)
        : exact(text), reduced(text, vocabulary) {}
    NormalizedPrompt exact;
    NormalizedPrompt reduced;
};

// Matches whole prompts. A capture takes at least one character, and as few as possible. Matching
// is linear in the prompt's size; the worst case is prompt × pattern. Immutable after compile(), so
// thread-safe.
class PromptPattern {
public:
    static std::optional<PromptPattern> compile(std::string_view text, const Vocabulary& vocabulary,
                                                TemplateProblem& problem);

    const std::vector<std::string>& names() const { return names_; }
    // The words that matter, with \x01 for each capture.
    const std::string& reduced() const { return reduced_text_; }

    // True if it has no word of its own.
    bool takes_anything() const { return reduced_text_ == "\x01"; }

    // On a match, these fill `captures` with views into the prompt and into this pattern. The first
    // one compares the exact forms, the second one the reduced forms if the exact ones differ.
    bool matches_exactly(const NormalizedPrompt& prompt, Bindings& captures) const {
        return match(exact_, prompt, captures);
    }
    bool matches(const PlayerWords& words, Bindings& captures) const {
        return match(exact_, words.exact, captures) ||
               (!reduced_text_.empty() && match(reduced_, words.reduced, captures));
    }

private:
    struct Form {
        std::string before;                 // the text before the first capture
        std::vector<std::string> literals;  // after each capture; only the last is anchored
    };
    bool match(const Form& form, const NormalizedPrompt& prompt, Bindings& captures) const;

    std::vector<std::string> names_;  // of the captures
    Form exact_;
    Form reduced_;
    std::string reduced_text_;
};

}  // namespace narratoria::session
