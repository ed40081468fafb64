// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs executable files as child processes that print NDJSON events (spec 000).

#include "process/pool.hpp"
#include "process/process.hpp"
#include "tool/runner.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria::tool {

// One per session. Engine thread only.
class ProcessRunner : public Runner {
public:
    // `pool` is the engine's. Both arguments must outlive the runner.
    ProcessRunner(process::Pool& pool, const RunnerSettings& settings)
        : pool_(pool), settings_(settings) {}

    // Kills processes that are still in their grace period.
    ~ProcessRunner() override { pool_.end_all_of(this); }
    ProcessRunner(const ProcessRunner&) = delete;
    ProcessRunner& operator=(const ProcessRunner&) = delete;

    // Starts a process for an attempt, possibly of another runner. Its working directory is
    // `folder`, or the session's if `folder` is empty. `program` must be absolute. `input` and
    // `environment` are read during the call only; `listener` must outlive the source. Returns NULL
    // and a `failure` if the process cannot be started.
    std::unique_ptr<Source> start_source(std::string program, std::vector<std::string> arguments,
                                         std::string_view input,
                                         const std::vector<std::string>& environment,
                                         const process::Limits& limits, process::Listener& listener,
                                         StartFailure& failure, std::string folder = {},
                                         const Guarantees* guarantees = nullptr,
                                         const std::vector<std::string>* readable = nullptr);

    // The same for a program that serves several calls: its standard input stays open.
    std::unique_ptr<process::Process> start_service(
        std::string program, std::vector<std::string> arguments,
        const std::vector<std::string>& environment, const process::Limits& limits,
        process::Listener& listener, StartFailure& failure, std::string folder,
        const Guarantees* guarantees = nullptr, const std::vector<std::string>* readable = nullptr);
    // Starts a program that is not a tool. It may outlive the session: see Pool::finish().
    std::unique_ptr<process::Process> start_helper(std::vector<std::string> arguments,
                                                   const std::vector<std::string>& environment,
                                                   process::Listener& listener);
    process::Pool& pool() { return pool_; }
    // Returns the receipts that a process with these guarantees reports at its end.
    std::string receipts(const Guarantees& guarantees) { return pool_.receipts(guarantees); }

    const RunnerSettings& settings() const { return settings_; }
    Loop& loop() { return pool_.loop(); }

private:
    bool enforces_guarantees() const override { return true; }
    std::unique_ptr<Attempt> begin(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;
    std::unique_ptr<process::Process> launch(process::Command& command, process::Listener& listener,
                                             StartFailure& failure);

    process::Pool& pool_;
    const RunnerSettings& settings_;
};

}  // namespace narratoria::tool
