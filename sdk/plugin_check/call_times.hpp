// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long calls into a plugin take, and whether that is too long for a host.

#include <chrono>
#include <map>
#include <string>

#include "plugin_check/child.hpp"

namespace narratoria::command::plugin_check {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Seconds that calls took, by what was called: the quickest counts, because others use the machine
// too.
class CallTimes {
public:
    void took(const std::string& function, double seconds);
    void judge(TrialReport& report) const;

private:
    std::map<std::string, double> least_;
};

}  // namespace narratoria::command::plugin_check
