// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures calls into a plugin and judges them against the time budgets of P19 and P23.

#include <chrono>
#include <map>
#include <string>

#include "plugin_check/child.hpp"

namespace narratoria::command::plugin_check {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The shortest time of each called function, in seconds. Uses the minimum because other programs
// may slow down a single call.
class CallTimes {
public:
    void record(const std::string& function, double seconds);
    void judge(TrialReport& report) const;

private:
    std::map<std::string, double> shortest_;
};

}  // namespace narratoria::command::plugin_check
