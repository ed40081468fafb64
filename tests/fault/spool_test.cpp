// SPDX-License-Identifier: Apache-2.0
// The events of a large execution are spilled to an unnamed file, or stay in memory if the file
// cannot be created.

#include "support/host.hpp"

namespace narratoria::hostile {
namespace {

class Spool : public HostileTest {
protected:
    // 20 MB of events, all of which must be in the result, in order.
    void run_and_check() {
        constexpr int64_t kCount = 200000;
        host->begin(plan_json({tool_json("flood", tool_path("million_logs"),
                                         R"({"count":)" + std::to_string(kCount) + "}")}));
        ASSERT_TRUE(host->until([&] { return static_cast<bool>(host->result); }));
        std::string text;
        host->result.write([&](std::string_view piece) { text += piece; });
        const Json result(text);
        const Json events = result["/toolResults/0/events"];
        ASSERT_EQ(events.size(), static_cast<size_t>(kCount) + 1);
        for (int64_t i = 0; i < kCount; i += 997) {
            ASSERT_EQ(events["/" + std::to_string(i) + "/fields/n"].integer(), i + 1);
        }
        EXPECT_EQ(events["/" + std::to_string(kCount) + "/type"].string(), "done");
    }
};

TEST_F(Spool, HasNoNameWhileItIsUsed) {
    make_host({}, false);
    size_t names = 0;
    size_t looks = 0;
    bool spooled = false;
    host->on_event = [&](Event event) {
        if (event.seq() % 5000 != 0) return;
        names += folder.files().size();  // one of them is the folder for the tools' files
        ++looks;
        for (const auto& [number, target] : open_descriptors()) {
            spooled |= target.rfind(folder.path(), 0) == 0;
        }
    };
    run_and_check();
    EXPECT_EQ(names, looks);
    EXPECT_TRUE(spooled);
}

TEST_F(Spool, KeepsEventsInMemoryIfItCannotBeCreated) {
    ASSERT_EQ(::setenv("TMPDIR", "/nonexistent/folder", 1), 0);
    make_host({}, false);
    run_and_check();
    ASSERT_EQ(::setenv("TMPDIR", "/etc/passwd", 1), 0);
    run_and_check();
}

// The result owns the file.
TEST_F(Spool, LivesAsLongAsTheResult) {
    make_host({}, false);
    run_and_check();
    Result kept = host->result;
    host.reset();
    std::string text;
    kept.write([&](std::string_view piece) { text += piece; });
    EXPECT_TRUE(Json(text)["/success"].boolean());
}

}  // namespace
}  // namespace narratoria::hostile
