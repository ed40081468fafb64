// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tools that plugins run: functions with a schema, and whatever stands behind a scheme. What they
// print is read as a process's output is.

#include "plugin/dispatcher.hpp"
#include "tool/runner/process_runner.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

class PluginRunner : public Runner {
public:
    // `processes` run what is a program, and what a plugin hands over. Both outlive this.
    PluginRunner(ProcessRunner& processes, plugin::Mailbox& mailbox)
        : processes_(processes), mailbox_(mailbox) {}

    std::unique_ptr<Attempt> start(const Invocation& invocation, AttemptListener& listener,
                                   StartFailure& failure) override;

private:
    ProcessRunner& processes_;
    plugin::Mailbox& mailbox_;
};

}  // namespace narratoria::tool
