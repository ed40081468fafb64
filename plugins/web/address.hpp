// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses of this machine's loopback network, 127.0.0.0/8.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::web {

// An IPv4 address in host byte order.
using Address = std::uint32_t;

inline constexpr Address kLocalhost = 0x7F000001;

// Parses "127.x.y.z", which is not reachable from outside this machine. Nothing for any other text.
std::optional<Address> parse_loopback(std::string_view text);

std::string to_text(Address address);

// One of 16 million addresses. An earlier server hardly ever had the same one, so cookies, caches
// and service workers that it left in the browser do not apply.
Address random_loopback();

}  // namespace narratoria::web
