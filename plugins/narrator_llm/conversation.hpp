// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a model is shown: a fixed beginning, a summary of old turns, the last turns word for word, and
// the current turn, within a budget of tokens.
//
// Servers keep what they computed for the beginning of a request. So the messages of a turn never
// change once it has ended, and old turns leave in large steps. The model sums them up before they
// must leave; without a summary of the model, a line for each turn stays.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
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

// What a conversation needs to go on in another process, or at another turn of the session. It is kept
// with the session, in the metadata of plans.
struct Notes {
    std::vector<std::string> summary;
    // The last turn that it replaces, with the beginning of its narrative.
    std::optional<SeenTurn> left;
};

// What the last message ends with, which is not kept.
struct Ending {
    std::string facts;  // of the state, which are always shown
    std::string state;
};

// The budget has no room for what each request needs. what() says what to do.
class NoRoom : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Conversation {
public:
    // `budget`: tokens of a request and its answer.
    explicit Conversation(std::uint64_t budget) : budget_(budget) {}

    // The turns before this prompt, the oldest first, and the notes of the last one. If they do not
    // continue the turns that are kept, because the session went to another turn, the conversation
    // begins with them.
    void begin_turn(std::span<const SeenTurn> before, const Notes& notes, std::string prompt);
    // Adds a question of the current turn, an eighth of the budget at most, or an answer to it.
    void ask(std::string_view question);
    void answer(std::string content) { add("assistant", std::move(content)); }
    // False if the last request of the current turn got no answer: there is nothing to say about it.
    bool has_answer() const;
    // Drops what was added after this many messages of the current turn.
    std::size_t size() const { return current_.size(); }
    void keep(std::size_t size) { current_.resize(size); }

    // `rules`: the fixed beginning. `answer_tokens`: left for the answer. Rules, current turn, facts
    // and answer are always there, or it throws NoRoom; then the budget is for the summary, the state
    // and the turns, in this order.
    std::vector<Message> messages(const std::string& rules, const Ending& last,
                                  std::uint64_t answer_tokens);
    // What the last messages() had no room for, turns aside; empty: nothing.
    const std::string& left_out() const { return left_out_; }
    Notes notes() const;

    // After a turn: half of the turns will leave soon, so the model should sum them up.
    bool needs_summary() const;
    // The request for a summary, for sum_up(). It begins as the last request did.
    std::vector<Message> summary_request(const std::string& rules, std::uint64_t answer_tokens);
    // The older half of the turns leaves, and this text stays of all that has happened.
    void sum_up(std::string_view summary);

    // What the server counted for this many bytes.
    void calibrate(std::size_t bytes, std::uint64_t tokens);

private:
    struct Turn {
        SeenTurn seen;
        std::vector<Message> messages;
    };

    bool knows(std::span<const SeenTurn> before) const;
    void begin_with(std::span<const SeenTurn> before, const Notes& notes);
    void add(const char* role, std::string content);
    std::uint64_t tokens_of(std::size_t bytes) const;
    std::size_t bytes_of(std::uint64_t tokens) const;
    std::uint64_t turn_tokens() const;
    std::uint64_t needed_tokens(std::string_view rules, std::string_view facts,
                                std::uint64_t answer_tokens) const;
    std::string summary_text() const;
    void drop_old_turns();
    void cut(std::deque<std::string>& summary) const;

    const std::uint64_t budget_;
    std::deque<Turn> turns_;
    std::optional<SeenTurn> last_;  // the turn before the current one
    // The model's summary, or the first turn; then a line for each turn that has left since.
    std::deque<std::string> summary_;
    std::optional<SeenTurn> left_;  // as in Notes
    bool has_summed_up_ = false;    // since the current turn began
    std::string prompt_;            // of the current turn
    std::vector<Message> current_;
    std::uint64_t room_ = 0;  // tokens for the turns in the last request
    std::string left_out_;    // of the last request
    double bytes_per_token_ = 3.5;
};

}  // namespace narratoria::llm
