// SPDX-License-Identifier: Apache-2.0
#include "arguments/log_option.hpp"

#include <algorithm>
#include <utility>

#include "narratoria/engine.h"

namespace narratoria::command {
namespace {

constexpr std::pair<const char*, std::uint32_t> kLevels[] = {{"debug", NAR_LOG_DEBUG},
                                                             {"info", NAR_LOG_INFO},
                                                             {"warning", NAR_LOG_WARN},
                                                             {"error", NAR_LOG_ERROR}};

}  // namespace

void LogOption::add_to(Command command) {
    command
        .option("--log", name_,
                "Log level of plugins and the engine: debug, info, warning, error (default)")
        .type_name("LEVEL")
        .one_of({"debug", "info", "warning", "error"});
}

std::uint32_t LogOption::level(std::uint32_t otherwise) const {
    if (name_.empty()) return otherwise;
    return std::find_if(std::begin(kLevels), std::end(kLevels),
                        [&](const auto& each) { return name_ == each.first; })
        ->second;
}

}  // namespace narratoria::command
