// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the local tools of a project (spec 001): a function of a Python module, in a process of its
// own that reads one request and answers with one reply. The process is forked from a server that
// has imported the module, or started anew if the binding says so.

#include <memory>
#include <string>
#include <vector>

#include "tool/runner/process_runner.hpp"
#include "tool/runner/python_servers.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// One per session. Engine thread only.
class PythonRunner : public Runner {
public:
    static constexpr const char* kName = "local";

    explicit PythonRunner(std::shared_ptr<ProcessRunner> processes);

private:
    bool heeds_guarantees() const override { return true; }
    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;

    const std::shared_ptr<ProcessRunner> processes_;
    // Of the process, when the session began: a project's tools find their keys in it (spec 001). A
    // guarantee about variables takes it away.
    const std::vector<std::string> host_;
    PythonServers servers_;
};

}  // namespace narratoria::tool
