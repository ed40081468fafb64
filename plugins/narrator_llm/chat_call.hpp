// SPDX-License-Identifier: Apache-2.0
#pragma once
// One request to a model's server, or a recorded response to one, from its start to its end.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "narrator_llm/chat.hpp"
#include "narrator_llm/exchanges.hpp"
#include "narrator_llm/settings.hpp"
#include "narratoria/plugin.hpp"

namespace narratoria::llm {

// Called on the engine thread, never from within start() and play(). They may cancel the call.
struct ChatEvents {
    std::function<void(const std::string& text)> on_text;  // a new part of the answer
    std::function<void()> on_end;                          // always the last call
};

class ChatCall : public std::enable_shared_from_this<ChatCall> {
public:
    using milliseconds = std::chrono::milliseconds;

    // `total_time`: after which the request ends with a fault; none: the request's own end.
    static std::shared_ptr<ChatCall> start(const plugin::Host& host, const ModelSettings& settings,
                                           const ChatRequest& request,
                                           std::optional<milliseconds> total_time,
                                           ChatEvents events);
    // Plays a recorded response.
    static std::shared_ptr<ChatCall> play(const plugin::Host& host, const ModelSettings& settings,
                                          Exchange recorded, ChatEvents events);

    // Closes the connection; no further events.
    void cancel();

    const ChatResponse& response() const { return response_; }
    // After the end: why there is no answer, for people and without the key; empty: there is one.
    const std::string& fault() const { return fault_; }
    // After a fault: it may not happen again.
    bool may_retry() const { return may_retry_; }
    // Of HTTP; 0: there was no response.
    std::uint32_t status() const { return status_; }
    // That the server asks for before the next request.
    std::optional<milliseconds> pause() const { return pause_; }
    // The response so far; empty if `settings` have no file for recordings.
    const Exchange& exchange() const { return exchange_; }
    // Since the start: until the first part of the answer, and until now.
    std::optional<milliseconds> first_time() const { return first_at_; }
    milliseconds time() const;

private:
    ChatCall(const plugin::Host& host, const ModelSettings& settings, ChatEvents events);

    void respond(const plugin::HttpResponse& response);
    void take_body(std::string_view bytes);
    void take_end(const plugin::HttpEnd& end);
    void tell(const std::string& text);
    void end(std::string fault, bool may_retry);
    void play_from(std::size_t piece);

    plugin::Host host_;
    const ModelSettings& settings_;
    ChatEvents events_;
    bool is_over_ = false;
    plugin::Http http_;
    plugin::Timer timer_;  // for the next piece of a recording
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    std::optional<milliseconds> first_at_;
    std::uint32_t status_ = 0;
    std::optional<milliseconds> pause_;
    std::string error_body_;
    ChatResponse response_;
    Exchange exchange_;
    std::string fault_;
    bool may_retry_ = false;
};

}  // namespace narratoria::llm
