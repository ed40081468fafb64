// SPDX-License-Identifier: Apache-2.0
#include "session/runners.hpp"

#include <utility>

#include "tool/project/runner/container_runner.hpp"
#include "tool/project/runner/python_runner.hpp"
#include "tool/project/runner/service_runner.hpp"

namespace narratoria::session {

// One line per kind of tool. A runner of tool paths "scheme:rest" also registers its scheme here
// (Runners::add_scheme).
void add_runners(tool::Runners& runners, std::shared_ptr<tool::ProcessRunner> processes,
                 http::Client& http, const plugin::Dispatcher& plugins) {
    runners.add(tool::PythonRunner::kName, std::make_shared<tool::PythonRunner>(processes));
    runners.add(tool::ContainerRunner::kName, std::make_shared<tool::ContainerRunner>(processes));
    runners.add(tool::ServiceRunner::kName,
                std::make_shared<tool::ServiceRunner>(processes->loop(), http));
    runners.add(tool::kProcessRunner, std::move(processes));
    runners.add(plugin::FunctionRunner::kName, plugins.functions());
}

}  // namespace narratoria::session
