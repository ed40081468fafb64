// SPDX-License-Identifier: Apache-2.0
#include "narratoria/record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>

#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "support/sized.hpp"

namespace {

using narratoria::view;

std::string record(const nar_event& event) {
    std::string out(nar_record_room(&event), '\0');
    const char* const end = nar_record_write(&event, out.data());
    EXPECT_LT(end, out.data() + out.size()) << "there is room for a newline";
    out.resize(static_cast<size_t>(end - out.data()));
    return out;
}

TEST(Record, IsOneLineWithEveryFieldInOrder) {
    auto event = narratoria::test::sized<nar_event>();
    event.kind = NAR_KIND_TOOL_EVENT;
    event.type = NAR_TYPE_LOG;
    event.attempt = 2;
    event.seq = 18446744073709551615u;
    event.time_us = 1769279400250001;
    event.session_id = NAR_STR("s");
    event.plan_id = NAR_STR("a \"plan\" \\ \n\x01\x7F é");
    event.tool_id = NAR_STR("door");
    event.body = NAR_STR(R"({"type":"log"})");
    EXPECT_EQ(record(event),
              R"({"seq":18446744073709551615,"time":"2026-01-24T18:30:00.250001Z",)"
              R"("sessionId":"s","planId":"a \"plan\" \\ \n\u0001\u007f é","toolId":"door",)"
              R"("attempt":2,"kind":"tool_event","event":{"type":"log"}})");
}

TEST(Record, MissingFieldsAreNullOrAnEmptyObject) {
    nar_event event{};
    event.kind = 999;
    event.body = {nullptr, 5};
    event.tool_id = {nullptr, 5};
    EXPECT_EQ(record(event),
              R"({"seq":0,"time":"1970-01-01T00:00:00.000000Z","sessionId":"","planId":null,)"
              R"("toolId":null,"attempt":null,"kind":"kind_999","event":{}})");
}

TEST(Record, TimeMatchesTheCLibrary) {
    std::mt19937_64 random(1);
    // From 0001-01-01 to 9999-12-31.
    std::uniform_int_distribution<int64_t> seconds(-62135596800, 253402300799);
    for (int i = 0; i < 100000; ++i) {
        const int64_t second = i < 3 ? i - 1 : seconds(random);
        const auto fraction = static_cast<int>(random() % 1000000);
        const auto time = static_cast<time_t>(second);
        tm parts{};
        ASSERT_NE(gmtime_r(&time, &parts), nullptr);
        char expected[64];
        std::snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                      parts.tm_min, parts.tm_sec, fraction);
        char text[32];
        ASSERT_EQ(std::string(text, nar_record_write_time(second * 1000000 + fraction, text)),
                  expected);
    }
    char text[32];
    EXPECT_LE(nar_record_write_time(INT64_MIN, text), text + sizeof text);
    EXPECT_LE(nar_record_write_time(INT64_MAX, text), text + sizeof text);
}

TEST(Record, EscapesLikeTheJsonWriter) {
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string text(random() % 40, 'x');
        for (unsigned left = random() % 4; left > 0 && !text.empty(); --left) {
            text[random() % text.size()] = static_cast<char>(random() % 128);
        }
        std::string expected;
        narratoria::json::append_string(expected, text);
        std::string out(6 * text.size() + 2, '\0');
        const char* const end = nar_record_write_text(view(text), out.data());
        ASSERT_EQ(out.substr(0, static_cast<size_t>(end - out.data())), expected);
    }
}

TEST(Record, LongestTextsFit) {
    const std::string text(1000, '\x01');
    nar_event event{};
    event.kind = NAR_KIND_ASSET_PLACEHOLDER;
    event.attempt = UINT32_MAX;
    event.seq = UINT64_MAX;
    event.time_us = INT64_MIN;
    event.session_id = event.plan_id = event.tool_id = view(text);
    event.body = view(text);
    EXPECT_GT(record(event).size(), 19000u);
}

}  // namespace
