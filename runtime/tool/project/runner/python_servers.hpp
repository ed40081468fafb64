// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps Python processes warm: servers that have imported a tool's module and fork for each call
// (python/fork_server.py). A server serves one call at a time, so terminating the server ends all
// processes of the call; concurrent calls use separate servers.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/runner/process_runner.hpp"

namespace narratoria::tool {

// The start parameters of a server. Calls with equal parameters share servers.
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

// Returns the command line for a program of python/ in the sandbox of these guarantees. `text`: the
// source code of the program.
std::vector<std::string> python_arguments(const std::string& interpreter, const char* text,
                                          const Guarantees& guarantees);

// The servers of one session. Must outlive the sources. Engine thread only.
class PythonServers {
public:
    explicit PythonServers(ProcessRunner& processes);
    ~PythonServers();  // ends all servers
    PythonServers(const PythonServers&) = delete;
    PythonServers& operator=(const PythonServers&) = delete;

    // Sends the request to an idle server, or starts one. Returns NULL and a `failure` if none can
    // be started. The listener gets the same calls as for a separate process that prints the
    // reply; it must outlive the source. Destroying the source ends the call and its server. If the
    // server can serve only this call, `on_alone` is called once with the reason.
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
    std::vector<std::unique_ptr<Server>> servers_;  // the least recently used one is first
};

}  // namespace narratoria::tool
