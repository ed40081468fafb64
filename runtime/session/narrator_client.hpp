// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asks a narrator, one question at a time: the token of a question, its time limit, its answer.

#include <any>
#include <cstdint>
#include <string>

#include "base/inbox.hpp"
#include "base/loop.hpp"
#include "engine/engine.hpp"
#include "narratoria/narrator.h"

namespace narratoria::session {

// What a narrator answers, from any thread: the end of its question's token.
struct NarratorAnswer {
    bool is_plan;      // else it failed, and
    std::string text;  // says why
};

class NarratorClient : private Inbox::Receiver {
public:
    // One of the two is called for each question that is not withdrawn, from the loop. Either may
    // ask the next one.
    class Listener {
    public:
        virtual ~Listener() = default;
        virtual void on_answer(NarratorAnswer answer) = 0;
        virtual void on_narrator_timeout() = 0;
    };

    // The engine outlives this.
    explicit NarratorClient(engine::Engine& engine) : engine_(engine), timer_(engine.loop()) {}
    ~NarratorClient() override { forget_questions(); }
    NarratorClient(const NarratorClient&) = delete;
    NarratorClient& operator=(const NarratorClient&) = delete;

    // Whom to ask. Its id need not outlive the call.
    void set_narrator(const nar_narrator& narrator) { narrator_ = narrator; }
    bool has_narrator() const { return narrator_.generate != nullptr; }

    // Opens a question; no other one is open. `timeout_ms` 0: no limit. The listener outlives the
    // question.
    void ask(const std::string& request, uint32_t timeout_ms, Listener& listener);
    bool is_asking() const { return token_ != 0; }
    // The answer is no longer wanted; the narrator is told so, unless it has answered.
    void withdraw();

    // Further answers to questions of the past are NAR_GONE; until now those that were answered were
    // NAR_STALE. No question is open.
    void forget_questions() { engine_.inbox().close_all(this); }

    // From any thread: an answer to a question of this client's.
    nar_status answer(uint64_t token, NarratorAnswer answer) {
        return engine_.inbox().send_end(this, token, std::move(answer));
    }

private:
    void on_ended(std::any answer) override;
    void on_time();

    engine::Engine& engine_;
    nar_narrator narrator_{};
    Listener* listener_ = nullptr;  // of the open question
    uint64_t token_ = 0;            // of the open question, or 0
    Timer timer_;
};

}  // namespace narratoria::session
