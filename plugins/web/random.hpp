// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers from the kernel, for secrets and addresses.

#include <cstddef>
#include <span>
#include <string>

namespace narratoria::web {

// Fills the buffer. Throws std::runtime_error if the kernel provides none.
void fill_random(std::span<unsigned char> bytes);

// `count` random bytes as hexadecimal digits, two per byte.
std::string random_hex(std::size_t count);

}  // namespace narratoria::web
