// SPDX-License-Identifier: Apache-2.0
#include "state/store.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/json/tape.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::state {
namespace {

using test::parse_json;

std::string text_of(const Tree& tree) {
    std::string out;
    tree.append_json(out);
    return out;
}
std::string text_of(const History& history) {
    std::string out;
    history.append_json(out);
    return out;
}

// A store and its conflict listener; patches are numbered from 1.
class Stage : public ConflictListener {
public:
    explicit Stage(uint32_t history_limit = 100) : store(history_limit) {}

    void apply(Writer writer, std::string_view patch) {
        store.apply(parse_json(patch)->root(), writer, {++seq, 0, 1, origin}, this);
    }
    std::string apply_host(std::string_view patch) {
        return std::string(store.apply_host(parse_json(patch)->root(), {++seq, 0, 0, origin}));
    }
    void on_conflict(std::string_view path, Writer earlier, Writer later) override {
        if (!conflicts.empty()) conflicts += ' ';
        conflicts +=
            std::string(path) + ":" + std::to_string(earlier) + "," + std::to_string(later);
    }
    std::string take_conflicts() { return std::exchange(conflicts, {}); }
    std::string text() const { return text_of(store.tree()); }
    std::string history() const { return text_of(store.history()); }

    Store store;
    std::string conflicts;
    uint64_t seq = 0;
    const std::shared_ptr<const HistoryOrigin> origin =
        std::make_shared<HistoryOrigin>(HistoryOrigin{"plan", "tool"});
};

TEST(Store, PatchChangesTheStateAndIsKeptVerbatim) {
    Stage stage;
    const Writer writer = stage.store.open_writer(true);
    stage.apply(writer, R"({"a": {"b":1}})");
    EXPECT_EQ(stage.text(), R"({"a":{"b":1}})");
    EXPECT_NE(stage.history().find(R"("seq":1,)"), std::string::npos);
    EXPECT_NE(stage.history().find(R"("patch":{"a": {"b":1}})"), std::string::npos);
    EXPECT_EQ(stage.store.history().size(), 1u);
}

TEST(Store, PreparedPatchCanBeMergedElsewhere) {
    Stage stage;
    Tree other;
    const auto document = parse_json(R"({"a":[1,
 2]})");
    const Writer writer = stage.store.open_writer(true);
    other.merge(stage.store.apply(document->root(), writer, {1, 0, 1, stage.origin}, nullptr));
    EXPECT_EQ(text_of(other), stage.text());
}

TEST(Store, InitialStateIsNotInTheHistory) {
    Stage stage;
    stage.store.assign(parse_json(R"({"a":null})")->root());
    EXPECT_EQ(stage.text(), R"({"a":null})");
    EXPECT_EQ(stage.store.history().size(), 0u);
    EXPECT_EQ(stage.store.history().dropped(), 0u);
}

// Line breaks are white space in JSON, but readers of state and history expect one line.
TEST(Store, StateAndHostHistoryAreAlwaysOneLine) {
    for (const std::string end : {"\n", "\r\n", "\r"}) {
        const std::string text = "{" + end + "\"a\":" + end + "[1," + end +
                                 " \"x y\", {\"b\":" + end + "2}]," + end + "\"c\":{\"d\":[" + end +
                                 "]}}";
        const std::string expected = R"({"a":[1,"x y",{"b":2}],"c":{"d":[]}})";
        Stage assigned, by_host, by_tool;
        assigned.store.assign(parse_json(text)->root());
        EXPECT_EQ(assigned.text(), expected);
        EXPECT_EQ(by_host.apply_host(text), expected);
        EXPECT_EQ(by_host.text(), expected);
        EXPECT_EQ(by_host.history().find_first_of("\r\n"), std::string::npos);
        by_tool.apply(by_tool.store.open_writer(true), text);
        EXPECT_EQ(by_tool.text(), expected);
    }
}

TEST(Store, ArraysWithoutLineBreaksKeepTheirNotation) {
    Stage stage;
    stage.apply(stage.store.open_writer(true), R"({"a":[1, 2],"b":[ "\n" ]})");
    EXPECT_EQ(stage.text(), R"({"a":[1, 2],"b":[ "\n" ]})");
    stage.apply_host("{\"c\":[1,\n2],\"d\":[3,\n4],\"e\":[5,\n6]}");
    EXPECT_EQ(stage.text(), R"({"a":[1, 2],"b":[ "\n" ],"c":[1,2],"d":[3,4],"e":[5,6]})");
}

// ---------------------------------------------------------------- conflicts

TEST(Store, OverlappingWritersOfOnePathConflict) {
    Stage stage;
    const Writer a = stage.store.open_writer(false);
    stage.apply(a, R"({"x":1,"mine":1})");
    const Writer b = stage.store.open_writer(false);
    stage.apply(b, R"({"x":2,"other":1})");
    EXPECT_EQ(stage.take_conflicts(), "/x:1,2");
    stage.apply(a, R"({"x":3})");
    EXPECT_EQ(stage.take_conflicts(), "/x:2,1");
    stage.store.close_writer(a);
    const Writer c = stage.store.open_writer(false);
    stage.apply(c, R"({"mine":2,"other":2})");
    EXPECT_EQ(stage.take_conflicts(), "/other:2,3")
        << "the first writer closed before the third opened";
}

TEST(Store, HostPatchesDoNotConflict) {
    Stage stage;
    const Writer a = stage.store.open_writer(false);
    const Writer b = stage.store.open_writer(false);
    stage.apply(a, R"({"x":1})");
    stage.apply_host(R"({"x":2})");
    stage.apply(b, R"({"x":3})");
    EXPECT_EQ(stage.take_conflicts(), "");
}

TEST(Store, RemovalConflictsWithALaterWriter) {
    Stage stage;
    stage.apply_host(R"({"x":1})");
    const Writer a = stage.store.open_writer(false);
    stage.apply(a, R"({"x":null})");
    const Writer b = stage.store.open_writer(false);
    stage.apply(b, R"({"x":2})");
    EXPECT_EQ(stage.take_conflicts(), "/x:1,2");
}

TEST(Store, RemovalsAreForgottenWhenTheLastWriterCloses) {
    Stage stage;
    stage.apply_host(R"({"x":1})");
    const Writer a = stage.store.open_writer(false);
    stage.apply(a, R"({"x":null})");
    stage.store.close_writer(a);
    const Writer b = stage.store.open_writer(false);
    stage.store.open_writer(false);
    stage.apply(b, R"({"x":2})");
    EXPECT_EQ(stage.take_conflicts(), "");
}

// ---------------------------------------------------------------- snapshots

TEST(Snapshot, RestoresStateAndHistory) {
    Stage stage;
    stage.apply_host(R"({"a":1,"b":{"c":2}})");
    const std::string text = stage.text(), history = stage.history();
    const Snapshot snapshot = stage.store.snapshot();
    stage.apply_host(R"({"a":null,"b":3,"d":4})");
    stage.store.restore(snapshot);
    EXPECT_EQ(stage.text(), text);
    EXPECT_EQ(stage.history(), history);
    EXPECT_EQ(text_of(snapshot.tree()), text) << "the snapshot can be restored again";
    stage.apply_host(R"({"a":2})");
    stage.store.restore(stage.store.snapshot());
    EXPECT_EQ(stage.text(), R"({"a":2,"b":{"c":2}})");
}

TEST(Snapshot, OfAnEmptyStateIsEmpty) {
    Stage stage;
    const Snapshot snapshot = stage.store.snapshot();
    stage.apply_host(R"({"a":1})");
    stage.store.restore(snapshot);
    EXPECT_EQ(stage.text(), "{}");
    stage.apply_host(R"({"b":1})");
    EXPECT_EQ(stage.text(), R"({"b":1})");
}

TEST(Snapshot, KeepsWritesAndRemovalsOfOpenWriters) {
    Stage stage;
    const Writer a = stage.store.open_writer(false);
    const Writer b = stage.store.open_writer(false);
    stage.apply(a, R"({"written":1,"removed":1})");
    stage.apply(a, R"({"removed":null})");
    const Snapshot snapshot = stage.store.snapshot();
    stage.apply(a, R"({"undone":1})");
    stage.apply(b, R"({"written":null,"removed":2,"undone":2})");
    EXPECT_EQ(stage.take_conflicts(), "/written:1,2 /removed:1,2 /undone:1,2");
    stage.store.restore(snapshot);
    stage.apply(b, R"({"undone":2})");
    EXPECT_EQ(stage.take_conflicts(), "") << "the first writer's value was undone";
    stage.apply(b, R"({"written":2,"removed":2})");
    EXPECT_EQ(stage.take_conflicts(), "/written:1,2 /removed:1,2");
}

TEST(Snapshot, RestoreReusesNoWriterNumber) {
    Stage stage;
    const Snapshot snapshot = stage.store.snapshot();
    const Writer a = stage.store.open_writer(false);
    stage.store.close_writer(a);
    stage.store.restore(snapshot);
    EXPECT_GT(stage.store.open_writer(false), a);
}

class RandomPatches {
public:
    explicit RandomPatches(uint32_t seed) : random_(seed) {}

    std::string object(int depth, size_t most = 12) {
        std::string out = "{";
        const size_t count = random_() % most;
        for (size_t i = 0; i < count; ++i) {
            if (i > 0) out += ',';
            out += "\"" + key() + "\":" + value(depth);
        }
        return out + "}";
    }
    uint32_t next() { return static_cast<uint32_t>(random_()); }

private:
    std::string key() {
        const std::string number = std::to_string(random_() % 60);
        return random_() % 3 == 0 ? "a key too long to be kept in place " + number : "k" + number;
    }
    std::string value(int depth) {
        static const std::vector<std::string> kValues = {
            "null", "null",     "1.50", R"("short")", R"("a text too long to be kept in place")",
            "[]",   "[1,\n[2]]"};
        if (depth > 0 && random_() % 3 == 0) return object(depth - 1);
        return kValues[random_() % kValues.size()];
    }
    std::mt19937 random_;
};

// A restored store is indistinguishable from one that never left the snapshot's branch: the same
// patches by the same writers give the same state (byte for byte), history and conflicts.
TEST(Snapshot, RestoredStoreBehavesLikeAnUnchangedOne) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        RandomPatches patches(seed);
        Stage changed, untouched;
        Writer open[3];
        for (Writer& writer : open) {
            writer = changed.store.open_writer(false);
            ASSERT_EQ(untouched.store.open_writer(false), writer);
        }
        auto both = [&](Writer writer, const std::string& patch) {
            changed.apply(writer, patch);
            untouched.apply(writer, patch);
        };
        // A large object has an index, and gaps where keys were removed.
        both(open[0], patches.object(3, 120));
        for (int i = 0; i < 6; ++i) both(open[patches.next() % 3], patches.object(3));

        const Snapshot snapshot = changed.store.snapshot();
        Snapshot second = changed.store.snapshot();
        const uint64_t seq = changed.seq;
        const std::string text = changed.text(), history = changed.history();
        for (int round = 0; round < 3; ++round) {
            for (uint32_t i = patches.next() % 8; i > 0; --i) {
                changed.apply(open[patches.next() % 3], patches.object(3, 60));
                // The snapshot shares nothing with the store.
                ASSERT_EQ(text_of(snapshot.tree()), text);
            }
            if (round == 2) changed.store.restore(std::move(second));
            else changed.store.restore(snapshot);
            ASSERT_EQ(changed.text(), text);
            ASSERT_EQ(changed.history(), history);
        }
        changed.seq = seq;
        changed.take_conflicts();
        untouched.take_conflicts();
        for (int i = 0; i < 8; ++i) {
            both(open[patches.next() % 3], patches.object(3, 60));
            ASSERT_EQ(changed.text(), untouched.text());
            ASSERT_EQ(changed.take_conflicts(), untouched.take_conflicts());
        }
        ASSERT_EQ(changed.history(), untouched.history());
    }
}

TEST(Store, PatchAboveTheLimitIsRefused) {
    Store store(10, {.patch_bytes = 20});
    EXPECT_FALSE(store.refusal(parse_json(R"({"a":"0123456789"})")->root()));
    const auto refusal = store.refusal(parse_json(R"({"a":"0123456789012"})")->root());
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code, std::string("PATCH_TOO_LARGE"));
    EXPECT_EQ(refusal->message, "the patch has 21 bytes; the limit patch_bytes is 20");
}

TEST(Store, FullStateAcceptsOnlyOverwritesAndRemovals) {
    Store store(10, {.state_bytes = 1000});
    const auto origin = std::make_shared<const HistoryOrigin>(HistoryOrigin{"plan", "tool"});
    auto patch = [&](const std::string& text) {
        const auto document = parse_json(text);
        const auto refusal = store.refusal(document->root());
        if (!refusal) store.apply_host(document->root(), {1, 0, 0, origin});
        return refusal ? std::string(refusal->code) : std::string();
    };
    const std::string value(300, 'x');
    // Overwriting does not accumulate size.
    for (int i = 0; i < 20; ++i) EXPECT_EQ(patch(R"({"a":")" + value + R"("})"), "") << i;
    EXPECT_EQ(patch(R"({"b":")" + value + R"("})"), "");
    EXPECT_EQ(patch(R"({"c":{"d":")" + value + R"("}})"), "");
    EXPECT_EQ(patch(R"({"e":")" + value + R"("})"), "STATE_TOO_LARGE");
    const std::string shorter(299, 'y');
    EXPECT_EQ(patch(R"({"b":")" + shorter + R"("})"), "") << "it replaces a value";
    EXPECT_EQ(patch(R"({"c":{"d":")" + shorter + R"("}})"), "") << "it replaces a nested value";
    EXPECT_EQ(patch(R"({"c":null,"e":")" + shorter + R"("})"), "")
        << "it removes more than it adds";
    EXPECT_EQ(patch(R"({"c":")" + value + R"("})"), "STATE_TOO_LARGE");
    EXPECT_EQ(patch(R"({"e":null,"b":null})"), "") << "it only removes";
    EXPECT_EQ(patch(R"({"e":")" + value + R"("})"), "");
}

}  // namespace
}  // namespace narratoria::state
