// SPDX-License-Identifier: Apache-2.0
#include "session/narrator_client.hpp"

#include <utility>

#include "base/bytes/utf8.hpp"

namespace narratoria::session {

void NarratorClient::ask(const std::string& request, const engine::Times& times,
                         Listener& listener) {
    listener_ = &listener;
    times_ = &times;
    cut_character_.clear();
    is_paused_ = false;
    const uint64_t token = engine_.inbox().open<NarratorAnswer>(this, *this);
    token_ = token;
    limit(time_, times.narrator_ms, "did not reply", "narrator_ms");
    limit(piece_time_, times.narrator_first_ms, "told nothing", "narrator_first_ms");
    const nar_narrator_request given{sizeof given,
                                     times.narrator_ms == 0 ? NAR_NONE : times.narrator_ms,
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
    stop_times();
    const uint64_t token = std::exchange(token_, 0);
    const bool is_answered = engine_.inbox().has_end(token);
    engine_.inbox().close(token);
    if (narrator_.cancel != nullptr && !is_answered) {
        engine_.call_host([&] { narrator_.cancel(narrator_.user, token); });
    }
}

void NarratorClient::limit(Countdown& time, uint32_t milliseconds, const char* what,
                           const char* setting) {
    time.start(milliseconds, [this, milliseconds, what, setting] {
        on_time(std::string("the narrator ") + what + " within " + std::to_string(milliseconds) +
                " ms (" + setting + " of [times])");
    });
}

void NarratorClient::stop_times() {
    time_.stop();
    piece_time_.stop();
}

void NarratorClient::on_time(const std::string& message) {
    // An answer that was sent before the timeout counts, even if it was not delivered yet.
    if (engine_.inbox().has_end(token_)) return;
    withdraw();
    listener_->on_narrator_timeout(message);
}

void NarratorClient::on_diagnostics(std::string_view lines) {
    while (!lines.empty()) {
        const size_t end = lines.find('\n');
        listener_->on_usage(lines.substr(0, end));
        lines.remove_prefix(end + 1);
    }
}

void NarratorClient::on_output(std::string bytes) {
    limit(piece_time_, times_->narrator_between_ms, "did not continue its narrative",
          "narrator_between_ms");
    // It may have been sent before the pause.
    if (is_paused_) piece_time_.pause();
    bytes.insert(0, cut_character_);
    const size_t whole = utf8::whole_prefix(bytes);
    cut_character_ = bytes.substr(whole);
    bytes.resize(whole);
    if (!bytes.empty()) listener_->on_delta(utf8::repaired(bytes));
}

void NarratorClient::on_ended(std::any answer) {
    stop_times();
    if (!cut_character_.empty()) {
        const uint64_t answered = token_;
        listener_->on_delta(utf8::repaired(std::exchange(cut_character_, {})));
        // The listener may have withdrawn the question, and asked the next one.
        if (token_ != answered) return;
    }
    // The token stays open, so that a second answer is NAR_STALE until forget_questions().
    token_ = 0;
    listener_->on_answer(std::any_cast<NarratorAnswer>(std::move(answer)));
}

}  // namespace narratoria::session
