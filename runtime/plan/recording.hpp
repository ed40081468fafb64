// SPDX-License-Identifier: Apache-2.0
#pragma once
// The recorded run of an execution's tools. An execution with a recording replays it, and starts no
// program for the tools that it has.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "plan/plan.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::plan {

// Outlives the executions that have it. Engine thread only.
class Recording {
public:
    virtual ~Recording() = default;
    // The next execution begins. An open one has an empty plan. `wake` is called, not from here, when
    // may_start() may have changed.
    virtual void begin(const Plan& plan, std::function<void()> wake) = 0;
    // False: the tool of this execution is really run.
    virtual bool has(std::string_view tool_id) const = 0;
    // False: in the recording, something else came before the next start of a tool.
    virtual bool may_start() = 0;
    // Plays an attempt of a tool that it has. Calls the listener from the loop.
    virtual std::unique_ptr<tool::Attempt> start(std::string_view tool_id, uint32_t attempt,
                                                 tool::AttemptListener& listener) = 0;
    // No tool starts before one of those that run has ended; `running`: their number.
    virtual void on_waiting(uint32_t running) = 0;
};

}  // namespace narratoria::plan
