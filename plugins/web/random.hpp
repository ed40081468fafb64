// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers of the kernel, for secrets and addresses.

#include <cstddef>
#include <span>
#include <string>

namespace narratoria::web {

// Fills the buffer. Throws if the kernel has none to give.
void fill_random(std::span<unsigned char> bytes);

// `count` random bytes as hexadecimal digits, two for each.
std::string random_hex(std::size_t count);

}  // namespace narratoria::web
