// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/trials.hpp"

#include <fmt/core.h>

namespace narratoria::command::plugin_check {

std::string joined(const std::vector<std::string>& names) {
    constexpr std::size_t kMax = 8;
    std::string all;
    for (std::size_t index = 0; index < names.size() && index < kMax; ++index) {
        all += (index > 0 ? ", " : "") + names[index];
    }
    if (names.size() > kMax) all += fmt::format(", and {} more", names.size() - kMax);
    return all;
}

void cover(TrialReport& report, std::initializer_list<std::string_view> rules) {
    for (const std::string_view rule : rules) report.add_covered(rule);
}

}  // namespace narratoria::command::plugin_check
