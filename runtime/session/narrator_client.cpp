// SPDX-License-Identifier: Apache-2.0
#include "session/narrator_client.hpp"

#include <utility>

#include "base/bytes/utf8.hpp"

namespace narratoria::session {

void NarratorClient::ask(const std::string& request, uint32_t timeout_ms, Listener& listener) {
    listener_ = &listener;
    const uint64_t token = engine_.inbox().open<NarratorAnswer>(this, *this);
    token_ = token;
    time_.start(timeout_ms, [this] { on_time(); });
    const nar_narrator_request given{sizeof given,
                                     timeout_ms == 0 ? NAR_NONE : timeout_ms,
                                     token,
                                     {request.data(), request.size()}};
    engine_.call_host([&] { narrator_.generate(narrator_.user, &given); });
}

nar_status NarratorClient::answer(uint64_t token, NarratorAnswer answer) {
    // A reason is for people, who read it on a terminal and in the log.
    constexpr size_t kMaxReason = 4096;
    if (!answer.is_plan && answer.text.size() > kMaxReason) {
        const size_t size = answer.text.size();
        answer.text = std::string(utf8::prefix_of(answer.text, kMaxReason)) + "… (" +
                      std::to_string(size) + " bytes)";
    }
    return engine_.inbox().send_end(this, token, std::move(answer));
}

void NarratorClient::withdraw() {
    if (token_ == 0) return;
    time_.stop();
    const uint64_t token = std::exchange(token_, 0);
    const bool is_answered = engine_.inbox().has_end(token);
    engine_.inbox().close(token);
    if (narrator_.cancel != nullptr && !is_answered) {
        engine_.call_host([&] { narrator_.cancel(narrator_.user, token); });
    }
}

void NarratorClient::on_time() {
    // An answer that was sent before the timeout counts, even if it was not delivered yet.
    if (engine_.inbox().has_end(token_)) return;
    withdraw();
    listener_->on_narrator_timeout();
}

void NarratorClient::on_ended(std::any answer) {
    time_.stop();
    // The token stays open, so that a second answer is NAR_STALE until forget_questions().
    token_ = 0;
    listener_->on_answer(std::any_cast<NarratorAnswer>(std::move(answer)));
}

}  // namespace narratoria::session
