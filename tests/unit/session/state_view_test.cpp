// SPDX-License-Identifier: Apache-2.0
#include "session/state_view.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/base/json/document.hpp"
#include "unit/state/random_documents.hpp"

namespace narratoria::session {
namespace {

state::Tree tree_of(std::string_view text) {
    state::Tree tree;
    tree.assign(test::parse_json(text)->root());
    return tree;
}

uint64_t digest_of(state::Tree&& tree) {
    tree.keep_digest();
    return tree.digest();
}

std::string at(const StateView& state, std::string_view pointer) {
    const json::Value value = state.at(pointer);
    return value ? std::string(value.raw()) : "none";
}

class StateViewTest : public testing::Test {
protected:
    void merge(std::string_view patch) { state.merge(test::parse_json(patch)->root()); }

    const state::Tree tree =
        tree_of(R"({"lamp":{"at":"hall","oil":2},"bag":["rope",{"x":1}],"gone":null,"":{"":0}})");
    StateView state{tree};
};

TEST_F(StateViewTest, ReadsTheTreeUntilSomethingChanges) {
    EXPECT_EQ(at(state, "/lamp/at"), "\"hall\"");
    EXPECT_EQ(at(state, "/bag/1/x"), "1");
    EXPECT_EQ(at(state, "/gone"), "null");
    EXPECT_EQ(at(state, "//"), "0");
    for (const char* missing : {"/axe", "/lamp/at/x", "/bag/2", "lamp"}) {
        EXPECT_EQ(at(state, missing), "none") << missing;
    }
    EXPECT_EQ(state.patch(), "");
}

TEST_F(StateViewTest, ReadsWhatWasMergedAbovePlaceAndBelow) {
    merge(R"({"lamp":{"at":"cellar","lit":{"since":3}}})");
    EXPECT_EQ(at(state, "/lamp"), R"({"at":"cellar","oil":2,"lit":{"since":3}})");
    EXPECT_EQ(at(state, "/lamp/at"), "\"cellar\"");
    EXPECT_EQ(at(state, "/lamp/lit/since"), "3");
    EXPECT_EQ(at(state, "/lamp/oil"), "2");
    merge(R"({"lamp":null})");
    EXPECT_EQ(at(state, "/lamp/oil"), "none");
    EXPECT_EQ(state.patch(), R"({"lamp":null})");
}

TEST_F(StateViewTest, ForgetsWhatAnObjectHadBeforeItWasRemoved) {
    merge(R"({"lamp":null})");
    merge(R"({"lamp":{"minutes":0}})");
    EXPECT_EQ(at(state, "/lamp"), R"({"minutes":0})");
    EXPECT_EQ(state.patch(), R"({"lamp":{"minutes":0,"at":null,"oil":null}})");
}

TEST_F(StateViewTest, ValuesLastAsLongAsTheView) {
    const json::Value before = state.at("/lamp");
    merge(R"({"lamp":{"at":"cellar"}})");
    EXPECT_EQ(before.raw(), R"({"at":"hall","oil":2})");
}

TEST_F(StateViewTest, KnowsListsThatAPointerLeadsInto) {
    EXPECT_TRUE(state.is_within_list("/bag/0"));
    EXPECT_TRUE(state.is_within_list("/bag/1/x/y"));
    EXPECT_FALSE(state.is_within_list("/bag"));
    EXPECT_FALSE(state.is_within_list("/lamp/at/0"));
    merge(R"({"bag":{"0":1},"lamp":{"oil":[1]}})");
    EXPECT_FALSE(state.is_within_list("/bag/0"));
    EXPECT_TRUE(state.is_within_list("/lamp/oil/0"));
}

TEST(StateView, IsTheTreeAfterAllPatches) {
    for (uint32_t seed = 0; seed < 150; ++seed) {
        test::RandomDocuments documents(seed);
        const state::Tree before = tree_of(documents.object(4));
        state::Tree after = before.clone();
        StateView state(before);
        for (int round = 0; round < 5; ++round) {
            const std::string text = documents.object(round);
            const auto patch = test::parse_json(text);
            after.merge(patch->root());
            state.merge(patch->root());
            const uint64_t wanted = digest_of(after.clone());
            ASSERT_EQ(digest_of(tree_of(state.at("").raw())), wanted)
                << "seed " << seed << ", patch " << text;
            for (const char* pointer : {"/a", "/b/c", "//é", "/k1", "/fourteen bytes/a/"}) {
                std::string read;
                bool malformed = false;
                if (!after.read(pointer, read, malformed)) read = "\"none\"";
                const json::Value value = state.at(pointer);
                const std::string viewed(value ? value.raw() : "\"none\"");
                ASSERT_EQ(digest_of(tree_of("{\"\":" + viewed + "}")),
                          digest_of(tree_of("{\"\":" + read + "}")))
                    << "seed " << seed << ", " << pointer;
            }
            state::Tree patched = before.clone();
            const std::string all = state.patch();
            if (!all.empty()) patched.merge(test::parse_json(all)->root());
            ASSERT_EQ(digest_of(std::move(patched)), wanted) << "seed " << seed << ": " << all;
        }
    }
}

}  // namespace
}  // namespace narratoria::session
