// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regular expressions of JSON Schema (ECMA-262, Unicode), matched without backtracking.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::tool {

// A compiled pattern: a program for the simulation of a nondeterministic automaton. A search takes
// at most the product of the program's and the text's size. Look-ahead, look-behind and
// back-references are refused because an automaton cannot match them; \p is refused because the
// tables of Unicode properties are missing. Immutable after compile(); then thread-safe.
class Pattern {
public:
    static constexpr size_t kMaxProgram = 10'000;
    static constexpr uint32_t kMaxRepeat = 1000;

    // Returns false and sets `problem` to a message if the pattern is invalid or refused.
    bool compile(std::string_view text, std::string& problem);

    // Returns true if a part of `text` matches. `text` must be valid UTF-8. Subtracts the steps
    // that it needs from `steps`; if they do not suffice, sets `steps` to 0 and returns false.
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
