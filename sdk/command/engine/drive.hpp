// SPDX-License-Identifier: Apache-2.0
#pragma once
// Drives the engine until it is idle, while a display is updated.

#include <chrono>
#include <functional>
#include <optional>

#include "narratoria/engine.hpp"

namespace narratoria::command {

// Drives `engine` until it is idle. `after_batch` runs after all pending events have been handled;
// it writes collected output. `next_refresh` returns when `after_batch` must run again even without
// events (for a display with a clock), or nothing.
void drive_until_idle(
    Engine& engine, const std::function<void()>& after_batch,
    const std::function<std::optional<std::chrono::steady_clock::time_point>()>& next_refresh = {});

}  // namespace narratoria::command
