// SPDX-License-Identifier: Apache-2.0
#pragma once
// The recorded run of an execution's tools. An execution with a recording replays the recorded
// tools and starts no program for them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "plan/plan.hpp"
#include "tool/runner.hpp"

namespace narratoria::plan {

// Must outlive the executions that use it. Engine thread only.
class Recording {
public:
    virtual ~Recording() = default;
    // Called when the next execution starts. The plan of an open one is empty. `wake` is called
    // later when may_start() may have changed.
    virtual void begin(const Plan& plan, std::function<void()> wake) = 0;
    // True if the tool is recorded; otherwise the execution runs it.
    virtual bool has(std::string_view tool_id) const = 0;
    // False while a different recorded event must be replayed before the next tool starts.
    virtual bool may_start() = 0;
    // Plays an attempt of a recorded tool. Calls the listener from the loop.
    virtual std::unique_ptr<tool::Attempt> start(std::string_view tool_id, uint32_t attempt,
                                                 tool::AttemptListener& listener) = 0;
    // Called when no tool can start before a running one ends. `running`: the number of running
    // tools.
    virtual void on_waiting(uint32_t running) = 0;
};

}  // namespace narratoria::plan
