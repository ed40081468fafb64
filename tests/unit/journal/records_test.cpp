// SPDX-License-Identifier: Apache-2.0
#include "journal/records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace narratoria::journal {
namespace {

std::string shown(const Record& record) {
    return std::to_string(static_cast<int>(record.kind)) + " " + std::to_string(record.event_kind) +
           " " + std::to_string(record.event_type) + " " + std::to_string(record.attempt) + " " +
           std::to_string(record.seq) + " " + std::to_string(record.time_us) + " " +
           std::string(record.plan_id) + "/" + std::string(record.tool_id) + " " +
           std::string(record.body);
}

std::vector<std::string> records_of(std::string_view part, bool& is_good) {
    std::vector<std::string> all;
    is_good = each_record(part, [&](const Record& record) { all.push_back(shown(record)); });
    return all;
}

TEST(Records, RoundTripUnchanged) {
    std::mt19937 random(7);
    RecordWriter writer;
    Part spare;
    for (int part = 0; part < 50; ++part) {
        std::vector<std::string> written;
        for (int i = 0; i < 40; ++i) {
            const std::string plan = "plan" + std::to_string(random() % 2);
            const std::string tool(random() % 3 * 100, 't');
            const std::string body(random() % 5 == 0 ? 70'000 : random() % 200, 'b');
            const Record record{static_cast<RecordKind>(1 + random() % 6),
                                static_cast<uint8_t>(random() % 32),
                                static_cast<uint8_t>(random() % 8),
                                static_cast<uint32_t>(random()),
                                (uint64_t{random()} << 32) | random(),
                                static_cast<int64_t>((uint64_t{random()} << 32) | random()),
                                plan,
                                tool,
                                body};
            writer.add(record);
            written.push_back(shown(record));
        }
        bool is_good = false;
        // Every second part reuses the memory of an earlier one.
        Part taken = writer.take(std::exchange(spare, {}));
        EXPECT_EQ(records_of(taken.bytes(), is_good), written) << "each part is independent";
        if (part % 2 == 0) spare = std::move(taken);
        EXPECT_TRUE(is_good);
    }
}

TEST(Records, PatchAndItsEventAreStoredOnce) {
    const std::string line = R"({"type":"state_patch","patch":{"a":1,"b":"2"}})";
    const std::string other = R"({"patch":{"a":1,"b":"2"},"type":"state_patch"})";
    auto patch_of = [](std::string_view text) { return text.substr(text.find("{\"a"), 15); };
    RecordWriter writer;
    std::vector<std::string> written;
    size_t bytes = 0;
    auto add = [&](RecordKind kind, uint64_t seq, std::string_view body) {
        const Record record{kind, 1, 2, 1, seq, 5, "p", "t", body};
        if (kind == RecordKind::Event) writer.add_around(record, patch_of(body));
        else writer.add(record);
        written.push_back(shown(record));
        bytes += body.size();
    };
    for (uint64_t seq = 1; seq <= 100; ++seq) {
        const std::string& text = seq % 3 == 0 ? other : line;
        add(RecordKind::Patch, seq, patch_of(text));
        if (seq % 5 == 0) add(RecordKind::Nulls, seq, R"({"n":null})");
        add(RecordKind::Event, seq, text);
    }
    const Part part = writer.take();
    EXPECT_LT(part.size, bytes);
    bool is_good = false;
    EXPECT_EQ(records_of(part.bytes(), is_good), written);
}

TEST(Records, TruncatedPartIsReported) {
    RecordWriter writer;
    for (uint64_t seq = 1; seq <= 3; ++seq) {
        writer.add({RecordKind::Event, 1, 2, 1, seq, 1'700'000'000'000'000, "plan", "tool",
                    R"({"type":"log"})"});
    }
    const Part part = writer.take();
    size_t whole = 0;
    for (size_t size = 0; size <= part.size; ++size) {
        bool is_good = false;
        const size_t count = records_of(part.bytes().substr(0, size), is_good).size();
        EXPECT_LE(count, 3u);
        whole += is_good ? 1 : 0;
    }
    EXPECT_EQ(whole, 4u) << "only a cut between two records is valid";
}

}  // namespace
}  // namespace narratoria::journal
