// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using narratoria::make_uuid;

TEST(Uuid, IsVersion4InLowerCase) {
    for (int i = 0; i < 1000; ++i) {
        const std::string uuid = make_uuid();
        ASSERT_EQ(uuid.size(), 36u);
        for (size_t at = 0; at < uuid.size(); ++at) {
            const bool hyphen = at == 8 || at == 13 || at == 18 || at == 23;
            if (hyphen) {
                ASSERT_EQ(uuid[at], '-') << uuid;
            } else {
                ASSERT_NE(std::string("0123456789abcdef").find(uuid[at]), std::string::npos)
                    << uuid;
            }
        }
        ASSERT_EQ(uuid[14], '4') << uuid;
        ASSERT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
    }
}

TEST(Uuid, IsUnique) {
    std::set<std::string> seen;
    for (int i = 0; i < 10000; ++i) seen.insert(make_uuid());
    EXPECT_EQ(seen.size(), 10000u);
}

}  // namespace
