// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared code of the fuzz targets: a check that ends the program, and texts with the padding that
// the readers of runtime/base/json/tape.hpp need.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"

// Active in every build, unlike assert: without checks, a fuzz target finds only crashes.
#define REQUIRE(condition)                                                                      \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                       \
        }                                                                                       \
    } while (false)

namespace narratoria::fuzz {

// Exactly `size` bytes and the padding on the heap, so that a sanitizer detects reads past the
// padding. The first byte of the padding is zero, as promised; the others are deliberately hostile.
class PaddedText {
public:
    PaddedText(const void* data, size_t size)
        : bytes_(new char[size + json::kPadding]), size_(size) {
        if (size > 0) std::memcpy(bytes_.get(), data, size);
        std::memset(bytes_.get() + size, '"', json::kPadding);
        bytes_[size] = '\0';
    }
    explicit PaddedText(std::string_view text) : PaddedText(text.data(), text.size()) {}

    std::string_view view() const { return {bytes_.get(), size_}; }

private:
    std::unique_ptr<char[]> bytes_;
    size_t size_;
};

}  // namespace narratoria::fuzz
