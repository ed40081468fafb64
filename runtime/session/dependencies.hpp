// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a session works with and does not make itself, so that a test can give it something else. Its
// clock is the one of the engine's loop.

#include <functional>
#include <memory>

#include "engine/engine.hpp"
#include "plugin/dispatcher.hpp"
#include "session/settings.hpp"
#include "state/store.hpp"
#include "tool/runner/process_runner.hpp"
#include "tool/runner/runners.hpp"

namespace narratoria::session {

struct Dependencies {
    engine::Engine& engine;  // outlives the session
    std::unique_ptr<state::Store> store;
    std::unique_ptr<tool::RunnerSettings> runner_settings;
    // Runs the programs that plugins hand over.
    std::shared_ptr<tool::ProcessRunner> processes;
    // Lists the runners that every session has.
    std::function<void(tool::Runners& runners, std::shared_ptr<tool::ProcessRunner> processes,
                       const plugin::Dispatcher& plugins)>
        add_runners;
};

// Those of a host's session.
Dependencies make_dependencies(engine::Engine& engine, const SessionSettings& settings);

}  // namespace narratoria::session
