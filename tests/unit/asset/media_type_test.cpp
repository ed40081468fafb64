// SPDX-License-Identifier: Apache-2.0
#include "asset/media_type.hpp"

#include <gtest/gtest.h>

#include <string>

#include "conformance/cases.hpp"

namespace {

namespace test = narratoria::test;
using narratoria::asset::is_media_type;

// covers: 000-4.3-media-type, 004-asset-media-type
TEST(MediaType, HasTypeSubtypeAndParameters) {
    const test::Json table = test::cases("media-types");
    for (const std::string& text : table["valid"].strings()) {
        EXPECT_TRUE(is_media_type(text)) << text;
    }
    for (const std::string& text : table["invalid"].strings()) {
        EXPECT_FALSE(is_media_type(text)) << text;
    }
    EXPECT_FALSE(is_media_type("text/plain; x=\xFF")) << "JSON cannot hold this text";
}

}  // namespace
