// SPDX-License-Identifier: Apache-2.0
#include "tool/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "conformance/folder.hpp"
#include "process/find_program.hpp"

namespace {

namespace fs = std::filesystem;
using narratoria::test::Folder;
using narratoria::tool::Definition;
using narratoria::tool::Origin;
using narratoria::tool::Registry;
using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<Definition> define(const std::string& name) {
    auto definition = std::make_shared<Definition>();
    definition->name = name;
    definition->origin.kind = Origin::Kind::Plugin;
    return definition;
}

std::vector<std::string> names(const Registry& registry) {
    std::vector<std::string> names;
    for (const auto& definition : registry.list()) names.push_back(definition->name);
    return names;
}

TEST(Registry, FindsByNameAndListsInOrderOfRegistration) {
    Registry registry;
    const auto weather = define("weather");
    EXPECT_TRUE(registry.add(weather));
    EXPECT_TRUE(registry.add(define("dice")));
    EXPECT_EQ(registry.find("weather"), weather);
    EXPECT_EQ(registry.find("weathe"), nullptr);
    EXPECT_THAT(names(registry), ElementsAre("weather", "dice"));
}

TEST(Registry, RefusesNameInUse) {
    Registry registry;
    const auto first = define("dice");
    registry.add(first);
    EXPECT_FALSE(registry.add(define("dice")));
    EXPECT_EQ(registry.find("dice"), first);
    EXPECT_THAT(names(registry), ElementsAre("dice"));
}

TEST(Registry, ListsReplacementLast) {
    Registry registry;
    registry.add(define("dice"));
    registry.add(define("weather"));
    const auto second = define("dice");
    registry.replace(second);
    EXPECT_EQ(registry.find("dice"), second);
    EXPECT_THAT(names(registry), ElementsAre("weather", "dice"));
    registry.replace(define("new"));
    EXPECT_THAT(names(registry), ElementsAre("weather", "dice", "new"));
}

TEST(Registry, RemovesOnlyGivenDefinition) {
    Registry registry;
    const auto first = define("dice");
    registry.add(first);
    registry.replace(define("dice"));
    registry.remove(*first);
    EXPECT_THAT(names(registry), ElementsAre("dice"));
    registry.remove(*registry.find("dice"));
    EXPECT_THAT(names(registry), IsEmpty());
    EXPECT_EQ(registry.find("dice"), nullptr);
    EXPECT_TRUE(registry.add(define("dice")));
}

TEST(Registry, UsersKeepDefinitionAlive) {
    Registry registry;
    registry.add(define("dice"));
    const std::shared_ptr<const Definition> used = registry.find("dice");
    registry.replace(define("dice"));
    EXPECT_EQ(used.use_count(), 1);
    EXPECT_EQ(used->name, "dice");
}

TEST(Registry, FindsToolsAmongManyChanges) {
    Registry registry;
    std::vector<std::string> expected;  // in the order of registration
    for (unsigned i = 0; i < 6000; ++i) {
        const std::string name = "tool_number_" + std::to_string(i * 7919 % 701);
        const auto known = std::find(expected.begin(), expected.end(), name);
        if (known == expected.end()) {
            ASSERT_TRUE(registry.add(define(name)));
            expected.push_back(name);
        } else {
            ASSERT_NE(registry.find(name), nullptr) << name;
            registry.remove(*registry.find(name));
            expected.erase(known);
        }
    }
    EXPECT_EQ(names(registry), expected);
    for (unsigned i = 0; i < 701; ++i) {
        const std::string name = "tool_number_" + std::to_string(i);
        const auto found = registry.find(name);
        const bool is_expected =
            std::find(expected.begin(), expected.end(), name) != expected.end();
        ASSERT_EQ(found != nullptr, is_expected) << name;
        if (found != nullptr) {
            EXPECT_EQ(found->name, name);
        }
    }
    EXPECT_EQ(registry.find(""), nullptr);
}

TEST(Registry, HidesDefinitionOnlyFromList) {
    Registry registry;
    const auto dice = define("dice");
    registry.add(dice);
    EXPECT_EQ(registry.problem_of(*dice), "");
    registry.hide(*dice, "it is worn");
    EXPECT_THAT(names(registry), IsEmpty());
    EXPECT_THAT(registry.list_all(), ElementsAre(dice));
    EXPECT_EQ(registry.problem_of(*dice), "it is worn");
    EXPECT_EQ(registry.find("dice"), dice);
    registry.replace(define("dice"));
    EXPECT_THAT(names(registry), ElementsAre("dice"));
    EXPECT_EQ(registry.problem_of(*dice), "");
    EXPECT_EQ(registry.problem_of(*registry.find("dice")), "");
}

// Root may execute a file if any user may. Its owner may not if only other users may.
TEST(Registry, ListsFilesThatThisProcessMayExecute) {
    const Folder folder;
    const std::string file = folder.write("odd", "#!/bin/sh\n");
    Registry registry(folder.path());
    for (const mode_t mode : {0655u, 0765u, 0666u, 0611u}) {
        ASSERT_EQ(::chmod(file.c_str(), mode), 0);
        EXPECT_EQ(registry.list().size(), ::access(file.c_str(), X_OK) == 0 ? 1u : 0u) << mode;
        EXPECT_EQ(narratoria::process::is_program(file), registry.list().size() == 1) << mode;
    }
}

TEST(Registry, ListsCurrentExecutableFilesOfFolder) {
    const Folder folder;
    const Registry empty(folder / "none");
    EXPECT_THAT(names(empty), IsEmpty());
    Registry registry(folder.path());
    registry.add(define("aaa"));
    auto add = [&](const char* name, mode_t mode) { folder.write(name, "#!/bin/sh\n", mode); };
    add("light.sh", 0755);
    add("door", 0700);
    add("notes.txt", 0644);
    fs::create_directory(folder / "assets");
    EXPECT_THAT(names(registry), ElementsAre("door", "light.sh", "aaa"));
    const auto door = registry.list().front();
    EXPECT_EQ(door->origin.kind, Origin::Kind::File);
    EXPECT_EQ(door->origin.place, folder / "door");
    EXPECT_EQ(registry.find("door"), nullptr) << "files are found by their path";
    fs::remove(folder / "door");
    EXPECT_THAT(names(registry), ElementsAre("light.sh", "aaa"));
}

}  // namespace
