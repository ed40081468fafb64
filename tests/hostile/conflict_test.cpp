// SPDX-License-Identifier: Apache-2.0
// Two tools that patch the same path concurrently: the last patch wins, and the stream names both
// tools.

#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class Conflict : public HostileTest {
protected:
    std::string patcher(const Witnesses& witnesses, const std::string& id, const std::string& patch,
                        const std::string& more = "") {
        return tool_json(id, tool_path("patcher"),
                         witnesses.input(R"(,"role":)" + json_string(id) + R"(,"patch":)" + patch),
                         more);
    }
    // Lets the tool write its patch and waits until the patch is merged.
    void patch(const Witness& witness) {
        const uint64_t before = host->events;
        ASSERT_TRUE(witness.does('p', host.get()));
        ASSERT_TRUE(host->until([&] { return host->events > before; }));
    }
    void start(const Witnesses& witnesses, const std::vector<std::string>& tools,
               std::map<std::string, Witness>& found) {
        host->begin(plan_json(tools, true));
        for (size_t i = 0; i < tools.size(); ++i) {
            Witness witness = witnesses.accept(host.get());
            found[witness.role] = std::move(witness);
        }
        ASSERT_EQ(found.size(), tools.size());
    }
};

TEST_F(Conflict, IsReportedAndTheLastPatchWins) {
    make_host();
    const Witnesses witnesses;
    std::map<std::string, Witness> tools;
    start(witnesses,
          {patcher(witnesses, "left", R"({"door":{"open":true,"by":"left"}})"),
           patcher(witnesses, "right", R"({"door":{"by":"right"}})")},
          tools);
    patch(tools["right"]);
    EXPECT_EQ(host->state().dump(), R"({"door":{"by":"right"}})");
    patch(tools["left"]);
    EXPECT_EQ(host->state("/door/by").dump(), "\"left\"");
    const std::vector<Json> conflicts = host->told(Kind::StateConflict);
    ASSERT_EQ(conflicts.size(), 1u);
    EXPECT_EQ(conflicts[0].dump(), R"({"path":"/door/by","tools":["right","left"]})");
    // Each pair of tools and path is reported once, however often the tools alternate.
    patch(tools["right"]);
    EXPECT_EQ(host->state("/door/by").dump(), "\"right\"");
    EXPECT_EQ(host->told(Kind::StateConflict).size(), 1u);
    for (const auto& [role, witness] : tools) ASSERT_TRUE(witness.tell('d'));
    const Json result = host->finish();
    EXPECT_TRUE(result["/success"].boolean());
    // Each tool's output contains only its own patches.
    EXPECT_EQ(result["/toolResults/0/output"].dump(), R"({"door":{"open":true,"by":"left"}})");
    EXPECT_EQ(result["/toolResults/1/output"].dump(), R"({"door":{"by":"right"}})");
}

// The conflict's record follows the event that caused it, and sequence numbers have no gap.
TEST_F(Conflict, FollowsItsEventInTheStream) {
    make_host();
    const Witnesses witnesses;
    std::map<std::string, Witness> tools;
    start(witnesses, {patcher(witnesses, "a", R"({"x":1})"), patcher(witnesses, "b", R"({"x":2})")},
          tools);
    patch(tools["a"]);
    patch(tools["b"]);
    for (const auto& [role, witness] : tools) ASSERT_TRUE(witness.tell('d'));
    host->finish();
    for (size_t i = 0; i < host->records.size(); ++i) {
        EXPECT_EQ(host->records[i].seq, host->records[0].seq + i);
        if (host->records[i].kind != Kind::StateConflict) continue;
        EXPECT_EQ(host->records[i - 1].tool, "b");
        EXPECT_EQ(host->records[i - 1].type, Type::StatePatch);
        EXPECT_EQ(host->records[i].tool, "b");
        EXPECT_EQ(host->records[i].attempt, 1u);
    }
    EXPECT_EQ(host->told(Kind::StateConflict).size(), 1u);
}

TEST_F(Conflict, DoesNotOccurOnDifferentPaths) {
    make_host();
    const Witnesses witnesses;
    std::map<std::string, Witness> tools;
    start(witnesses,
          {patcher(witnesses, "a", R"({"room":{"torch":1}})"),
           patcher(witnesses, "b", R"({"room":{"door":2}})")},
          tools);
    patch(tools["a"]);
    patch(tools["b"]);
    for (const auto& [role, witness] : tools) ASSERT_TRUE(witness.tell('d'));
    host->finish();
    EXPECT_EQ(host->told(Kind::StateConflict).size(), 0u);
    EXPECT_EQ(host->state().dump(), R"({"room":{"torch":1,"door":2}})");
}

TEST_F(Conflict, OccursWhenAnObjectIsReplacedAsAWhole) {
    make_host();
    const Witnesses witnesses;
    std::map<std::string, Witness> tools;
    start(witnesses,
          {patcher(witnesses, "part", R"({"room":{"torch":1}})"),
           patcher(witnesses, "whole", R"({"room":null})")},
          tools);
    patch(tools["part"]);
    patch(tools["whole"]);
    for (const auto& [role, witness] : tools) ASSERT_TRUE(witness.tell('d'));
    host->finish();
    EXPECT_EQ(host->state().dump(), "{}");
    ASSERT_GE(host->told(Kind::StateConflict).size(), 1u);
    EXPECT_EQ(host->told(Kind::StateConflict)[0]["/tools"].dump(), R"(["part","whole"])");
}

TEST_F(Conflict, DoesNotOccurBetweenSequentialTools) {
    make_host();
    host->run(plan_json({tool_json("a", tool_path("patcher"), R"({"patch":{"x":1}})"),
                         tool_json("b", tool_path("patcher"), R"({"patch":{"x":2}})")}));
    EXPECT_EQ(host->told(Kind::StateConflict).size(), 0u);
    EXPECT_EQ(host->state().dump(), R"({"x":2})");
}

// The first tool ended after its patch; the second overlapped with it and writes later.
TEST_F(Conflict, IsReportedAfterTheFirstToolEnded) {
    make_host();
    const Witnesses witnesses;
    std::map<std::string, Witness> tools;
    start(witnesses,
          {patcher(witnesses, "early", R"({"x":1})"), patcher(witnesses, "late", R"({"x":2})")},
          tools);
    patch(tools["early"]);
    ASSERT_TRUE(tools["early"].tell('d'));
    ASSERT_TRUE(host->until([&] { return host->has(Kind::ToolEnded, "early"); }));
    patch(tools["late"]);
    ASSERT_TRUE(tools["late"].tell('d'));
    host->finish();
    ASSERT_EQ(host->told(Kind::StateConflict).size(), 1u);
    EXPECT_EQ(host->told(Kind::StateConflict)[0]["/tools"].dump(), R"(["early","late"])");
}

}  // namespace
}  // namespace narratoria::hostile
