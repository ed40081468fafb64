// SPDX-License-Identifier: Apache-2.0
#include "web/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <stdexcept>
#include <vector>

namespace narratoria::web {

void fill_random(std::span<unsigned char> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
        else if (errno != EINTR) throw std::runtime_error("the system provides no random numbers");
    }
}

std::string random_hex(std::size_t count) {
    std::vector<unsigned char> bytes(count);
    fill_random(bytes);
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace narratoria::web
