// SPDX-License-Identifier: Apache-2.0
#include "session/built_in_narrators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json/tape.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

TEST(BuiltInNarrators, EachHasAReservedId) {
    const std::pair<const char*, const char*> names[] = {{"template", "template"},
                                                         {"tale.nuwa", "script"}};
    ASSERT_EQ(std::size(names), std::size(plugin::kBuiltInIds));
    for (const auto& [name, id] : names) {
        const BuiltInNarrator* const found = find_built_in(name);
        ASSERT_NE(found, nullptr) << name;
        EXPECT_EQ(found->id, id);
        EXPECT_EQ(
            std::count(std::begin(plugin::kBuiltInIds), std::end(plugin::kBuiltInIds), found->id),
            1);
        EXPECT_EQ(found->library().id, id) << "the library must carry the narrator's id";
        EXPECT_TRUE(test::parse_json(found->settings(Story(), name))->root().is_object());
    }
    EXPECT_EQ(find_built_in(""), nullptr);
    EXPECT_EQ(find_built_in("script"), nullptr) << "a script narrator is selected by its file";
    EXPECT_EQ(find_built_in("org.example.model"), nullptr);
}

TEST(BuiltInNarrators, MessagesListAllOfThem) {
    EXPECT_EQ(list_built_in(), "\"template\" and \"FILE.nuwa\" are built in");
}

}  // namespace
}  // namespace narratoria::session
