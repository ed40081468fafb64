// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokens that the fake hosts of one process give to a plugin: never small and never the same in
// two hosts, so that a mistaken one is seen. Thread-safe.

#include <cstdint>

namespace narratoria::command::plugin_check {

std::uint64_t fresh_token();

// Some host of this process gave it.
bool is_given_token(std::uint64_t token);

}  // namespace narratoria::command::plugin_check
