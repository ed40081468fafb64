// SPDX-License-Identifier: Apache-2.0
#include "state/replacement.hpp"

#include <gtest/gtest.h>

#include <string>

namespace narratoria::state {
namespace {

// The patch that sets `key`, the patch of its nulls, and the state after both.
std::string after(const std::string& state, std::string_view key, const std::string& value) {
    json::Document document, given, made;
    json::ParseError error;
    EXPECT_TRUE(document.parse(state, error) && given.parse(value, error)) << error.message;
    Tree tree;
    tree.assign(document.root());
    Replacement made_of = replacement_of(tree, key, given.root());
    std::string& shown = made_of.patch;
    EXPECT_TRUE(made.parse(shown, error)) << shown << ": " << error.message;
    tree.merge(made.root());
    if (!made_of.nulls.empty()) {
        EXPECT_TRUE(made.parse(made_of.nulls, error)) << made_of.nulls << ": " << error.message;
        Patch nulls;
        nulls.prepare_nulls(made.root());
        tree.merge(nulls);
        shown += " + " + made_of.nulls;
    }
    shown += " -> ";
    tree.append_json(shown);
    return shown;
}

TEST(Replacement, ReplacesAnExistingValue) {
    EXPECT_EQ(after("{}", "a", "1"), R"({"a":1} -> {"a":1})");
    EXPECT_EQ(after(R"({"a":[1],"b":2})", "a", "[ 2 ]"), R"({"a":[2]} -> {"a":[2],"b":2})");
    EXPECT_EQ(after(R"({"a":{"b":1}})", "a", "true"), R"({"a":true} -> {"a":true})");
    EXPECT_EQ(after(R"({"a":1})", "a", R"({"b":{}})"), R"({"a":{"b":{}}} -> {"a":{"b":{}}})");
}

TEST(Replacement, RemovesMembersThatTheNewObjectLacks) {
    EXPECT_EQ(after(R"({"a":{"x":1,"o":{"p":1,"q":2},"y":2}})", "a", R"({"o":{"q":3},"z":4})"),
              R"({"a":{"o":{"q":3,"p":null},"z":4,"x":null,"y":null}} -> )"
              R"({"a":{"o":{"q":3},"z":4}})");
    EXPECT_EQ(after(R"({"a":{"x":1}})", "a", "{}"), R"({"a":{"x":null}} -> {"a":{}})");
    // A null in the initial state is removed as well.
    EXPECT_EQ(after(R"({"a":{"x":null}})", "a", "{}"), R"({"a":{"x":null}} -> {"a":{}})");
}

TEST(Replacement, NullIsAValue) {
    EXPECT_EQ(after(R"({"a":{"x":1},"b":1})", "a", "null"),
              R"({"a":null} + {"a":null} -> {"b":1,"a":null})");
    EXPECT_EQ(
        after(R"({"a":{"x":1}})", "a", R"({"x":null,"y":[null],"z":{"o":{"n":null}},"p":{}})"),
        R"({"a":{"x":null,"y":[null],"z":{"o":{"n":null}},"p":{}}} + )"
        R"({"a":{"x":null,"z":{"o":{"n":null}}}} -> )"
        R"({"a":{"y":[null],"z":{"o":{"n":null}},"p":{},"x":null}})");
    EXPECT_EQ(after("{}", "a", R"({"x":null,"x":1})"), R"({"a":{"x":null,"x":1}} -> {"a":{"x":1}})")
        << "the last duplicate name wins";
}

TEST(Replacement, KeysAreNotPointers) {
    EXPECT_EQ(after(R"({"a":{"b":1}})", "a/b", "2"), R"({"a/b":2} -> {"a":{"b":1},"a/b":2})");
    EXPECT_EQ(after(R"({"~/\"":{"x":1}})", "~/\"", "{}"), R"({"~/\"":{"x":null}} -> {"~/\"":{}})");
    EXPECT_EQ(after(R"({"":{"x":1}})", "", R"({"y":1})"),
              R"({"":{"y":1,"x":null}} -> {"":{"y":1}})");
}

// The last duplicate name wins.
TEST(Replacement, HandlesDuplicateNamesLikeAPatch) {
    EXPECT_EQ(after(R"({"a":{"x":1}})", "a", R"({"y":1,"y":{"z":2}})"),
              R"({"a":{"y":1,"y":{"z":2},"x":null}} -> {"a":{"y":{"z":2}}})");
}

TEST(Replacement, RemovesAllMembers) {
    json::Document document;
    json::ParseError error;
    ASSERT_TRUE(document.parse(R"({"a":1,"b/c":{"d":2},"n":null})", error));
    Tree tree;
    std::string patch;
    append_removal_of_all(patch, tree);
    EXPECT_EQ(patch, "{}");
    tree.assign(document.root());
    patch.clear();
    append_removal_of_all(patch, tree);
    EXPECT_EQ(patch, R"({"a":null,"b/c":null,"n":null})");
}

}  // namespace
}  // namespace narratoria::state
