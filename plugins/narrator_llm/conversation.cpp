// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/conversation.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "narrator_llm/answer.hpp"
#include "narratoria/utf8.hpp"

namespace narratoria::llm {
namespace {

constexpr std::size_t kLongestLine = 240;
constexpr std::size_t kLongestSummary = 2000;
// Of the turns before one, the next request has at most as many (narrator-request-1, `turns`).
constexpr std::size_t kLaterTurns = 19;
// The parts of the budget for the summary and for what the last message ends with, the state.
constexpr std::uint64_t kSummaryShare = 8;
constexpr std::uint64_t kLastShare = 2;
constexpr const char* kSumUp =
    "The story pauses. Do not tell what happens next. Sum up for yourself all that has happened so "
    "far, from what you summed up before to now, in at most 150 words: who and what the player "
    "met, "
    "what they have, promised and learned, and what is still open. Write plain text, not JSON.";

std::size_t size_of(const std::vector<Message>& messages) {
    std::size_t size = 0;
    for (const Message& each : messages) size += each.content.size();
    return size;
}

std::string line_of(const SeenTurn& turn) {
    std::string line = "- " + turn.prompt + ": " + turn.narrative;
    std::replace(line.begin(), line.end(), '\n', ' ');
    return std::string(detail::prefix_of(line, kLongestLine));
}

// The beginning of a text, which ends at the end of a line if it is cut.
std::string cut_to(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    text = detail::prefix_of(text, most);
    const std::size_t line = text.rfind('\n');
    if (line != std::string_view::npos && line > most / 2) text = text.substr(0, line);
    return std::string(text) + "\n(the rest is left out)";
}

}  // namespace

void Conversation::begin_turn(const std::vector<SeenTurn>& before, Notes notes,
                              std::string prompt) {
    const auto ends_with = [&](std::size_t count, const std::optional<SeenTurn>& turn) {
        return turn ? count > 0 && before[count - 1] == *turn : count == 0;
    };
    const bool continues = !before.empty() && has_answer() && before.back().prompt == prompt_ &&
                           ends_with(before.size() - 1, last_);
    const bool is_same = !continues && ends_with(before.size(), last_);
    if (continues) {
        end_turn(before.back());
    } else if (!is_same) {
        turns_.clear();
        summary_.assign(notes.summary.begin(), notes.summary.end());
        const std::size_t kept = summary_.empty() ? before.size() : notes.turns + 1;
        for (const SeenTurn& each : std::span(before).last(std::min(kept, before.size()))) {
            Answer answer;
            answer.narrative = each.narrative;
            answer.choices = each.choices;
            turns_.push_back({each, {{"user", each.prompt}, {"assistant", to_json(answer)}}});
        }
    }
    if (!before.empty()) last_ = before.back();
    else last_.reset();
    current_.clear();
    prompt_ = std::move(prompt);
    current_.push_back({"user", prompt_});
}

bool Conversation::has_answer() const {
    return !current_.empty() && std::string_view(current_.back().role) == "assistant";
}

void Conversation::add(const char* role, std::string content) {
    current_.push_back({role, std::move(content)});
}

void Conversation::end_turn(const SeenTurn& seen) { turns_.push_back({seen, std::move(current_)}); }

std::uint64_t Conversation::tokens_of(std::size_t bytes) const {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) / bytes_per_token_) + 1;
}

void Conversation::calibrate(std::size_t bytes, std::uint64_t tokens) {
    if (tokens == 0 || bytes < 200) return;
    // The smallest ratio counts, so that the budget holds.
    const double now = static_cast<double>(bytes) / static_cast<double>(tokens);
    bytes_per_token_ = std::clamp(std::min(bytes_per_token_, now), 0.5, 8.0);
}

void Conversation::drop_old_turns() {
    const std::size_t count = (turns_.size() + 1) / 2;
    for (std::size_t i = 0; i < count; ++i) {
        summary_.push_back(line_of(turns_.front().seen));
        turns_.pop_front();
    }
    cut(summary_);
}

Notes Conversation::notes() const {
    std::deque<std::string> summary = summary_;
    const std::size_t turns = std::min(turns_.size(), kLaterTurns);
    for (std::size_t i = 0; i + turns < turns_.size(); ++i) {
        summary.push_back(line_of(turns_[i].seen));
    }
    cut(summary);
    return {{summary.begin(), summary.end()}, turns};
}

// The oldest lines leave, but not what it begins with.
void Conversation::cut(std::deque<std::string>& summary) const {
    const auto most =
        static_cast<std::size_t>(static_cast<double>(budget_ / kSummaryShare) * bytes_per_token_);
    std::size_t size = 0;
    for (const std::string& line : summary) size += line.size() + 1;
    while (size > most && summary.size() > 1) {
        size -= summary[1].size() + 1;
        summary.erase(summary.begin() + 1);
    }
}

bool Conversation::needs_summary() const { return turns_.size() > 2 && needed_ > budget_ / 4 * 3; }

std::vector<Message> Conversation::summary_request(const std::string& rules,
                                                   std::uint64_t answer_tokens) {
    const std::uint64_t question = tokens_of(std::string_view(kSumUp).size());
    std::vector<Message> all = messages(rules, "", answer_tokens + question);
    all.push_back({"user", kSumUp});
    return all;
}

void Conversation::sum_up(std::string_view summary) {
    drop_old_turns();
    summary_.assign(1, std::string(detail::prefix_of(summary, kLongestSummary)));
    needed_ = 0;
}

std::uint64_t Conversation::needed(const std::string& rules, const std::string& ending,
                                   std::uint64_t answer_tokens) const {
    std::size_t size = rules.size() + ending.size() + size_of(current_);
    for (const std::string& line : summary_) size += line.size() + 1;
    std::size_t count = current_.size() + 1;
    for (const Turn& turn : turns_) {
        size += size_of(turn.messages);
        count += turn.messages.size();
    }
    // Each message has a few tokens around it.
    return tokens_of(size) + 6 * count + answer_tokens;
}

std::vector<Message> Conversation::messages(const std::string& rules, const std::string& last,
                                            std::uint64_t answer_tokens) {
    const auto most_of_last =
        static_cast<std::size_t>(static_cast<double>(budget_ / kLastShare) * bytes_per_token_);
    const std::string ending = cut_to(last, most_of_last);
    while (!turns_.empty() && needed(rules, ending, answer_tokens) > budget_) drop_old_turns();
    needed_ = needed(rules, ending, answer_tokens);
    std::vector<Message> all;
    all.push_back({"system", rules});
    for (const Turn& turn : turns_) {
        all.insert(all.end(), turn.messages.begin(), turn.messages.end());
    }
    all.insert(all.end(), current_.begin(), current_.end());
    if (!summary_.empty()) {
        // With the player's words, so not among the rules.
        std::string text = "What happened before, in short:\n";
        for (const std::string& line : summary_) text += line + "\n";
        all[1].content.insert(0, text + "\n");
    }
    if (!ending.empty()) all.back().content += "\n\n" + ending;
    return all;
}

}  // namespace narratoria::llm
