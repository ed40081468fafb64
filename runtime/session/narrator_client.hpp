// SPDX-License-Identifier: Apache-2.0
#pragma once
// Client of a narrator: sends one question at a time, and handles its token, timeouts, the pieces of
// its narrative and its answer.

#include <any>
#include <cstdint>
#include <string>

#include "base/countdown.hpp"
#include "base/inbox.hpp"
#include "engine/engine.hpp"
#include "narratoria/narrator.h"

namespace narratoria::session {

// The final message of a question's token. A narrator may send it from any thread.
struct NarratorAnswer {
    bool is_plan;           // false: the narrator failed
    std::string text;       // the plan, or the reason for the failure
    bool is_final = false;  // the failure is permanent: do not ask again for this prompt
};

// Owned by a session, which destroys it on the engine thread. Engine thread only, except answer().
class NarratorClient : private Inbox::Receiver {
public:
    // Receives from the loop, for each question that is not withdrawn, its pieces and its usage
    // and then one call of the other two functions, which may call ask().
    class Listener {
    public:
        virtual ~Listener() = default;
        // `text` is valid UTF-8, and not empty. May withdraw the question, and ask the next one.
        virtual void on_delta(std::string_view text) = 0;
        // `line` is from check_usage().
        virtual void on_usage(std::string_view line) = 0;
        virtual void on_answer(NarratorAnswer answer) = 0;
        virtual void on_narrator_timeout(std::string message) = 0;
    };

    // `engine` must outlive the client.
    explicit NarratorClient(engine::Engine& engine)
        : engine_(engine), time_(engine.loop()), piece_time_(engine.loop()) {}
    ~NarratorClient() override { forget_questions(); }
    NarratorClient(const NarratorClient&) = delete;
    NarratorClient& operator=(const NarratorClient&) = delete;

    // Sets the narrator for all later questions. The id need not outlive the call; the functions
    // and `user` must stay valid as long as the client.
    void set_narrator(const nar_narrator& narrator) { narrator_ = narrator; }
    bool has_narrator() const { return narrator_.generate != nullptr; }
    // It wants NarratorRequest::details.
    bool is_detailed() const { return (narrator_.flags & NAR_NARRATOR_DETAILED) != 0; }

    // Sends a question. No other question may be open. `times` and `listener` must outlive it.
    void ask(const std::string& request, const engine::Times& times, Listener& listener);
    bool is_asking() const { return token_ != 0; }
    // True until an answer has been sent, delivered or not.
    bool is_open(uint64_t token) const {
        return token_ != 0 && token == token_ && !engine_.inbox().has_end(token);
    }
    // Pause and resume the timeouts of the open question.
    void pause_time() {
        is_paused_ = true;
        time_.pause();
        piece_time_.pause();
    }
    void resume_time() {
        is_paused_ = false;
        time_.resume();
        piece_time_.resume();
    }
    // Drops the open question, if there is one. Calls the narrator's cancel() unless an answer has
    // arrived.
    void withdraw();

    // Closes the tokens of answered questions. A repeated answer is NAR_STALE before this call and
    // NAR_GONE after it. No question may be open.
    void forget_questions() { engine_.inbox().close_all(this); }

    // Thread-safe. Deliver the next piece of the narrative, and the answer, of one of this client's
    // questions.
    nar_status delta(uint64_t token, std::string_view text) {
        return engine_.inbox().send_output(this, token, text);
    }
    // `line` is from check_usage().
    nar_status usage(uint64_t token, std::string_view line) {
        return engine_.inbox().send_diagnostics(this, token, std::string(line) + '\n');
    }
    nar_status answer(uint64_t token, NarratorAnswer answer);

private:
    void on_diagnostics(std::string_view lines) override;
    void on_output(std::string bytes) override;
    void on_ended(std::any answer) override;
    void on_time(const std::string& message);
    // `what` did not happen in time.
    void limit(Countdown& time, uint32_t milliseconds, const char* what, const char* setting);
    void stop_times();

    engine::Engine& engine_;
    nar_narrator narrator_{};
    // Of the open question.
    Listener* listener_ = nullptr;
    const engine::Times* times_ = nullptr;
    uint64_t token_ = 0;  // 0: no question is open
    Countdown time_;
    Countdown piece_time_;
    bool is_paused_ = false;
    std::string cut_character_;  // the bytes of a character that the last piece ended within
};

}  // namespace narratoria::session
