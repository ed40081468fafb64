// SPDX-License-Identifier: Apache-2.0
#include "session/built_in_narrators.hpp"

#include <gtest/gtest.h>

#include "base/json/tape.hpp"

namespace narratoria::session {
namespace {

TEST(BuiltInNarrators, EachIdIsReservedAndNamesItsNarrator) {
    for (const char* id : plugin::kBuiltInIds) {
        const BuiltInNarrator* const found = find_built_in(id);
        ASSERT_NE(found, nullptr) << id;
        EXPECT_EQ(found->id, id);
        EXPECT_EQ(found->library().id, id) << "its plugin is found by this id";
        json::Document settings;
        json::ParseError error;
        ASSERT_TRUE(settings.parse(found->settings(Story(), id), error));
        EXPECT_TRUE(settings.root().is_object());
    }
    EXPECT_EQ(find_built_in(""), nullptr);
    EXPECT_EQ(find_built_in("org.example.model"), nullptr);
}

TEST(BuiltInNarrators, MessagesListThem) { EXPECT_EQ(list_built_in(), "\"template\" is built in"); }

}  // namespace
}  // namespace narratoria::session
