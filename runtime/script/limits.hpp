// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace narratoria::script {

// What one script may use. Each limit has its own error; 0 selects no limit, unless said otherwise.
struct Limits {
    // Operations: an operator, an access, a LET, a call, an element of a literal, a round of a loop.
    // They are counted for each block when it begins. StepLimitError.
    uint64_t steps = 100'000'000;
    // CALLs. CallLimitError.
    uint64_t calls = 1'000'000;
    // Nesting of brackets, blocks and prefix operators in the source, and of lists and objects in a
    // value. At most kMaximumDepth, which 0 selects. DepthLimitError.
    uint32_t depth = 512;
    // The source. At most kMaximumSource, which 0 selects. SizeLimitError.
    uint64_t source_bytes = 16u << 20;
    // One value, and the variables together when the host is given them: about the length as JSON. At most kMaximumValue, which 0 selects. SizeLimitError.
    uint64_t value_bytes = 16u << 20;
    // All values that are alive at a time, and what Memory::charge() adds. MemoryLimitError.
    uint64_t memory_bytes = 256u << 20;
    // All printed lines together. OutputLimitError.
    uint64_t output_bytes = 16u << 20;
    // From the first step, waiting for tools included. TimeLimitError.
    uint32_t milliseconds = 60'000;

    static constexpr uint32_t kMaximumDepth = 512;
    static constexpr uint64_t kMaximumSource = 1u << 30;
    static constexpr uint64_t kMaximumValue = 1u << 30;
};

// Of one value, with the maximum in place of 0.
inline uint64_t value_limit(const Limits& limits) {
    return limits.value_bytes == 0 ? Limits::kMaximumValue
                                   : std::min(limits.value_bytes, Limits::kMaximumValue);
}

}  // namespace narratoria::script
