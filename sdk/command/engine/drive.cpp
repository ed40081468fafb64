// SPDX-License-Identifier: Apache-2.0
#include "engine/drive.hpp"

#include <poll.h>

#include <algorithm>

namespace narratoria::command {

void drive_until_idle(
    Engine& engine, const std::function<void()>& after_batch,
    const std::function<std::optional<std::chrono::steady_clock::time_point>()>& next_refresh) {
    using std::chrono::milliseconds;
    using std::chrono::steady_clock;
    if (!next_refresh) {
        do {
            engine.run_once();
            after_batch();
        } while (engine.is_busy());
        return;
    }
    engine.run_for(std::chrono::microseconds(0));
    after_batch();
    while (engine.is_busy()) {
        std::optional<milliseconds> wait = engine.timeout();
        if (const std::optional<steady_clock::time_point> look = next_refresh()) {
            const milliseconds until = std::max(
                milliseconds(0), std::chrono::ceil<milliseconds>(*look - steady_clock::now()));
            wait = wait ? std::min(*wait, until) : until;
        }
        pollfd ready{engine.descriptor(), POLLIN, 0};
        poll(&ready, 1, wait ? static_cast<int>(wait->count()) : -1);
        engine.run_for(std::chrono::microseconds(0));
        after_batch();
    }
}

}  // namespace narratoria::command
