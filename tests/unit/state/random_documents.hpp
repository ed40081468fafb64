// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random states and patches, with keys and values that are often the same.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace narratoria::test {

class RandomDocuments {
public:
    explicit RandomDocuments(uint32_t seed) : random_(seed) {}

    std::string object(int depth) {
        std::string out = "{";
        const size_t count = below(8) == 0 ? below(40) : below(6);
        for (size_t i = 0; i < count; ++i) {
            if (i > 0) out += ',';
            out += key() + ":" + value(depth);
        }
        return out + "}";
    }

private:
    size_t below(size_t end) { return static_cast<size_t>(random_() % end); }

    std::string key() {
        static const std::vector<std::string> kKeys = {
            R"("")",
            R"("a")",
            R"("b")",
            R"("c")",
            R"("\u0061")",
            R"("a\n")",
            R"("é")",
            R"("\u00e9")",
            R"("\u0000")",
            R"("fourteen bytes")",
            R"("fifteen bytes..")",
            R"("a key that is much longer than what fits in place")"};
        if (below(3) == 0) return "\"k" + std::to_string(below(30)) + "\"";
        return kKeys[below(kKeys.size())];
    }

    std::string value(int depth) {
        static const std::vector<std::string> kValues = {
            "null",
            "null",
            "true",
            "false",
            "0",
            "-1.50e3",
            R"("")",
            R"("x")",
            R"("\n")",
            R"("\ud83d\udd25")",
            R"("fourteen bytes")",
            R"("a string that is much longer than what fits in place")",
            "[]",
            "[ ]",
            R"([null,{"a":null},"\t"])"};
        if (depth > 0 && below(2) == 0) return object(depth - 1);
        return kValues[below(kValues.size())];
    }

    std::mt19937 random_;
};

}  // namespace narratoria::test
