// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exchanges with a model's server in a file, so that a story can be played, and tested, without the
// server. One JSON object on each line (README.md, "Recording"):
//   {"prompts": ["I look"], "continuation": 0, "stream": true,
//    "pieces": [[320, "data: …"], …]}

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::llm {

// What a request is recognized by.
struct ExchangeKey {
    std::vector<std::string> prompts;  // of the last turns and of this one, at most kMaxPrompts
    std::uint64_t continuation = 0;

    static constexpr std::size_t kMaxPrompts = 20;
    auto operator<=>(const ExchangeKey&) const = default;
};

struct Exchange {
    bool is_stream = true;
    // The body of a response with status 200, with milliseconds since the request.
    std::vector<std::pair<std::uint64_t, std::string>> pieces;
};

// Appends an exchange to a file. Throws std::runtime_error.
void append_exchange(const std::string& path, const ExchangeKey& key, const Exchange& exchange);

class Exchanges {
public:
    // Throws std::runtime_error, with the line, if the file cannot be read.
    static Exchanges read(const std::string& path);

    // The next exchange with this key; the last one is repeated. NULL if there is none.
    const Exchange* next(const ExchangeKey& key);

private:
    struct Kept {
        std::vector<Exchange> all;
        std::size_t next = 0;
    };
    std::map<ExchangeKey, Kept> by_key_;
};

}  // namespace narratoria::llm
