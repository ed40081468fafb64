// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the container tools of a project (spec 001) with docker or podman: one container a call, which
// reads one request and answers with one reply.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/runner/process_runner.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// What names a container, so that one whose host has died can be told from one in use:
// "narratoria-MACHINE-PROCESS-START-NUMBER".
struct ContainerName {
    std::string machine;   // of this boot and this process namespace
    uint64_t process = 0;  // the host's process
    uint64_t started = 0;  // when it started, as /proc/PID/stat has it

    static ContainerName of_this_process();
    std::string text(uint64_t number) const;
    // True for the name of a container of this machine whose host runs no longer.
    bool is_left_behind(std::string_view name) const;
};

// One per session. Engine thread only.
class ContainerRunner : public Runner {
public:
    static constexpr const char* kName = "container";

    explicit ContainerRunner(std::shared_ptr<ProcessRunner> processes);
    ~ContainerRunner() override;

private:
    class Call;
    class Task;

    bool heeds_guarantees() const override { return true; }

    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;
    // All in the background. A removal goes on when the runner is destroyed.
    void remove(const std::string& runtime, const std::vector<std::string>& names,
                std::function<void()> on_end = nullptr);
    // Of a container that its client may be about to make.
    void remove_twice(const std::string& runtime, const std::string& name);
    // Containers, and files of variables, of hosts that have died.
    void remove_left_behind(const std::string& runtime);
    void start_task(std::vector<std::string> arguments, bool is_removal,
                    std::function<void(std::string_view output)> on_end);

    const std::shared_ptr<ProcessRunner> processes_;
    const ContainerName name_;
    // The client's: it is no tool, and finds its daemon and its settings by the host's variables.
    const std::vector<std::string> environment_;
    std::list<std::unique_ptr<Task>> tasks_;
    bool has_looked_ = false;
};

}  // namespace narratoria::tool
