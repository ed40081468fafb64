// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.hpp"

#include <sys/random.h>

#include <cerrno>
#include <stdexcept>

namespace narratoria {

std::string make_uuid() {
    unsigned char bytes[16];
    size_t have = 0;
    while (have < sizeof bytes) {
        const ssize_t got = getrandom(bytes + have, sizeof bytes - have, 0);
        if (got < 0 && errno != EINTR)
            throw std::runtime_error("the kernel returned no random bytes");
        if (got > 0) have += static_cast<size_t>(got);
    }
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
    static constexpr const char* kHex = "0123456789abcdef";
    std::string text;
    text.reserve(36);
    for (size_t i = 0; i < sizeof bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += kHex[bytes[i] >> 4];
        text += kHex[bytes[i] & 15];
    }
    return text;
}

}  // namespace narratoria
