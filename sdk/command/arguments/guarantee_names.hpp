// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria::command {

// The values of nar_engine_options.sandbox, except "all" and the names of secrets.
inline constexpr std::string_view kGuaranteeNames[] = {
    "no_filesystem_write", "no_filesystem_read", "no_network",
    "no_subprocess",       "no_env_read",        "no_env_write",
};

}  // namespace narratoria::command
