// SPDX-License-Identifier: Apache-2.0
#pragma once
// The settings of a language model, from [plugins."narratoria.narrator_llm"] of story.toml.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "narrator_llm/chat.hpp"
#include "narratoria/plugin.hpp"

namespace narratoria::llm {

// For a million tokens.
struct Prices {
    double input = 0;
    double cached = 0;
    double output = 0;
    std::string currency;

    double of(const TokenCounts& tokens) const;
};

struct ModelSettings {
    std::string base_url;  // without a slash at its end
    std::string model;
    std::string key_variable;
    std::string key;               // never logged
    std::optional<Format> format;  // none: found out
    std::optional<double> temperature;
    std::optional<std::uint64_t> seed;
    std::uint64_t max_tokens = 800;  // of an answer
    std::uint64_t budget = 8192;     // tokens of a request with its answer
    // Files of the story, with their folder; empty: none.
    std::string instructions;
    std::optional<Prices> prices;
    std::string record;
    std::string replay;
    bool replays_times = false;
    std::vector<std::string> facts;  // JSON Pointers into the state

    // Servers quote the key in their messages.
    std::string without_key(std::string text) const;
};

// Throws SettingError.
ModelSettings read_settings(const plugin::Host& host);

}  // namespace narratoria::llm
