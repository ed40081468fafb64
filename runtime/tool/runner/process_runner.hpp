// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tools as processes that print NDJSON events (spec 000).

#include "process/process.hpp"
#include "tool/runner/runner.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria::tool {

struct ProcessSettings {
    std::string folder;  // the tools' working folder
    StreamSettings stream;
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

    // A process for an attempt that somebody else runs. `program` is absolute.
    std::unique_ptr<Source> start_source(std::string program, std::vector<std::string> arguments,
                                         std::string_view input,
                                         const std::vector<std::string>& environment,
                                         process::Listener& listener, StartFailure& failure);

    // From now on: of tools that are ended.
    void set_grace(uint32_t milliseconds) { settings_.stream.grace_ms = milliseconds; }
    const ProcessSettings& settings() const { return settings_; }
    Loop& loop() { return pool_.loop(); }

private:
    process::Pool& pool_;
    ProcessSettings settings_;
};

}  // namespace narratoria::tool
