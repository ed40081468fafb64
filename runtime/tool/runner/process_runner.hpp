// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tools as processes that print NDJSON events (spec 000).

#include "process/process.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

struct ProcessSettings {
    std::string folder;  // the tools' working folder
    process::Limits limits;
    uint64_t line_bytes = 8u * 1024 * 1024;
    uint32_t grace_ms = 2000;
};

class ProcessRunner : public Runner {
public:
    // `pool` is the engine's; `settings` those of the session.
    ProcessRunner(process::Pool& pool, ProcessSettings settings)
        : pool_(pool), settings_(std::move(settings)) {}

    // What is in its grace time has no more of it.
    ~ProcessRunner() override { pool_.end_all_of(this); }
    ProcessRunner(const ProcessRunner&) = delete;
    ProcessRunner& operator=(const ProcessRunner&) = delete;

    std::unique_ptr<Attempt> start(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;

    // From now on: of tools that are ended.
    void set_grace(uint32_t milliseconds) { settings_.grace_ms = milliseconds; }

private:
    process::Pool& pool_;
    ProcessSettings settings_;
};

}  // namespace narratoria::tool
