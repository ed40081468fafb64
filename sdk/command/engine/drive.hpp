// SPDX-License-Identifier: Apache-2.0
#pragma once
// Driving the engine until it is idle, with something to look at meanwhile.

#include <chrono>
#include <functional>
#include <optional>

#include "narratoria/engine.hpp"

namespace narratoria::command {

// Drives `engine` until it is idle. `after_batch` is called after everything that was there has
// been handled: the moment to write out what was collected. `next_look` says when it wants to be
// called again although nothing happened (a display with a clock); empty when it never does.
void drive_until_idle(
    Engine& engine, const std::function<void()>& after_batch,
    const std::function<std::optional<std::chrono::steady_clock::time_point>()>& next_look = {});

}  // namespace narratoria::command
