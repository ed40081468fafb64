// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects that a session uses but does not create. Tests inject fakes here. The clock comes
// from the engine's loop.

#include <functional>
#include <memory>

#include "engine/engine.hpp"
#include "journal/journal.hpp"
#include "plugin/dispatcher.hpp"
#include "session/settings.hpp"
#include "state/store.hpp"
#include "tool/runner/process_runner.hpp"
#include "tool/runners.hpp"

namespace narratoria::session {

struct Dependencies {
    engine::Engine& engine;  // outlives the session
    std::unique_ptr<state::Store> store;
    std::unique_ptr<journal::Journal> journal;     // NULL: the session is not stored
    std::unique_ptr<journal::StoreFile> replayed;  // set if SessionSettings::replays
    std::unique_ptr<tool::RunnerSettings> runner_settings;
    // Runs executable files, also for plugins that delegate an invocation to a program.
    std::shared_ptr<tool::ProcessRunner> processes;
    // Registers the built-in runners. The session calls it once, before it loads plugins.
    std::function<void(tool::Runners& runners, std::shared_ptr<tool::ProcessRunner> processes,
                       http::Client& http, const plugin::Dispatcher& plugins)>
        add_runners;
};

// The production dependencies. `state`: the initial state as JSON; empty: {}. Throws
// journal::StoreError, or journal::TurnError if the session to replay does not exist.
Dependencies make_dependencies(engine::Engine& engine, const SessionSettings& settings,
                               std::string_view state = {});

}  // namespace narratoria::session
