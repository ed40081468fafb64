// SPDX-License-Identifier: Apache-2.0
#include "session/dependencies.hpp"

#include <utility>

#include "session/runners.hpp"

namespace narratoria::session {

Dependencies make_dependencies(engine::Engine& engine, const SessionSettings& settings) {
    auto runner_settings = std::make_unique<tool::RunnerSettings>(
        tool::RunnerSettings{engine.settings().root, settings.times.grace_ms});
    auto processes = std::make_shared<tool::ProcessRunner>(engine.pool(), *runner_settings);
    return {engine,
            std::make_unique<state::Store>(
                settings.limits.history_patches,
                state::SizeLimits{settings.limits.patch_bytes, settings.limits.state_bytes}),
            std::move(runner_settings), std::move(processes), add_runners};
}

}  // namespace narratoria::session
