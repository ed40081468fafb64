// SPDX-License-Identifier: Apache-2.0
#include "state/metadata.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace narratoria::state {
namespace {

std::string text_of(const Metadata& metadata) {
    std::string out;
    metadata.append_json(out);
    return out;
}

TEST(StateMetadata, KeepsTheLatestDescriptionOfEachKey) {
    Metadata metadata;
    EXPECT_EQ(metadata.find("gold"), nullptr);
    metadata.set("hp", {"health", [](std::string_view) { return std::string("7"); }});
    metadata.set("gold", {"stones"});
    metadata.set("gold", {"coins"});
    EXPECT_EQ(metadata.find("gold")->text, "coins");
    EXPECT_EQ(text_of(metadata), R"({"gold":{"description":"coins","formatter":false},)"
                                 R"("hp":{"description":"health","formatter":true}})");
    metadata.remove("hp");
    metadata.remove("never");
    EXPECT_EQ(metadata.find("hp"), nullptr);
    metadata.clear();
    EXPECT_EQ(text_of(metadata), "{}");
}

TEST(StateMetadata, RefusesTooLongOrTooManyDescriptions) {
    Metadata metadata;
    const std::string fits(Metadata::kMaxText, 'x');
    EXPECT_EQ(metadata.refusal(fits, fits), "");
    EXPECT_NE(metadata.refusal(fits + "x", ""), "");
    EXPECT_NE(metadata.refusal("", fits + "x"), "");
    for (size_t i = 0; i < Metadata::kMaxKeys; ++i) metadata.set(std::to_string(i), {});
    EXPECT_EQ(metadata.refusal("0", ""), "");
    EXPECT_NE(metadata.refusal("one more", ""), "");
}

// Releasing a description runs its owner's code, which may call back into the metadata.
TEST(StateMetadata, IsConsistentWhileADescriptionIsReleased) {
    Metadata metadata;
    std::string seen;
    struct Owner {
        Metadata& metadata;
        std::string& seen;
        ~Owner() { seen += text_of(metadata) + ";"; }
    };
    metadata.set("a", {"1", {}, std::make_shared<Owner>(Owner{metadata, seen})});
    seen.clear();
    metadata.set("a", {"2", {}, std::shared_ptr<Owner>(new Owner{metadata, seen})});
    metadata.remove("a");
    metadata.set("a", {"3", {}, std::shared_ptr<Owner>(new Owner{metadata, seen})});
    metadata.clear();
    EXPECT_EQ(seen, R"({"a":{"description":"2","formatter":false}};{};{};)");
}

}  // namespace
}  // namespace narratoria::state
