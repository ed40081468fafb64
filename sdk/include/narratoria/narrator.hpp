// SPDX-License-Identifier: Apache-2.0
#pragma once
// A narrator of your own: it turns a prompt into Plan JSON (spec 003 §13.6).

#include "narratoria/core.hpp"
#include "narratoria/narrator.h"
#include "narratoria/status.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria {

// The way back for one request's answer. Copy it where you like and answer from any thread, at
// once or later, also after the session or the engine has ended: then the answer is dropped.
class NarratorReply {
public:
    // Names the request; the same number as in Narrator::cancel.
    std::uint64_t token() const noexcept { return token_; }

    // Answers with Plan JSON, which is copied. False: it came too late, or was not the first.
    // A plan with faults is taken, and comes back with its faults in the next request.
    bool plan(std::string_view plan) const { return answer(nar_narrator_reply, plan); }

    // Says that there will be no plan, and why. False as above.
    bool fail(std::string_view message) const { return answer(nar_narrator_fail, message); }

private:
    friend class Session;
    NarratorReply(std::shared_ptr<detail::Core> core, std::uint64_t token) noexcept
        : core_(std::move(core)), token_(token) {}

    template <class Function>
    bool answer(Function function, std::string_view text) const {
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
};

// generate  called on the engine thread; `request` (abi/schemas/narrator-request-1.schema.json) is
//           alive until it returns. When it throws an Error or another std::exception, its message
//           becomes the answer "no plan", and the exception is thrown from the driving call too.
// cancel    called on the engine thread when the answer is no longer wanted; may be empty.
struct Narrator {
    std::string id;
    std::function<void(std::string_view request, NarratorReply reply)> generate;
    std::function<void(std::uint64_t token)> cancel = {};
};

}  // namespace narratoria
