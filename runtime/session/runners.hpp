// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "http/client.hpp"
#include "plugin/dispatcher.hpp"
#include "tool/runner/process_runner.hpp"
#include "tool/runners.hpp"

namespace narratoria::session {

// Registers the built-in runners. Plugins register theirs when they are loaded. `runners` must not
// run a tool after `plugins` is destroyed.
void add_runners(tool::Runners& runners, std::shared_ptr<tool::ProcessRunner> processes,
                 http::Client& http, const plugin::Dispatcher& plugins);

}  // namespace narratoria::session
