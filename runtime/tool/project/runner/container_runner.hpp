// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the container tools of a project (spec 001) with docker or podman: one container per call,
// which reads one request and writes one reply.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/runner.hpp"
#include "tool/runner/process_runner.hpp"

namespace narratoria::tool {

// The name of a container, "narratoria-MACHINE-PROCESS-START-NUMBER". It identifies the host
// process, so that containers of dead hosts can be recognized and removed.
struct ContainerName {
    std::string machine;   // identifies this boot and this process namespace
    uint64_t process = 0;  // the process id of the host
    uint64_t started = 0;  // its start time in the unit of /proc/PID/stat

    static ContainerName of_this_process();
    std::string text(uint64_t number) const;
    // True if `name` is a container of this machine and its host no longer runs.
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

    bool enforces_guarantees() const override { return true; }

    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;
    // These work in the background. Removals continue after the runner is destroyed.
    void remove(const std::string& runtime, const std::vector<std::string>& names,
                std::function<void()> on_end = nullptr);
    // Removes a container that its client may still be about to create.
    void remove_twice(const std::string& runtime, const std::string& name);
    // Removes containers and variable files of dead hosts. Does so only once per runner.
    void remove_left_behind(const std::string& runtime);
    void start_task(std::vector<std::string> arguments, bool is_removal,
                    std::function<void(std::string_view output)> on_end);

    const std::shared_ptr<ProcessRunner> processes_;
    const ContainerName name_;
    // For the client, which is not a tool: it needs the host's variables to find its daemon and
    // settings.
    const std::vector<std::string> environment_;
    std::list<std::unique_ptr<Task>> tasks_;
    bool has_looked_ = false;
};

}  // namespace narratoria::tool
