// SPDX-License-Identifier: Apache-2.0
#include "session/near_prompts.hpp"

#include <algorithm>

#include "base/near_name.hpp"

namespace narratoria::session {
namespace {

constexpr size_t kMost = 3;
constexpr size_t kMostOtherWords = 2;

std::vector<std::string_view> sorted_words(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::sort(words.begin(), words.end());
    return words;
}

}  // namespace

std::vector<std::string_view> near_prompts(std::string_view reduced,
                                           const std::vector<KnownPrompt>& known) {
    std::vector<std::string_view> near;
    const auto add = [&](const KnownPrompt& prompt) {
        if (near.size() < kMost &&
            std::find(near.begin(), near.end(), prompt.shown) == near.end()) {
            near.push_back(prompt.shown);
        }
    };
    std::vector<std::string_view> texts;
    for (const KnownPrompt& each : known) texts.push_back(each.reduced);
    const std::string_view misspelled = near_name(reduced, texts);
    for (const KnownPrompt& each : known) {
        if (!misspelled.empty() && each.reduced == misspelled) add(each);
    }
    const std::vector<std::string_view> words = sorted_words(reduced);
    if (words.empty()) return near;
    for (const KnownPrompt& each : known) {
        const std::vector<std::string_view> its = sorted_words(each.reduced);
        const auto& [fewer, more] = std::minmax(
            words, its, [](const auto& a, const auto& b) { return a.size() < b.size(); });
        if (more.size() - fewer.size() <= kMostOtherWords &&
            std::includes(more.begin(), more.end(), fewer.begin(), fewer.end())) {
            add(each);
        }
    }
    return near;
}

}  // namespace narratoria::session
