// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokens that the fake hosts of one process give to a plugin. They are large, and unique across
// hosts, so that a wrong token is detected. Thread-safe.

#include <cstdint>

namespace narratoria::command::plugin_check {

std::uint64_t fresh_token();

// True if any host of this process gave the token.
bool is_given_token(std::uint64_t token);

}  // namespace narratoria::command::plugin_check
