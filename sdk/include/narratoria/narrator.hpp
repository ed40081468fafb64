// SPDX-License-Identifier: Apache-2.0
#pragma once
// A narrator in the host: it turns a prompt into Plan JSON (spec 003 §13.6).

#include "narratoria/core.hpp"
#include "narratoria/exceptions.hpp"
#include "narratoria/narrator.h"
#include "narratoria/status.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria {

// The handle by which a narrator replies to one request. It can be copied and used on any thread,
// immediately or later. After the session or the engine has ended, a reply is dropped.
class NarratorReply {
public:
    // Identifies the request; the same number is passed to Narrator::cancel.
    std::uint64_t token() const noexcept { return token_; }

    // The time for the reply, from the call of generate on; nothing: unlimited.
    std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }

    // Tells the next piece of the narrative before the reply: sinks receive NarrativeDelta. If the
    // plan has no "narrative", the pieces are its narrative; otherwise its text replaces them. A
    // piece may end within a character. Returns false if the request has ended. Throws Error with
    // NAR_BUSY if 16 MiB of pieces are waiting for the loop.
    bool delta(std::string_view text) const { return send(nar_narrator_delta, text); }

    // Reports what the reply takes, before it: a JSON object (narrator-usage-1.schema.json) such as
    // {"inputTokens": 900, "outputTokens": 120}. Returns false if the request has ended. Throws
    // Error if it is not valid.
    bool usage(std::string_view usage) const { return send(nar_narrator_usage, usage); }

    // Replies with Plan JSON, which is copied. Returns false if the reply is late or not the first.
    // A plan with faults is accepted here, and its faults are in the next request.
    bool plan(std::string_view plan) const { return send(nar_narrator_reply, plan); }

    // Replies without a plan and gives the reason. Returns false like plan().
    bool fail(std::string_view message) const { return send(nar_narrator_fail, message); }

private:
    friend class Session;
    NarratorReply(std::shared_ptr<detail::Core> core, const nar_narrator_request& request) noexcept
        : core_(std::move(core)),
          token_(request.token),
          timeout_(detail::to_duration(request.timeout_ms)) {}

    template <class Function>
    bool send(Function function, std::string_view text) const {
        const std::lock_guard lock(core_->ending);
        if (core_->engine == nullptr) return false;
        detail::Check check;
        const nar_status status =
            function(core_->engine, token_, detail::to_c(text), check.details());
        if (status == NAR_STALE || status == NAR_GONE) return false;
        check(status);
        return true;
    }

    std::shared_ptr<detail::Core> core_;
    std::uint64_t token_;
    std::optional<std::chrono::milliseconds> timeout_;
};

// generate  called on the engine thread; `request` (abi/schemas/narrator-request-1.schema.json) is
//           valid until it returns. If it throws a std::exception, the message becomes the reply
//           "no plan", and the driving call rethrows the exception.
// cancel    called on the engine thread if the reply is no longer needed; may be empty.
// is_detailed  its requests also have `turns`, `turnMetadata`, `stateForPrompt` and details of tools
struct Narrator {
    std::string id;
    std::function<void(std::string_view request, NarratorReply reply)> generate;
    std::function<void(std::uint64_t token)> cancel = {};
    bool is_detailed = false;
};

}  // namespace narratoria
