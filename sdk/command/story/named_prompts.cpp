// SPDX-License-Identifier: Apache-2.0
#include "story/named_prompts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "json.hpp"

namespace narratoria::command::story {

using namespace terminal;

namespace {

constexpr std::size_t kMostPrompts = 100;

// The text of a value of the state, as a segment of a JSON Pointer.
std::string segment_at(const Playthrough& game, std::string_view pointer) {
    const json::Document value = json::read(game.state(pointer));
    std::string out;
    for (const char c : value.IsString() ? std::string(value.GetString()) : json::line(value)) {
        if (c == '~') out += "~0";
        else if (c == '/') out += "~1";
        else out += c;
    }
    return out;
}

std::vector<std::string> names_at(const Playthrough& game, std::string place) {
    for (std::size_t open = place.find('{'); open != place.npos; open = place.find('{', open)) {
        const std::size_t close = place.find('}', open);
        const std::string segment = segment_at(game, place.substr(open + 1, close - open - 1));
        place.replace(open, close - open + 1, segment);
        open += segment.size();
    }
    const json::Document value = json::read(game.state(place));
    if (!value.IsObject()) return json::texts(&value);
    std::vector<std::string> names;
    for (const auto& member : value.GetObject()) names.emplace_back(member.name.GetString());
    return names;
}

}  // namespace

void append_named_prompts(std::string_view pattern, const Playthrough& game,
                          std::vector<std::string>& out) {
    std::vector<std::string> prompts{""};
    for (std::size_t at = 0; at < pattern.size();) {
        const std::size_t open = std::min(pattern.find_first_of("{}", at), pattern.size());
        std::vector<std::string> next{std::string(pattern.substr(at, open - at))};
        at = open;
        const std::string_view braces = pattern.substr(open, 2);
        if (braces == "{{" || braces == "}}") {
            next.front() += braces.front();
            at += 2;
        } else if (open < pattern.size()) {
            const std::size_t place = pattern.find_first_of(":{}", open + 1);
            if (place == pattern.npos || pattern[place] != ':') return;
            // The } after as many as names are within the place.
            std::size_t close = pattern.find('}', place);
            for (std::size_t name = pattern.find('{', place); name < close;
                 name = pattern.find('{', name + 1)) {
                close = pattern.find('}', close + 1);
            }
            if (close == pattern.npos) return;
            const std::string before = next.front();
            next = names_at(game, std::string(pattern.substr(place + 1, close - place - 1)));
            for (std::string& each : next) each.insert(0, before);
            at = close + 1;
        }
        std::vector<std::string> longer;
        for (const std::string& begun : prompts) {
            for (const std::string& more : next) {
                if (longer.size() < kMostPrompts) longer.push_back(begun + more);
            }
        }
        prompts = std::move(longer);
    }
    out.insert(out.end(), prompts.begin(), prompts.end());
}

}  // namespace narratoria::command::story
