// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a model is shown: a fixed beginning, what is left of old turns, the last turns word for word,
// and the current turn, within a budget of tokens.
//
// Servers keep what they computed for the beginning of a request. So the messages of a turn never
// change once it has ended, and old turns leave in large steps.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "narrator_llm/chat.hpp"

namespace narratoria::llm {

// A turn that the player has seen.
struct SeenTurn {
    std::string prompt;
    std::string narrative;
    std::vector<std::string> choices = {};

    bool operator==(const SeenTurn&) const = default;
};

class Conversation {
public:
    // `budget`: tokens of a request and its answer.
    explicit Conversation(std::uint64_t budget) : budget_(budget) {}

    // The turns before this prompt, the oldest first. If they do not continue the turns that are
    // kept, because the session went to another turn, the conversation begins with them.
    void begin_turn(const std::vector<SeenTurn>& before, std::string prompt);
    // Adds a question of the current turn, or an answer to it.
    void add(const char* role, std::string content);
    // False if the last request of the current turn got no answer: there is nothing to say about it.
    bool has_answer() const;
    // Drops what was added after this many messages of the current turn.
    std::size_t size() const { return current_.size(); }
    void keep(std::size_t size) { current_.resize(size); }

    // `rules`: the fixed beginning. `last`: what the last message ends with, which is not kept.
    // `answer_tokens`: left for the answer.
    std::vector<Message> messages(const std::string& rules, const std::string& last,
                                  std::uint64_t answer_tokens);
    // What the server counted for this many bytes.
    void calibrate(std::size_t bytes, std::uint64_t tokens);

private:
    struct Turn {
        SeenTurn seen;
        std::vector<Message> messages;
    };

    std::uint64_t tokens_of(std::size_t bytes) const;
    void end_turn(const SeenTurn& seen);
    void drop_old_turns();

    const std::uint64_t budget_;
    std::deque<Turn> turns_;
    std::deque<std::string> digest_;  // a line for each turn that was dropped
    std::string prompt_;              // of the current turn
    std::vector<Message> current_;
    double bytes_per_token_ = 3.5;
};

}  // namespace narratoria::llm
