// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fault.hpp"

namespace narratoria::session {

// "file:line:column pointer rule" for each fault.
inline std::vector<std::string> places(const Faults& faults) {
    std::vector<std::string> all;
    for (const Fault& fault : faults) {
        EXPECT_FALSE(fault.message.empty());
        all.push_back(fault.file + ":" + std::to_string(fault.line) + ":" +
                      std::to_string(fault.column) + " " + fault.pointer + " " + fault.rule);
    }
    return all;
}

}  // namespace narratoria::session
