// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace narratoria::script {

// The limits of one script. Each has its own error. 0 means no limit, unless noted.
struct Limits {
    // Operations: an operator, an access, a LET, a call, an element of a literal, a round of a
    // loop. The steps of a block are charged when it begins. StepLimitError.
    uint64_t steps = 100'000'000;
    // CALLs. CallLimitError.
    uint64_t calls = 1'000'000;
    // Nesting of brackets, blocks and prefix operators in the source, and of lists and objects in a
    // value. At most kMaximumDepth, which 0 selects. DepthLimitError.
    uint32_t depth = 512;
    // Bytes of the source. At most kMaximumSource, which 0 selects. SizeLimitError.
    uint64_t source_bytes = 16u << 20;
    // Bytes of one value, and of all variables together when the host receives them: approximately
    // the length as JSON. At most kMaximumValue, which 0 selects. SizeLimitError.
    uint64_t value_bytes = 16u << 20;
    // Bytes of all live values. MemoryLimitError.
    uint64_t memory_bytes = 256u << 20;
    // Bytes of all printed lines. OutputLimitError.
    uint64_t output_bytes = 16u << 20;
    // Time since the first step, including waiting for tools. TimeLimitError.
    uint32_t milliseconds = 60'000;

    static constexpr uint32_t kMaximumDepth = 512;
    static constexpr uint64_t kMaximumSource = 1u << 30;
    static constexpr uint64_t kMaximumValue = 1u << 30;
};

// The limit of one value; never 0.
inline uint64_t value_limit(const Limits& limits) {
    return limits.value_bytes == 0 ? Limits::kMaximumValue
                                   : std::min(limits.value_bytes, Limits::kMaximumValue);
}

}  // namespace narratoria::script
