// SPDX-License-Identifier: Apache-2.0
#include "web/address.hpp"

#include <arpa/inet.h>

#include <array>

#include "web/random.hpp"

namespace narratoria::web {

std::optional<Address> parse_loopback(std::string_view text) {
    in_addr parsed{};
    // inet_pton would ignore everything after a NUL.
    if (text.find('\0') != std::string_view::npos) return std::nullopt;
    const std::string terminated(text);
    if (::inet_pton(AF_INET, terminated.c_str(), &parsed) != 1) return std::nullopt;
    const Address address = ntohl(parsed.s_addr);
    // The network address and the broadcast address are not host addresses.
    const bool is_host = (address & 0x00FFFFFF) != 0 && (address & 0x00FFFFFF) != 0x00FFFFFF;
    if (address >> 24 != 127 || !is_host) return std::nullopt;
    return address;
}

std::string to_text(Address address) {
    std::string text;
    for (const unsigned shift : {24u, 16u, 8u, 0u}) {
        if (!text.empty()) text += '.';
        text += std::to_string(address >> shift & 0xFF);
    }
    return text;
}

Address random_loopback() {
    std::array<unsigned char, 3> bytes{};
    fill_random(bytes);
    // Avoids 127.0.0.0/16, where users choose addresses by hand, and .0 and .255 at the end.
    const Address second = 1 + bytes[0] % 254u;
    const Address last = 1 + bytes[2] % 254u;
    return Address{127} << 24 | second << 16 | Address{bytes[1]} << 8 | last;
}

}  // namespace narratoria::web
