// SPDX-License-Identifier: Apache-2.0
#include "event/document.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/case_tables.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;

struct Found {
    std::string rule;
    std::string pointer;
    size_t byte;

    bool operator==(const Found& other) const {
        return rule == other.rule && pointer == other.pointer && byte == other.byte;
    }
    friend void PrintTo(const Found& found, std::ostream* out) {
        *out << found.rule << " " << found.pointer << " @" << found.byte;
    }
};

std::vector<Found> check(std::string_view text) {
    std::vector<Found> all;
    for (const Fault& fault : event::check_document(text)) {
        EXPECT_FALSE(fault.message.empty());
        if (!fault.is_warning) all.push_back({fault.rule, fault.pointer, fault.byte});
    }
    return all;
}

const std::string kGood = R"({"version":"0","type":"done","ok":true})";

// The schema and this check give the same verdict for each sample document.
// covers: 003-13.7-event-schema
TEST(EventDocument, MatchesTheVerdictsOfTheCorpus) {
    const auto documents = test::sample_documents("event");
    for (const test::SampleDocument& each : documents) {
        EXPECT_EQ(check(each.text).empty(), each.verdict == "valid")
            << each.verdict << " " << each.reason;
    }
    EXPECT_GT(documents.size(), 150u);
}

TEST(EventDocument, IsOneEventOrOneEventPerLine) {
    EXPECT_TRUE(check(kGood).empty());
    EXPECT_TRUE(
        check("\n\n{\n\"version\": \"0\",\n\"type\": \"done\",\n\"ok\": true\n}\n").empty());
    EXPECT_TRUE(check(kGood + "\n" + kGood + "\r\n\n  \t\r\n" + kGood).empty());
}

TEST(EventDocument, MustContainAnEvent) {
    for (const std::string& text : {""s, "\n"s, " \t\r\n\n"s}) {
        EXPECT_EQ(check(text), (std::vector<Found>{{"event-none", "", 0}}));
    }
}

TEST(EventDocument, FaultOffsetsCountFromTheDocumentStart) {
    const std::string text = kGood + "\n\nLighting torch...\n" + kGood + "\n" +
                             R"({"version":"1","type":"log"})" + "\r\n[]\n";
    const size_t third = kGood.size() + 2;
    const size_t fifth = third + 18 + kGood.size() + 1;
    EXPECT_EQ(check(text), (std::vector<Found>{{"json-syntax", "", third},
                                               {"event-field-missing", "/level", fifth},
                                               {"event-field-missing", "/message", fifth},
                                               {"event-version", "/version", fifth + 11},
                                               {"event-object", "", fifth + 30}}));
}

TEST(EventDocument, SingleEventKeepsItsOffsets) {
    EXPECT_EQ(check("{\n  \"version\": \"0\",\n  \"type\": \"log\",\n  \"level\": 1,\n"
                    "  \"message\": \"m\"\n}\n"),
              (std::vector<Found>{{"event-field-type", "/level", 48}}));
}

TEST(EventDocument, LocatesTheFaultOfAMultiLineEvent) {
    EXPECT_EQ(check("{\n  \"version\": \"0\",\n  \"type\" \"log\"\n}\n"),
              (std::vector<Found>{{"json-syntax", "", 29}}));
    EXPECT_EQ(check("{\n  \"version\": \"0\",\n"), (std::vector<Found>{{"json-syntax", "", 20}}));
}

TEST(EventDocument, ReportsEachTruncatedLine) {
    EXPECT_EQ(check("{\"version\":\"0\",\n" + kGood + "\n{\"type\":\n"),
              (std::vector<Found>{{"json-syntax", "", 15},
                                  {"json-syntax", "", 16 + kGood.size() + 1 + 8}}));
    EXPECT_EQ(check("one\ntwo\n"),
              (std::vector<Found>{{"json-syntax", "", 0}, {"json-syntax", "", 5}}))
        << "\"t\" begins like true";
}

// covers: 000-3-timestamp
TEST(EventDocument, NonIso8601TimestampIsAWarning) {
    const std::string line = R"({"version":"0","timestamp":"noon","type":"done","ok":true})";
    const std::string log = R"({"version":"0","timestamp":"noon","type":"state_patch","patch":{}})";
    const Faults valid = event::check_document(log + "\n" + line);
    ASSERT_EQ(valid.size(), 2u);
    EXPECT_TRUE(valid[0].is_warning && valid[1].is_warning);
    EXPECT_EQ(valid[1].rule, "event-timestamp");
    EXPECT_EQ(valid[1].pointer, "/timestamp");
    EXPECT_EQ(valid[1].byte, log.size() + 1 + line.find("\"noon\""));

    const Faults invalid =
        event::check_document(R"({"version":"0","type":"done","timestamp":"","ok":1})");
    ASSERT_EQ(invalid.size(), 2u) << "every fault of an event is listed";
    EXPECT_EQ(invalid[0].rule, "event-timestamp");
    EXPECT_EQ(invalid[1].rule, "event-field-type");

    const Faults number =
        event::check_document(R"({"version":"0","type":"done","timestamp":1,"ok":true})");
    ASSERT_EQ(number.size(), 1u);
    EXPECT_FALSE(number[0].is_warning) << "a timestamp that is not a string is a fault";
}

// covers: 000-4.3-media-type, 004-asset-media-type
TEST(EventDocument, ChecksMediaTypes) {
    auto asset = [](const std::string& media_type, const std::string& rest = "") {
        return R"({"version":"0","type":"asset","assetId":"a","kind":"k","path":"p",)"
               R"("mediaType":")" +
               media_type + "\"" + rest + "}";
    };
    for (const char* good : {"image/png", "IMAGE/PNG", "text/plain; charset=utf-8",
                             "application/vnd.narratoria.scene+json", "x/y;a=\\\"b c\\\""}) {
        EXPECT_TRUE(check(asset(good)).empty()) << good;
    }
    for (const char* bad : {"png", "image/", "/png", "image/png/x", "image png", "image/*",
                            "image/png;", "image/png;a", "imäge/png", "image\\u0000/png"}) {
        EXPECT_EQ(check(asset(bad)),
                  (std::vector<Found>{{"event-media-type", "/mediaType", asset("").size() - 3}}))
            << bad;
    }
    // With another fault of the same event; faults come in the order of the text.
    EXPECT_EQ(check(asset("png", R"(,"metadata":[])")),
              (std::vector<Found>{{"event-media-type", "/mediaType", 78},
                                  {"event-field-type", "/metadata", 95}}));
    // An empty media type is one fault, not two. A mediaType field in another event type is
    // ignored.
    EXPECT_EQ(check(asset("")).size(), 1u);
    EXPECT_TRUE(check(R"({"version":"0","type":"done","ok":true,"mediaType":"png"})").empty());
}

TEST(EventDocument, ChecksEachEventSeparately) {
    const std::string asset =
        R"({"version":"0","type":"asset","assetId":"a","kind":"k","path":"p","mediaType":"a/b"})";
    EXPECT_TRUE(check(kGood + "\n" + asset + "\n" + asset + "\n" + kGood).empty())
        << "a separate check covers the whole invocation";
}

// covers: 000-4.6-exactly-one-done
TEST(EventDocument, WarnsOfMissingDoneAndOfEventsAfterDone) {
    const std::string patch = R"({"version":"0","type":"state_patch","patch":{}})";
    const auto warning_of = [](const std::string& text) {
        const Faults faults = event::check_document(text);
        if (faults.size() != 1 || !faults[0].is_warning) return "not one warning"s;
        return faults[0].rule + " @" + std::to_string(faults[0].byte);
    };
    EXPECT_EQ(warning_of(patch + "\n" + patch + "\n"),
              "event-done-missing @" + std::to_string(patch.size() + 1));
    EXPECT_EQ(warning_of(patch + "\n" + kGood + "\n\n" + kGood),
              "event-after-done @" + std::to_string(patch.size() + kGood.size() + 3));
    EXPECT_EQ(warning_of(kGood + "\n" + patch + "\n" + patch),
              "event-after-done @" + std::to_string(kGood.size() + 1));
    EXPECT_TRUE(event::check_document(patch + "\n" + kGood).empty());
    EXPECT_TRUE(event::check_document(patch).empty()) << "a single event is not an output";
}

TEST(EventDocument, ListsAHundredThousandFaultsInOrder) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += i % 2 == 0 ? "{}\n" : kGood + "\n";
    const Faults faults = event::check_document(text);
    EXPECT_EQ(faults.size(), 100001u) << "two for each broken line, and one for all after done";
    EXPECT_TRUE(std::is_sorted(faults.begin(), faults.end(),
                               [](const Fault& a, const Fault& b) { return a.byte < b.byte; }));
}

}  // namespace
