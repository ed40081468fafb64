// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regular expressions of JSON Schema (ECMA-262, Unicode), matched in linear time.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::tool {

// A compiled pattern: a program for the simulation of a nondeterministic automaton, so the time is
// the product of both sizes at worst. Refused, because they cannot be matched so: look-ahead,
// look-behind, back-references. Refused, because it has no table of Unicode's properties: \p.
// Immutable after compile(); thread-safe.
class Pattern {
public:
    static constexpr size_t kMaxProgram = 10'000;
    static constexpr uint32_t kMaxRepeat = 1000;

    // False, with the problem for people, if it is no pattern or one that is refused.
    bool compile(std::string_view text, std::string& problem);

    // True if a part of `text`, which is valid UTF-8, matches. Subtracts what it does from `steps`;
    // returns false with 0 steps if they do not suffice.
    bool search(std::string_view text, uint64_t& steps) const;

private:
    friend class PatternCompiler;
    friend class PatternRun;
    enum class Op : uint8_t {
        Range,  // one code point from x to y
        Set,    // one code point of sets_[x]
        Split,  // continues at x and at y
        Jump,   // continues at x
        Begin,
        End,
        WordBoundary,
        NotWordBoundary,
        Match,
    };
    struct Instruction {
        Op op;
        uint32_t x = 0;
        uint32_t y = 0;
    };
    struct Set {
        std::array<uint64_t, 2> ascii{};
        std::vector<std::pair<uint32_t, uint32_t>> ranges;  // sorted, disjoint
        bool has(uint32_t c) const;
    };

    std::vector<Instruction> program_;
    std::vector<Set> sets_;
    bool begins_ = false;  // every match begins at the start of the text
};

}  // namespace narratoria::tool
