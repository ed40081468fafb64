// SPDX-License-Identifier: Apache-2.0
#include "base/name_index.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace narratoria {
namespace {

struct Names {
    std::vector<std::string> all;
    NameIndex index;

    uint32_t find(std::string_view name) const {
        return index.find(name, [this](uint32_t at) -> std::string_view { return all[at]; });
    }
    uint32_t find_or_add(const std::string& name) {
        const auto end = static_cast<uint32_t>(all.size());
        const uint32_t at =
            index.find_or_add(name, end, [this](uint32_t i) -> std::string_view { return all[i]; });
        if (at == end) all.push_back(name);
        return at;
    }
};

TEST(NameIndex, FindsEachOfManyNamesAndNoOther) {
    Names names;
    for (uint32_t i = 0; i < 10'000; ++i) {
        EXPECT_EQ(names.find_or_add("name-" + std::to_string(i)), i);
    }
    for (uint32_t i = 0; i < 10'000; ++i) {
        EXPECT_EQ(names.find("name-" + std::to_string(i)), i);
        EXPECT_EQ(names.find_or_add("name-" + std::to_string(i)), i);
        EXPECT_EQ(names.find("other-" + std::to_string(i)), NameIndex::kNone);
    }
}

TEST(NameIndex, IsEmptyAtFirst) {
    EXPECT_EQ(Names().find("a"), NameIndex::kNone);
    EXPECT_EQ(Names().find(""), NameIndex::kNone);
}

TEST(NameIndex, NameThatIsClearedIsNotFoundAndCanBeAddedAgain) {
    Names names;
    names.find_or_add("a");
    names.all[0].clear();
    EXPECT_EQ(names.find("a"), NameIndex::kNone);
    EXPECT_EQ(names.find_or_add("a"), 1U);
    EXPECT_EQ(names.find("a"), 1U);
}

TEST(NameIndex, FillsTheRoomThatItSays) {
    NameIndex index(100);
    EXPECT_GE(index.room(), 100U);
    const size_t room = index.room();
    for (uint32_t i = 0; i < room; ++i) index.add(std::to_string(i), i);
    EXPECT_EQ(index.room(), 0U);
}

}  // namespace
}  // namespace narratoria
