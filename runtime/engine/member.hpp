// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine asks of each of its sessions, on the engine thread.

#include <cstdint>
#include <string>

namespace narratoria::engine {

class Member {
public:
    virtual ~Member() = default;

    // Work is running or waits to begin: nar_engine_run_until_idle goes on.
    virtual bool busy() const = 0;
    // Cancellation was requested, by any thread, and was not carried out yet.
    virtual bool has_cancel() const = 0;
    virtual void take_cancel() = 0;

    // The answer to a question that this member opened with Engine::open_token.
    virtual void on_answer(uint64_t token, bool is_plan, std::string text) = 0;
    virtual bool has_mail() const = 0;
    virtual void take_mail() = 0;
};

}  // namespace narratoria::engine
