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
// A request has at most as many turns before the last one, and fewer if they are long (`turns` of
// narrator-request-1).
constexpr std::size_t kMostTurns = 19;
constexpr std::size_t kLongTurns = std::size_t{32} * 1024;
// Fewer turns are not worth a summary.
constexpr std::size_t kLeastTurns = 3;
// By which a turn is recognized in a stored game.
constexpr std::size_t kNotedNarrative = 200;
constexpr std::size_t kMostNotes = std::size_t{8} * 1024;
// The parts of the budget for the summary and for the state.
constexpr std::uint64_t kSummaryShare = 8;
constexpr std::uint64_t kStateShare = 2;
constexpr std::uint64_t kQuestionShare = 8;  // for what tools said, or a fault
constexpr std::uint64_t kAroundMessage = 6;  // tokens
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

// What a turn is recognized by.
SeenTurn noted(const SeenTurn& turn) {
    return {turn.prompt, std::string(detail::prefix_of(turn.narrative, kNotedNarrative))};
}

// The beginning of a text, which ends at the end of a line if it is cut.
std::string cut_to(std::string_view text, std::size_t most) {
    constexpr std::string_view kCut = "\n(the rest is left out)";
    if (text.size() <= most) return std::string(text);
    if (most < kCut.size()) return {};
    most -= kCut.size();
    text = detail::prefix_of(text, most);
    const std::size_t line = text.rfind('\n');
    if (line != std::string_view::npos && line > most / 2) text = text.substr(0, line);
    return std::string(text) + std::string(kCut);
}

}  // namespace

// Whether these are the turns that have ended.
bool Conversation::knows(std::span<const SeenTurn> before) const {
    if (before.empty() || !last_) return before.empty() && !last_;
    std::size_t size = 0;
    for (const SeenTurn& each : before) size += each.prompt.size() + each.narrative.size();
    const bool is_cut = before.size() >= kMostTurns || size > kLongTurns;
    if (before.size() < turns_.size() && !is_cut) return false;
    const auto count = static_cast<std::ptrdiff_t>(std::min(before.size(), turns_.size()));
    return before.back() == *last_ &&
           std::equal(before.end() - count, before.end(), turns_.end() - count,
                      [](const SeenTurn& seen, const Turn& turn) { return seen == turn.seen; });
}

void Conversation::begin_turn(std::span<const SeenTurn> before, const Notes& notes,
                              std::string prompt) {
    const bool continues = !before.empty() && has_answer() && before.back().prompt == prompt_ &&
                           knows(before.first(before.size() - 1));
    if (continues) turns_.push_back({before.back(), std::move(current_)});
    // A summary tells of the current turn, too.
    else if (has_summed_up_ || !knows(before)) begin_with(before, notes);
    has_summed_up_ = false;
    if (!before.empty()) last_ = before.back();
    else last_.reset();
    current_.clear();
    prompt_ = std::move(prompt);
    current_.push_back({"user", prompt_});
}

// Begins with the turns that have not left, as the notes have it.
void Conversation::begin_with(std::span<const SeenTurn> before, const Notes& notes) {
    turns_.clear();
    summary_.assign(notes.summary.begin(), notes.summary.end());
    left_ = notes.left;
    if (left_) {
        const auto is_left = [&](const SeenTurn& each) { return noted(each) == *left_; };
        const auto last_left = std::find_if(before.begin(), before.end(), is_left);
        if (last_left != before.end()) before = {last_left + 1, before.end()};
    }
    for (const SeenTurn& each : before) {
        Answer answer;
        answer.narrative = each.narrative;
        answer.choices = each.choices;
        turns_.push_back({each, {{"user", each.prompt}, {"assistant", to_json(answer)}}});
    }
}

bool Conversation::has_answer() const {
    return !current_.empty() && std::string_view(current_.back().role) == "assistant";
}

void Conversation::add(const char* role, std::string content) {
    current_.push_back({role, std::move(content)});
}

void Conversation::ask(std::string_view question) {
    add("user", cut_to(question, bytes_of(budget_ / kQuestionShare)));
}

std::uint64_t Conversation::tokens_of(std::size_t bytes) const {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) / bytes_per_token_) + 1;
}

std::size_t Conversation::bytes_of(std::uint64_t tokens) const {
    return static_cast<std::size_t>(static_cast<double>(tokens) * bytes_per_token_);
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
        left_ = noted(turns_.front().seen);
        turns_.pop_front();
    }
    cut(summary_);
}

Notes Conversation::notes() const {
    std::deque<std::string> summary = summary_;
    std::optional<SeenTurn> left = left_;
    for (std::size_t i = 0; i + kMostTurns < turns_.size(); ++i) {
        summary.push_back(line_of(turns_[i].seen));
        left = noted(turns_[i].seen);
    }
    cut(summary);
    return {{summary.begin(), summary.end()}, left};
}

// The oldest lines leave, but not what it begins with.
void Conversation::cut(std::deque<std::string>& summary) const {
    const std::size_t most = std::min(bytes_of(budget_ / kSummaryShare), kMostNotes);
    std::size_t size = 0;
    for (const std::string& line : summary) size += line.size() + 1;
    while (size > most && summary.size() > 1) {
        size -= summary[1].size() + 1;
        summary.erase(summary.begin() + 1);
    }
}

bool Conversation::needs_summary() const {
    // Where rules and state take nearly all, a summary would be due every few turns.
    const std::uint64_t taken = turn_tokens() + tokens_of(size_of(current_));
    return turns_.size() >= kLeastTurns && room_ > budget_ / 4 && taken > room_ / 4 * 3;
}

std::vector<Message> Conversation::summary_request(const std::string& rules,
                                                   std::uint64_t answer_tokens) {
    const std::uint64_t question = tokens_of(std::string_view(kSumUp).size());
    std::vector<Message> all = messages(rules, {}, answer_tokens + question);
    all.push_back({"user", kSumUp});
    return all;
}

void Conversation::sum_up(std::string_view summary) {
    drop_old_turns();
    summary_.assign(1, std::string(detail::prefix_of(summary, kLongestSummary)));
    has_summed_up_ = true;
}

// Each message has a few tokens around it.
std::uint64_t Conversation::turn_tokens() const {
    std::size_t size = 0;
    std::size_t count = 0;
    for (const Turn& turn : turns_) {
        size += size_of(turn.messages);
        count += turn.messages.size();
    }
    return tokens_of(size) + kAroundMessage * count;
}

std::uint64_t Conversation::needed_tokens(std::string_view rules, std::string_view facts,
                                          std::uint64_t answer_tokens) const {
    const std::uint64_t turn = tokens_of(size_of(current_)) + kAroundMessage * current_.size();
    const std::uint64_t fixed = tokens_of(rules.size()) + kAroundMessage;
    const std::uint64_t shown = facts.empty() ? 0 : tokens_of(facts.size());
    const std::uint64_t needed = fixed + turn + shown + answer_tokens;
    if (needed <= budget_) return needed;
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    throw NoRoom(
        "the budget of " + number(budget_) + " tokens is too small for a request of about " +
        number(needed) + ": " + number(fixed) + " for the instructions and tools, " + number(turn) +
        " for the prompt and what followed, " + number(shown) + " for the facts, " +
        number(answer_tokens) +
        " for the answer (max_tokens); shorten the longest of them, or raise \"budget\" up "
        "to the server's context");
}

std::string Conversation::summary_text() const {
    if (summary_.empty()) return {};
    std::string text = "What happened before, in short:\n";
    for (const std::string& line : summary_) text += line + "\n";
    return text + "\n";
}

std::vector<Message> Conversation::messages(const std::string& rules, const Ending& last,
                                            std::uint64_t answer_tokens) {
    const std::uint64_t needed = needed_tokens(rules, last.facts, answer_tokens);
    std::string summary;
    std::string state;
    while (true) {
        left_out_.clear();
        std::uint64_t left = budget_ - needed;
        summary = summary_text();
        if (tokens_of(summary.size()) > left) {
            summary.clear();
            left_out_ = "the summary of earlier turns";
        }
        if (!summary.empty()) left -= tokens_of(summary.size());
        state = cut_to(last.state, bytes_of(std::min(budget_ / kStateShare, left)));
        if (state.size() < last.state.size()) {
            left_out_ += left_out_.empty() ? "" : " and ";
            left_out_ += state.empty()
                             ? "the state"
                             : "the rest of the state after " + std::to_string(state.size()) +
                                   " of its " + std::to_string(last.state.size()) + " bytes";
        }
        room_ = left - std::min(left, tokens_of(state.size()));
        if (turns_.empty() || turn_tokens() <= room_) break;
        drop_old_turns();
    }
    std::vector<Message> all;
    all.push_back({"system", rules});
    for (const Turn& turn : turns_) {
        all.insert(all.end(), turn.messages.begin(), turn.messages.end());
    }
    all.insert(all.end(), current_.begin(), current_.end());
    // With the player's words, so not among the rules.
    all[1].content.insert(0, summary);
    const std::string ending = last.facts + state;
    if (!ending.empty()) all.back().content += "\n\n" + ending;
    return all;
}

}  // namespace narratoria::llm
