// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a model's server understands, and requests to it.
//
// Servers ignore the form that an answer must have, without an error, or refuse a way of asking for it.
// So the first request asks for a form that its question does not suggest: an answer in this form shows
// that the server honours it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "narrator_llm/chat.hpp"
#include "narrator_llm/chat_call.hpp"
#include "narrator_llm/settings.hpp"
#include "narratoria/plugin.hpp"

namespace narratoria::llm {

class ModelServer {
public:
    // `on_found`: find_format() has ended, with or without success.
    ModelServer(const plugin::Host& host, const ModelSettings& settings,
                std::function<void()> on_found);

    // Begins to find out which format the server honours, unless the story gives it or it is known.
    void find_format(std::chrono::milliseconds most);
    bool is_finding_format() const { return probe_ != nullptr; }
    Format format() const { return kFormats[format_]; }

    // Adds to the request what it has from the settings.
    std::shared_ptr<ChatCall> send(ChatRequest request,
                                   std::optional<std::chrono::milliseconds> total_time,
                                   ChatEvents events);
    // A request of the story was answered, so its format is kept.
    void accept();
    // After a fault of a call: true if it should be sent again, in a form that the server may accept.
    bool adapts_to(const ChatCall& call);

    // Asks how many tokens a text has, once: the servers of llama.cpp and vLLM count them. `then` is
    // called with 0 if this one does not. Returns false if it was asked before, or is not asked.
    bool count_tokens(const std::string& text, std::function<void(std::uint64_t tokens)> then);
    bool is_counting_tokens() const { return count_.is_running(); }

    // What finding the format has taken, once.
    TokenCounts take_tokens() { return std::exchange(tokens_, {}); }

private:
    void ask();
    void judge();
    void end();
    bool has_time() const { return std::chrono::steady_clock::now() < deadline_; }

    plugin::Host host_;
    const ModelSettings& settings_;
    const std::function<void()> on_found_;
    std::size_t format_ = 0;    // an index of kFormats
    std::size_t refused_ = 0;   // likewise, before the request without a format
    bool is_known_ = false;     // the format is not looked for again
    bool is_accepted_ = false;  // and not changed again
    int missed_ = 0;            // probes that the server did not answer
    std::chrono::steady_clock::time_point deadline_;
    bool limits_completion_tokens_ = false;
    std::shared_ptr<ChatCall> probe_;
    bool has_counted_ = false;
    plugin::Http count_;
    TokenCounts tokens_;
};

}  // namespace narratoria::llm
