// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests how this machine enforces the guarantees. Engine thread only.

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
    // Runs the probe in the sandbox and blocks until its end: some milliseconds. Sets `ended` and
    // `output`. Returns false and sets `failure` if no supervisor could run it.
    using Run = std::function<bool(const Sandboxed& sandboxed, supervisor_ended& ended,
                                   std::string& output, StartFailure& failure)>;
    // `supervisor_path`: as for Pool.
    SandboxProbes(std::string supervisor_path, Run run)
        : supervisor_path_(std::move(supervisor_path)), run_(std::move(run)) {}

    // Tests each sandbox once and caches the result. Sets `failure` if the result may change.
    const Enforcement& enforcement_of(uint32_t bits, StartFailure& failure);
    // Returns false and sets `failure` if a required guarantee, or their combination, cannot be
    // enforced.
    bool check(const Guarantees& guarantees, StartFailure& failure);
    // Returns a JSON array in the format of attempts[].guarantees; empty without guarantees.
    std::string receipts(const Guarantees& guarantees);

private:
    Enforcement try_sandbox(uint32_t bits, StartFailure& failure);

    const std::string supervisor_path_;
    const Run run_;
    std::map<uint32_t, Enforcement> known_;
};

}  // namespace narratoria::process
