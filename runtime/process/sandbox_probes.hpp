// SPDX-License-Identifier: Apache-2.0
#pragma once
// How this machine enforces the guarantees, found out by trying. Engine thread only.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/guarantees.hpp"
#include "process/sandbox.hpp"

struct supervisor_ended;

namespace narratoria::process {

struct StartFailure;

class SandboxProbes {
public:
    // Runs the probe in the sandbox, and blocks until its end: some milliseconds. Sets how it ended and
    // what it wrote. False with `failure` if no supervisor could do it.
    using Run = std::function<bool(const Sandboxed& sandboxed, supervisor_ended& ended,
                                   std::string& output, StartFailure& failure)>;
    // `supervisor_path`: as for Pool.
    SandboxProbes(std::string supervisor_path, Run run)
        : supervisor_path_(std::move(supervisor_path)), run_(std::move(run)) {}

    // Each sandbox is tried once. Fills `failure` if the answer may change.
    const Enforcement& enforcement_of(uint32_t bits, StartFailure& failure);
    // False with `failure` if a required guarantee cannot be enforced, or if all together cannot.
    bool check(const Guarantees& guarantees, StartFailure& failure);
    // What attempts[].guarantees has for them, a JSON array; empty for none.
    std::string receipts(const Guarantees& guarantees);

private:
    Enforcement try_sandbox(uint32_t bits, StartFailure& failure);

    const std::string supervisor_path_;
    const Run run_;
    std::map<uint32_t, Enforcement> known_;
};

}  // namespace narratoria::process
