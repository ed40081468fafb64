// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/call_times.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace narratoria::command::plugin_check {
namespace {

constexpr double kCallBudget = 0.1;
constexpr double kInitBudget = 1;
constexpr double kDeinitBudget = 2;

}  // namespace

void CallTimes::record(const std::string& function, double seconds) {
    const auto [found, is_new] = shortest_.emplace(function, seconds);
    if (!is_new) found->second = std::min(found->second, seconds);
}

void CallTimes::judge(TrialReport& report) const {
    for (const auto& [function, seconds] : shortest_) {
        const bool is_deinit = function == "deinit";
        const double budget = is_deinit                                   ? kDeinitBudget
                              : function == "init" || function == "entry" ? kInitBudget
                                                                          : kCallBudget;
        if (seconds <= budget) continue;
        report.add_finding(is_deinit ? "P19" : "P23",
                           fmt::format("{} took at least {:.0f} ms; the limit is {:.0f} ms",
                                       function, seconds * 1000, budget * 1000));
    }
}

}  // namespace narratoria::command::plugin_check
