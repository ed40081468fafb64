// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the local tools of a project (spec 001). A tool is a function of a Python module. Each call
// has its own process, which reads one request and writes one reply. It is forked from a server
// that has imported the module, or started afresh if the binding says so.

#include <memory>
#include <string>
#include <vector>

#include "tool/project/runner/python_servers.hpp"
#include "tool/runner.hpp"
#include "tool/runner/process_runner.hpp"

namespace narratoria::tool {

// One per session. Engine thread only.
class PythonRunner : public Runner {
public:
    static constexpr const char* kName = "local";

    explicit PythonRunner(std::shared_ptr<ProcessRunner> processes);

private:
    bool enforces_guarantees() const override { return true; }
    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;

    const std::shared_ptr<ProcessRunner> processes_;
    // The host's environment when the session began: a project's tools find their keys there (spec
    // 001). A guarantee about variables hides it from them.
    const std::vector<std::string> host_;
    PythonServers servers_;
};

}  // namespace narratoria::tool
