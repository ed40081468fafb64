// SPDX-License-Identifier: Apache-2.0
#pragma once
// Client of a narrator: sends one question at a time, and handles its token, timeout and answer.

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
    // Receives one call, from the loop, for each question that is not withdrawn. Both functions may
    // call ask().
    class Listener {
    public:
        virtual ~Listener() = default;
        virtual void on_answer(NarratorAnswer answer) = 0;
        virtual void on_narrator_timeout() = 0;
    };

    // `engine` must outlive the client.
    explicit NarratorClient(engine::Engine& engine) : engine_(engine), time_(engine.loop()) {}
    ~NarratorClient() override { forget_questions(); }
    NarratorClient(const NarratorClient&) = delete;
    NarratorClient& operator=(const NarratorClient&) = delete;

    // Sets the narrator for all later questions. The id need not outlive the call; the functions
    // and `user` must stay valid as long as the client.
    void set_narrator(const nar_narrator& narrator) { narrator_ = narrator; }
    bool has_narrator() const { return narrator_.generate != nullptr; }

    // Sends a question. No other question may be open. `timeout_ms` 0: no timeout. `listener` must
    // outlive the question.
    void ask(const std::string& request, uint32_t timeout_ms, Listener& listener);
    bool is_asking() const { return token_ != 0; }
    // True until an answer has been sent, delivered or not.
    bool is_open(uint64_t token) const {
        return token_ != 0 && token == token_ && !engine_.inbox().has_end(token);
    }
    // Pause and resume the timeout of the open question.
    void pause_time() { time_.pause(); }
    void resume_time() { time_.resume(); }
    // Drops the open question, if there is one. Calls the narrator's cancel() unless an answer has
    // arrived.
    void withdraw();

    // Closes the tokens of answered questions. A repeated answer is NAR_STALE before this call and
    // NAR_GONE after it. No question may be open.
    void forget_questions() { engine_.inbox().close_all(this); }

    // Thread-safe. Delivers an answer to one of this client's questions.
    nar_status answer(uint64_t token, NarratorAnswer answer);

private:
    void on_ended(std::any answer) override;
    void on_time();

    engine::Engine& engine_;
    nar_narrator narrator_{};
    Listener* listener_ = nullptr;  // of the open question
    uint64_t token_ = 0;            // of the open question; 0: none
    Countdown time_;
};

}  // namespace narratoria::session
