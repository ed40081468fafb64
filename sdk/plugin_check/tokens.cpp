// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/tokens.hpp"

#include <atomic>

namespace narratoria::command::plugin_check {
namespace {

constexpr std::uint64_t kFirstToken = 0x5EED'0000'0001;
std::atomic<std::uint64_t> next_token{kFirstToken};

}  // namespace

std::uint64_t fresh_token() { return next_token++; }

bool is_given_token(std::uint64_t token) { return token >= kFirstToken && token < next_token; }

}  // namespace narratoria::command::plugin_check
