// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/conversation.hpp"

#include <algorithm>
#include <utility>

#include "narrator_llm/answer.hpp"
#include "narratoria/utf8.hpp"

namespace narratoria::llm {
namespace {

constexpr std::size_t kDigestLine = 240;
// The parts of the budget for the digest and for what the last message ends with, the state.
constexpr std::uint64_t kDigestShare = 8;
constexpr std::uint64_t kLastShare = 2;

std::size_t size_of(const std::vector<Message>& messages) {
    std::size_t size = 0;
    for (const Message& each : messages) size += each.content.size();
    return size;
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

void Conversation::begin_turn(const std::vector<SeenTurn>& before, std::string prompt) {
    const bool continues =
        !before.empty() && has_answer() && before.back().prompt == prompt_ &&
        (turns_.empty() ? before.size() == 1
                        : before.size() > 1 && before[before.size() - 2] == turns_.back().seen);
    const bool is_same =
        !continues &&
        (before.empty() ? turns_.empty() : !turns_.empty() && before.back() == turns_.back().seen);
    if (continues) {
        end_turn(before.back());
    } else if (!is_same) {
        turns_.clear();
        digest_.clear();
        for (const SeenTurn& each : before) {
            Answer answer;
            answer.narrative = each.narrative;
            answer.choices = each.choices;
            turns_.push_back({each, {{"user", each.prompt}, {"assistant", to_json(answer)}}});
        }
    }
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
        const SeenTurn& seen = turns_.front().seen;
        std::string line = "- " + seen.prompt + ": " + seen.narrative;
        std::replace(line.begin(), line.end(), '\n', ' ');
        digest_.emplace_back(detail::prefix_of(line, kDigestLine));
        turns_.pop_front();
    }
    const auto most =
        static_cast<std::size_t>(static_cast<double>(budget_ / kDigestShare) * bytes_per_token_);
    std::size_t size = 0;
    for (const std::string& line : digest_) size += line.size() + 1;
    while (size > most && !digest_.empty()) {
        size -= digest_.front().size() + 1;
        digest_.pop_front();
    }
}

std::vector<Message> Conversation::messages(const std::string& rules, const std::string& last,
                                            std::uint64_t answer_tokens) {
    const auto most_of_last =
        static_cast<std::size_t>(static_cast<double>(budget_ / kLastShare) * bytes_per_token_);
    const std::string ending = cut_to(last, most_of_last);
    const auto needed = [&] {
        std::size_t size = rules.size() + ending.size() + size_of(current_);
        for (const std::string& line : digest_) size += line.size() + 1;
        std::size_t count = current_.size() + 1;
        for (const Turn& turn : turns_) {
            size += size_of(turn.messages);
            count += turn.messages.size();
        }
        // Each message has a few tokens around it.
        return tokens_of(size) + 6 * count + answer_tokens;
    };
    while (!turns_.empty() && needed() > budget_) drop_old_turns();
    std::vector<Message> all;
    all.push_back({"system", rules});
    for (const Turn& turn : turns_) {
        all.insert(all.end(), turn.messages.begin(), turn.messages.end());
    }
    all.insert(all.end(), current_.begin(), current_.end());
    if (!digest_.empty()) {
        // With the player's words, so not among the rules.
        std::string text = "What happened before, in short:\n";
        for (const std::string& line : digest_) text += line + "\n";
        all[1].content.insert(0, text + "\n");
    }
    if (!ending.empty()) all.back().content += "\n\n" + ending;
    return all;
}

}  // namespace narratoria::llm
