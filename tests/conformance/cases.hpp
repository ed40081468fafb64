// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of cases that every implementation of a rule is tested with.

#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/json.hpp"
#include "support/folders.hpp"

namespace narratoria::test {

// tests/conformance/cases/NAME.json
inline Json cases(const std::string& name) {
    std::ifstream in(test::in_source("tests/conformance/cases/") + name + ".json");
    if (!in) throw std::runtime_error("there is no table of cases \"" + name + "\"");
    return Json(std::string(std::istreambuf_iterator<char>(in), {}));
}

struct ByteCase {
    std::string what;
    std::string text;
    size_t valid;  // bytes before the first ill-formed sequence
};

inline std::vector<ByteCase> utf8_cases() {
    std::vector<ByteCase> all;
    for (const Json& each : cases("utf8")["cases"].elements()) {
        const std::string hex = each["hex"].string();
        std::string text;
        for (size_t at = 0; at < hex.size(); at += 2) {
            text += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
        }
        all.push_back({each["what"].string(), text, static_cast<size_t>(each["valid"].integer())});
    }
    return all;
}

}  // namespace narratoria::test
