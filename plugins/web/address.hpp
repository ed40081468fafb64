// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses of this machine's loopback network, 127.0.0.0/8.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::web {

// An IPv4 address in the order of the host's bytes.
using Address = std::uint32_t;

inline constexpr Address kLocalhost = 0x7F000001;

// "127.x.y.z", which nobody outside this machine can reach; nothing for any other text.
std::optional<Address> parse_loopback(std::string_view text);

std::string to_text(Address address);

// One of sixteen million. An earlier server of the same user has hardly ever had it, so that nothing
// which that server left in the browser (cookies, cache, service workers) belongs to it.
Address random_loopback();

}  // namespace narratoria::web
