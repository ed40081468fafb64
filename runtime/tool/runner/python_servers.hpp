// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps Pythons warm: processes that have imported a tool's module, and fork for each call
// (python/fork_server.py). A server serves one call at a time, so that ending the server ends
// everything that the call has started; calls at the same time have servers of their own.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/runner/process_runner.hpp"

namespace narratoria::tool {

// What a server is started with. Calls that agree in all of it share servers.
struct PythonStart {
    std::string interpreter;  // absolute
    std::string folder;
    std::string module;
    std::vector<std::string> environment;  // NAME=value
    Limits limits;
    Guarantees guarantees;              // enforced by a sandbox around the server and its calls
    std::vector<std::string> readable;  // for the sandbox

    bool operator==(const PythonStart&) const;
};

// The command line for a program of python/, in the sandbox of these guarantees.
std::vector<std::string> python_arguments(const std::string& interpreter, const char* text,
                                          const Guarantees& guarantees);

// The servers of one session. Must outlive the sources. Engine thread only.
class PythonServers {
public:
    explicit PythonServers(ProcessRunner& processes);
    ~PythonServers();  // ends all servers
    PythonServers(const PythonServers&) = delete;
    PythonServers& operator=(const PythonServers&) = delete;

    // Sends the request to a server, and starts one if none is idle. Returns NULL and a `failure` if
    // it cannot be started. The listener is told as if the call had a process of its own whose output
    // is the reply; it must outlive the source. Destroying the source ends the call, and its server
    // with it. `on_alone` may be called once: why the server serves this call only.
    std::unique_ptr<Source> start(PythonStart start, std::string request,
                                  process::Listener& listener,
                                  std::function<void(std::string_view)> on_alone,
                                  StartFailure& failure);

private:
    class Server;
    class Call;

    Server* take(const PythonStart& start, StartFailure& failure);
    void keep(Server& server);
    void remove(Server& server);

    ProcessRunner& processes_;
    std::vector<std::unique_ptr<Server>> servers_;  // the one that was used last is last
};

}  // namespace narratoria::tool
