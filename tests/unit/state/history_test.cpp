// SPDX-License-Identifier: Apache-2.0
#include "state/history.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "conformance/json.hpp"

namespace narratoria::state {
namespace {

using test::Json;

class HistoryTest : public ::testing::Test {
protected:
    void add(History& history, const std::string& text) {
        history.add(++seq_, 0, origin_, 1, text);
    }

    static std::vector<std::string> patches(const History& history) {
        std::string text;
        history.append_json(text);
        const Json json(text);
        std::vector<std::string> all;
        for (size_t i = 0; i < json["patches"].size(); ++i) {
            all.push_back(json["patches"][i]["patch"].text());
        }
        return all;
    }

    uint64_t seq_ = 0;
    const std::shared_ptr<const HistoryOrigin> origin_ =
        std::make_shared<HistoryOrigin>(HistoryOrigin{"plan", "tool"});
};

using Patches = std::vector<std::string>;

TEST_F(HistoryTest, KeepsTheLatestPatchesAndCountsTheOthers) {
    History history(2);
    for (const char* text : {"{\"a\":1}", "{\"a\":2}", "{\"a\":3}"}) add(history, text);
    EXPECT_EQ(patches(history), (Patches{"{\"a\":2}", "{\"a\":3}"}));
    EXPECT_EQ(history.dropped(), 1u);
}

TEST_F(HistoryTest, RewindRestoresThePatchesBeforeTheMark) {
    History history(10);
    add(history, "{\"a\":1}");
    const History::Mark mark = history.mark();
    add(history, "{\"a\":2}");
    history.rewind(mark);
    EXPECT_EQ(patches(history), Patches{"{\"a\":1}"});
    EXPECT_EQ(history.dropped(), 0u);
    add(history, "{\"a\":3}");
    EXPECT_EQ(patches(history), (Patches{"{\"a\":1}", "{\"a\":3}"}));
}

TEST_F(HistoryTest, PatchesDroppedSinceTheMarkStayDropped) {
    History history(2);
    add(history, "{\"a\":1}");
    add(history, "{\"a\":2}");
    const History::Mark mark = history.mark();
    add(history, "{\"a\":3}");
    history.rewind(mark);
    EXPECT_EQ(patches(history), Patches{"{\"a\":2}"});
    EXPECT_EQ(history.dropped(), 1u);
    for (int i = 0; i < 5; ++i) add(history, "{}");
    history.rewind(mark);
    EXPECT_TRUE(patches(history).empty());
    EXPECT_EQ(history.dropped(), 2u);
}

TEST_F(HistoryTest, RewindToAnotherBranchDropsThisOne) {
    History history(10);
    add(history, "{\"a\":1}");
    const History::Mark early = history.mark();
    add(history, "{\"a\":2}");
    const History::Mark late = history.mark();
    history.rewind(early);
    add(history, "{\"b\":2}");
    add(history, "{\"b\":3}");
    history.rewind(late);
    EXPECT_EQ(patches(history), Patches{"{\"a\":1}"});
    EXPECT_EQ(history.dropped(), 1u) << "the patch {\"a\":2} was forgotten by the first rewind";
}

// Checked against a list of all patches of the current branch.
TEST_F(HistoryTest, RandomRewindsKeepOnlyTheBranchsPatches) {
    for (uint32_t seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        const uint32_t limit = random() % 8;
        History history(limit);
        Patches past;
        std::vector<std::pair<History::Mark, Patches>> marks{{history.mark(), {}}};
        for (int step = 0; step < 80; ++step) {
            const uint32_t choice = random() % 8;
            if (choice < 6) {
                past.push_back("{\"step\":" + std::to_string(step) + "}");
                add(history, past.back());
                ASSERT_EQ(patches(history).empty(), limit == 0);
            } else if (choice == 6) {
                marks.emplace_back(history.mark(), past);
            } else {
                const auto& [mark, its_past] = marks[random() % marks.size()];
                history.rewind(mark);
                past = its_past;
            }
            const Patches kept = patches(history);
            ASSERT_EQ(history.dropped() + kept.size(), past.size()) << "seed " << seed;
            // The kept patches are a subsequence of the branch's patches, in order.
            size_t at = 0;
            for (const std::string& text : past) at += at < kept.size() && kept[at] == text;
            ASSERT_EQ(at, kept.size()) << "seed " << seed << ", step " << step;
        }
    }
}

}  // namespace
}  // namespace narratoria::state
