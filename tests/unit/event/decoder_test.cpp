// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "event/event.hpp"

namespace {

using namespace narratoria;
using namespace std::string_literals;
using event::Decoder;
using event::Event;
using event::Field;

// A line followed by the zero byte and the padding that the framer provides.
class PaddedLine {
public:
    explicit PaddedLine(std::string_view text) : memory_(text), size_(text.size()) {
        memory_.append(json::kPadding, '\0');
    }
    std::string_view text() const { return {memory_.data(), size_}; }

private:
    std::string memory_;
    size_t size_;
};

struct Taken {
    std::string_view line;
    event::Type type;
};

std::string type_of(std::string_view line) {
    Decoder decoder;
    Event event;
    const PaddedLine padded(line);
    return decoder.decode(padded.text(), event) ? event::type_name(event.type)
                                                : decoder.fault().message;
}

std::vector<std::string> rules_of(std::string_view line) {
    Decoder decoder;
    const PaddedLine padded(line);
    std::vector<std::string> rules;
    for (const Fault& fault : decoder.faults(padded.text())) {
        rules.push_back(fault.pointer + " " + fault.rule);
    }
    return rules;
}

// covers: 000-3-type
TEST(Decoder, AcceptsTheSixTypes) {
    const Taken cases[] = {
        {R"({"version":"0","type":"log","level":"info","message":"Lighting torch..."})",
         event::Type::Log},
        {R"({"version":"0","type":"state_patch","patch":{}})", event::Type::StatePatch},
        {R"({"version":"0","type":"asset","assetId":"a","kind":"image","mediaType":"image/png",)"
         R"("path":"/tmp/a.png"})",
         event::Type::Asset},
        {R"({"version":"0","type":"ui_event","event":"narrative_choice"})", event::Type::UiEvent},
        {R"({"version":"0","type":"error","errorCode":"E","errorMessage":"m"})",
         event::Type::Error},
        {R"({"version":"0","type":"done","ok":true})", event::Type::Done},
    };
    Decoder decoder;  // shared by all lines, as in a stream
    for (const Taken& each : cases) {
        const PaddedLine padded("  " + std::string(each.line) + "\t");
        Event event;
        ASSERT_TRUE(decoder.decode(padded.text(), event)) << decoder.fault().message;
        EXPECT_EQ(event.type, each.type);
        EXPECT_EQ(event.line, each.line) << "the object only, byte for byte";
        EXPECT_TRUE(decoder.faults(padded.text()).empty());
    }
}

TEST(Decoder, DecodesEveryFieldOfAnAsset) {
    const PaddedLine padded(
        R"({"version":"0","type":"asset","requestId":"r","timestamp":"2026-01-24T18:30:00Z",)"
        R"("assetId":"lit","kind":"image","mediaType":"image\/png","path":"/tmp/é",)"
        R"("metadata":{"width":2}})");
    Decoder decoder;
    Event event;
    ASSERT_TRUE(decoder.decode(padded.text(), event)) << decoder.fault().message;
    EXPECT_EQ(event.text(Field::RequestId), "r");
    EXPECT_EQ(event.text(Field::Timestamp), "2026-01-24T18:30:00Z");
    EXPECT_EQ(event.text(Field::AssetId), "lit");
    EXPECT_EQ(event.text(Field::Kind), "image");
    EXPECT_EQ(event.text(Field::MediaType), "image/png");
    EXPECT_EQ(event.text(Field::Path), "/tmp/é");
    EXPECT_EQ(event.field(Field::Metadata).raw(), R"({"width":2})");
    EXPECT_FALSE(event.field(Field::Summary));
    EXPECT_EQ(event.text(Field::Summary), "");
}

TEST(Decoder, DecodesTheFieldsOfTheOtherTypes) {
    Decoder decoder;
    Event event;
    const PaddedLine log(
        R"({"type":"log","version":"0","level":"warn","message":"m","fields":{"progress":0.5}})");
    ASSERT_TRUE(decoder.decode(log.text(), event));
    EXPECT_EQ(event.text(Field::Level), "warn");
    EXPECT_EQ(event.text(Field::Message), "m");
    EXPECT_EQ(event.field(Field::Fields).find("progress").number(), 0.5);

    const PaddedLine ui(R"({"type":"ui_event","version":"0","event":"e","payload":{"a":[]}})");
    ASSERT_TRUE(decoder.decode(ui.text(), event));
    EXPECT_EQ(event.text(Field::Event), "e");
    EXPECT_EQ(event.field(Field::Payload).raw(), R"({"a":[]})");

    const PaddedLine error(
        R"({"type":"error","version":"0","errorCode":"C","errorMessage":"m","details":{}})");
    ASSERT_TRUE(decoder.decode(error.text(), event));
    EXPECT_EQ(event.text(Field::ErrorCode), "C");
    EXPECT_EQ(event.text(Field::ErrorMessage), "m");
    EXPECT_EQ(event.field(Field::Details).raw(), "{}");

    const PaddedLine done(
        R"({"type":"done","version":"0","ok":false,"summary":"","result":[1,null]})");
    ASSERT_TRUE(decoder.decode(done.text(), event));
    EXPECT_FALSE(event.field(Field::Ok).boolean());
    EXPECT_TRUE(event.field(Field::Summary));
    EXPECT_EQ(event.field(Field::Result).raw(), "[1,null]");

    const PaddedLine patch(R"({"type":"state_patch","version":"0","patch":{"a":null}})");
    ASSERT_TRUE(decoder.decode(patch.text(), event));
    EXPECT_EQ(event.field(Field::Patch).raw(), R"({"a":null})");
    EXPECT_FALSE(event.field(Field::Result)) << "no field of the previous event remains";
}

// covers: 000-3-additional-fields, 000-8-unknown-fields, 004-envelope-additional-fields
TEST(Decoder, KeepsUnknownFields) {
    const std::string_view line =
        R"({"later":{"version":"1"},"version":"0","type":"done","Ok":1,"ok":true,"level":7,)"
        R"("patch":null,"":[],"summar":"x"})";
    const PaddedLine padded(line);
    Decoder decoder;
    Event event;
    ASSERT_TRUE(decoder.decode(padded.text(), event)) << decoder.fault().message;
    EXPECT_EQ(event.line, line);
}

TEST(Decoder, LastDuplicateKeyWins) {
    EXPECT_EQ(type_of(R"({"version":"1","version":"0","type":"x","type":"done","ok":1,"ok":true})"),
              "done");
    EXPECT_EQ(rules_of(R"({"version":"0","type":"done","ok":true,"ok":1})"),
              std::vector<std::string>{"/ok event-field-type"});
}

struct Broken {
    std::string line;
    std::string rule;
    std::string pointer;
    size_t byte;
    std::string message;

    friend void PrintTo(const Broken& broken, std::ostream* out) {
        *out << testing::PrintToString(broken.line);
    }
};

class BrokenLine : public testing::TestWithParam<Broken> {};

// covers: 000-11-version, 000-2.2-ndjson, 000-2.3-whole-object, 000-2.3-utf8, 000-3-envelope,
// 000-3-version, 000-3-type, 000-3-request-id, 000-3-timestamp, 000-4.2-patch-object,
// 000-4.4-event-name, 000-5.2-unknown-type, 000-8-tool-types, 004-envelope-version,
// 004-envelope-type, 004-log-level, 004-log-message, 004-log-fields, 004-state-patch-object,
// 004-asset-strings, 004-asset-metadata, 004-ui-event-name, 004-ui-event-payload,
// 004-error-strings, 004-error-details, 004-done-ok, 004-done-summary
TEST_P(BrokenLine, IsRefusedWithRulePointerByteAndMessage) {
    const Broken& expected = GetParam();
    const PaddedLine padded(expected.line);
    Decoder decoder;
    Event event;
    ASSERT_FALSE(decoder.decode(padded.text(), event));
    EXPECT_EQ(decoder.fault().rule, expected.rule);
    EXPECT_EQ(decoder.fault().pointer, expected.pointer);
    EXPECT_EQ(decoder.fault().byte, expected.byte);
    EXPECT_EQ(decoder.fault().message, expected.message);
    const Faults all = decoder.faults(padded.text());
    ASSERT_EQ(all.size(), 1u) << "each of these lines breaks one rule";
    EXPECT_EQ(all[0].message, expected.message);

    // The decoder continues with the next line.
    const PaddedLine next(R"({"version":"0","type":"done","ok":true})");
    EXPECT_TRUE(decoder.decode(next.text(), event));
}

INSTANTIATE_TEST_SUITE_P(
    NoObject, BrokenLine,
    testing::Values(
        Broken{"Lighting torch...", "json-syntax", "", 0, "Invalid value"},
        Broken{"", "json-empty", "", 0, "there is no JSON value"},
        Broken{R"({"version":"0",)", "json-syntax", "", 15,
               "the text ends in the middle of a value"},
        Broken{R"({"version":"0","type":"done","ok":true} {})", "json-one-value", "", 40,
               "extra content follows the JSON value; write only one value"},
        Broken{"\xEF\xBB\xBF{}", "json-no-bom", "", 0,
               "the text begins with a byte order mark; remove it"},
        Broken{"{\"version\":\"\xFF\"}", "json-utf8", "", 12, "the bytes are not UTF-8"},
        Broken{R"({"version":"\udc00"})", "json-no-lone-surrogate", "", 12,
               "a \\u escape is a lone surrogate"},
        Broken{std::string(513, '['), "json-depth", "", 512,
               "the value is nested deeper than 512 levels"},
        Broken{" []", "event-object", "", 1, "a line must be a JSON object, not array"},
        Broken{"null", "event-object", "", 0, "a line must be a JSON object, not null"},
        Broken{R"("done")", "event-object", "", 0, "a line must be a JSON object, not string"},
        Broken{"1", "event-object", "", 0, "a line must be a JSON object, not number"},
        Broken{"true", "event-object", "", 0, "a line must be a JSON object, not boolean"}));

INSTANTIATE_TEST_SUITE_P(
    Envelope, BrokenLine,
    testing::Values(
        Broken{R"( {"type":"done","ok":true})", "event-field-missing", "/version", 1,
               "\"version\" is missing"},
        Broken{R"({"version":0,"type":"done","ok":true})", "event-field-type", "/version", 11,
               "\"version\" must be the string \"0\", not number"},
        Broken{R"({"version":"1","type":"done","ok":true})", "event-version", "/version", 11,
               "\"version\" must be \"0\", not \"1\""},
        Broken{R"({"version":"","type":"done","ok":true})", "event-version", "/version", 11,
               "\"version\" must be \"0\", not \"\""},
        Broken{R"({"version":"0","ok":true})", "event-field-missing", "/type", 0,
               "\"type\" is missing"},
        Broken{R"({"version":"0","type":[],"ok":true})", "event-field-type", "/type", 22,
               "\"type\" must be a string, not array"},
        Broken{R"({"version":"0","type":"Done","ok":true})", "event-type", "/type", 22,
               "\"Done\" is not an event type; use log, state_patch, asset, ui_event, error or "
               "done"},
        Broken{R"({"version":"0","type":"","ok":true})", "event-type", "/type", 22,
               "\"\" is not an event type; use log, state_patch, asset, ui_event, error or done"},
        Broken{R"({"version":"0","type":"done","ok":true,"requestId":1})", "event-field-type",
               "/requestId", 51, "\"requestId\" must be a string, not number"},
        Broken{R"({"version":"0","type":"done","ok":true,"timestamp":null})", "event-field-type",
               "/timestamp", 51, "\"timestamp\" must be a string, not null"}));

// An event that ends with `field`, so that the fault's offset is known. If `value` is empty, the
// field is missing.
Broken broken(const std::string& type, const std::string& good, const std::string& field,
              const std::string& value, const std::string& rule, const std::string& message) {
    const std::string begin = R"({"version":"0","type":")" + type + "\"," + good;
    if (value.empty()) {
        return {begin + "\"x\":0}", rule, "/" + field, 0, message};
    }
    const std::string head = begin + "\"" + field + "\":";
    return {head + value + "}", rule, "/" + field, head.size(), message};
}

std::vector<Broken> broken_fields() {
    std::vector<Broken> all;
    auto each_type_but = [&](const std::string& wanted, const std::string& type,
                             const std::string& good, const std::string& field,
                             const std::string& wish) {
        struct Sample {
            const char* name;
            const char* value;
        };
        for (const Sample& sample :
             {Sample{"null", "null"}, Sample{"boolean", "true"}, Sample{"number", "0"},
              Sample{"string", "\"x\""}, Sample{"array", "[]"}, Sample{"object", "{}"}}) {
            if (sample.name == wanted) continue;
            all.push_back(broken(type, good, field, sample.value, "event-field-type",
                                 "\"" + field + "\" must be " + wish + ", not " + sample.name));
        }
    };
    auto text = [&](const std::string& type, const std::string& good, const std::string& field) {
        each_type_but("string", type, good, field, "a string");
        all.push_back(broken(type, good, field, "\"\"", "event-field-empty",
                             "\"" + field + "\" must not be empty"));
        all.push_back(
            broken(type, good, field, "", "event-field-missing", "\"" + field + "\" is missing"));
    };
    auto object = [&](const std::string& type, const std::string& good, const std::string& field) {
        each_type_but("object", type, good, field, "an object");
    };

    text("log", R"("level":"info",)", "message");
    each_type_but("string", "log", R"("message":"m",)", "level", "a string");
    all.push_back(broken("log", R"("message":"m",)", "level", "", "event-field-missing",
                         "\"level\" is missing"));
    for (const std::string& level : {"warning"s, "INFO"s, ""s}) {
        all.push_back(broken(
            "log", R"("message":"m",)", "level", "\"" + level + "\"", "event-level",
            "\"level\" must be \"debug\", \"info\", \"warn\" or \"error\", not \"" + level + "\""));
    }
    object("log", R"("level":"info","message":"m",)", "fields");

    object("state_patch", "", "patch");
    all.push_back(
        broken("state_patch", "", "patch", "", "event-field-missing", "\"patch\" is missing"));

    text("asset", R"("kind":"k","mediaType":"a/b","path":"p",)", "assetId");
    text("asset", R"("assetId":"a","mediaType":"a/b","path":"p",)", "kind");
    text("asset", R"("assetId":"a","kind":"k","path":"p",)", "mediaType");
    text("asset", R"("assetId":"a","kind":"k","mediaType":"a/b",)", "path");
    object("asset", R"("assetId":"a","kind":"k","mediaType":"a/b","path":"p",)", "metadata");

    text("ui_event", "", "event");
    object("ui_event", R"("event":"e",)", "payload");

    text("error", R"("errorMessage":"m",)", "errorCode");
    text("error", R"("errorCode":"c",)", "errorMessage");
    object("error", R"("errorCode":"c","errorMessage":"m",)", "details");

    each_type_but("boolean", "done", "", "ok", "true or false");
    all.push_back(broken("done", "", "ok", "", "event-field-missing", "\"ok\" is missing"));
    each_type_but("string", "done", R"("ok":true,)", "summary", "a string");
    return all;
}

INSTANTIATE_TEST_SUITE_P(Fields, BrokenLine, testing::ValuesIn(broken_fields()));

// covers: 000-4.4-payload, 004-log-fields, 004-done-summary
TEST(Decoder, AcceptsAnyContentOfOptionalFields) {
    for (
        const char* line :
        {R"({"version":"0","type":"log","level":"debug","message":"m","fields":{"a":[{}]}})",
         R"({"version":"0","type":"log","level":"error","message":" "})",
         R"({"version":"0","type":"ui_event","event":"unknown","payload":{}})",
         R"({"version":"0","type":"ui_event","event":"narrative_choice","payload":{"x":1}})",
         R"({"version":"0","type":"done","ok":false,"summary":""})",
         R"({"version":"0","type":"done","ok":true,"result":null})",
         R"({"version":"0","type":"done","ok":true,"requestId":"","timestamp":"yesterday"})",
         R"({"version":"0","type":"asset","assetId":"a","kind":"k","mediaType":"none","path":"p"})"}) {
        EXPECT_TRUE(rules_of(line).empty()) << line;
    }
}

TEST(Decoder, ListsEveryFaultOfALine) {
    EXPECT_EQ(
        rules_of(R"({"version":1,"type":"asset","requestId":[],"kind":"","path":null})"),
        (std::vector<std::string>{"/version event-field-type", "/requestId event-field-type",
                                  "/assetId event-field-missing", "/kind event-field-empty",
                                  "/mediaType event-field-missing", "/path event-field-type"}));
    EXPECT_EQ(rules_of("{}"), (std::vector<std::string>{"/version event-field-missing",
                                                        "/type event-field-missing"}));
}

TEST(Decoder, FirstFaultMatchesTheFullList) {
    const PaddedLine padded(R"({"version":"0","type":"log","level":1,"message":2})");
    Decoder decoder;
    Event event;
    ASSERT_FALSE(decoder.decode(padded.text(), event));
    EXPECT_EQ(decoder.fault().pointer, "/level");
    EXPECT_EQ(rules_of(padded.text()),
              (std::vector<std::string>{"/level event-field-type", "/message event-field-type"}));
}

// All that the decoder reports about a line, as text to compare.
std::string told_of(Decoder& decoder, std::string_view line) {
    const PaddedLine padded(line);
    Event event;
    if (!decoder.decode(padded.text(), event)) {
        const Fault& fault = decoder.fault();
        return fault.rule + " " + fault.pointer + " " + std::to_string(fault.byte) + " " +
               fault.message;
    }
    std::string told = event::type_name(event.type) + (" " + std::string(event.line));
    for (const uint32_t field : event.fields) {
        if (field == 0) continue;
        const json::Value value(event.tape, field);
        told += std::string(" ") + json::type_name(value.type()) + " " + std::string(value.raw());
    }
    return told;
}

// The decoder caches the common beginning of a tool's lines.
TEST(Decoder, CachedPrefixDoesNotChangeTheResult) {
    const std::string same = R"({"version":"0","type":"state_patch","requestId":"r",)";
    Decoder decoder;
    for (const std::string& line : std::vector<std::string>{
             same + R"("patch":{"a":1}})",
             same + R"("patch":{},"type":"log","level":"info","message":"m"})",
             same + R"("patch":{"b":[2]}})",
             same + R"("patch":{"c":{"d":null}}})",
             same + R"("patch":{"e":"\u00e4"}})",
             same + R"("patch":1})",
             same + R"("timestamp":"t"})",
             same + R"("patch":{},"type":"log"})",
             same + R"("patch":{},"version":"1"})",
             same + R"("patch":{},"requestId":null})",
             same + R"("patch":{})",
             same.substr(0, same.size() - 1) + "}",
             same,
             same.substr(0, 20),
             R"({"version":"0","type":"state_patch","requestId":"s","patch":{}})",
             R"({"version":"0","type":"done","ok":true})",
             " " + same + R"("patch":{}})",
             same + R"("patch":{}})",
         }) {
        for (int i = 0; i < 5; ++i) {
            Decoder fresh;
            EXPECT_EQ(told_of(decoder, line), told_of(fresh, line)) << line;
        }
    }
}

TEST(Decoder, RandomLinesDecodeAsWithAFreshDecoder) {
    std::mt19937 random(20261122);
    const auto one_of = [&](const std::vector<std::string>& texts) {
        return texts[random() % texts.size()];
    };
    for (int tool = 0; tool < 3000; ++tool) {
        // A tool's lines begin in a few similar ways and continue in a few; most members belong to
        // one event.
        const auto member = [&] {
            return one_of({R"("version":"0",)", R"("version":"1",)", R"("type":"log",)",
                           R"("type":"state_patch",)", R"("type" : "done", )",
                           R"("requestId":"r",)", R"("requestId":"rr",)", R"("ok":true,)",
                           R"("ok":null,)", R"("x":[1,{"y":"z"}],)", R"("x":[12,{}],)",
                           R"("patch":{"a":{"b":1}},)", R"("message":"ä",)", R"("level":"\n",)",
                           R"("level":"info",)"});
        };
        std::vector<std::string> beginnings, ends;
        std::string alike = one_of({"{", "{ ", R"({"version":"0",)"});
        for (size_t count = random() % 4; count > 0; --count) alike += member();
        for (int i = 0; i < 3; ++i) {
            std::string text = alike + member();
            beginnings.push_back(text);
            text.clear();
            for (size_t count = random() % 4; count > 0; --count) {
                text += one_of({R"("version":"0",)", R"("type":"log",)", R"("level":"info",)",
                                R"("message":"m",)", R"("type":"state_patch",)", R"("ok":1,)",
                                R"("message":"\u00e4",)", R"("patch":{},)"});
            }
            ends.push_back(text + one_of({R"("ok":false})", R"("level":"warn"})", "}", "",
                                          R"("message":"n"})", R"("patch":{"c":[]}})"}));
        }
        Decoder decoder;
        for (int i = 0; i < 40; ++i) {
            const std::string line = one_of(beginnings) + one_of(ends);
            Decoder fresh;
            ASSERT_EQ(told_of(decoder, line), told_of(fresh, line)) << line;
        }
    }
}

TEST(Excerpt, ShowsTheTextAroundAByte) {
    EXPECT_EQ(event::excerpt("short", 2), "short");
    EXPECT_EQ(event::excerpt("", 0), "");
    EXPECT_EQ(event::excerpt("short", 999), "short");
    const std::string line(300, 'x');
    EXPECT_EQ(event::excerpt(line, 150), "…" + std::string(80, 'x') + "…");
    EXPECT_EQ(event::excerpt(line, 0), std::string(50, 'x') + "…");
    EXPECT_EQ(event::excerpt(line, 300), "…" + std::string(30, 'x'));
}

TEST(Excerpt, IsSafeToPrintForAnyLine) {
    EXPECT_EQ(event::excerpt("a\x1B[31m\x07\x7F\t"s, 0), "a\\x1B[31m\\x07\\x7F\\x09");
    EXPECT_EQ(event::excerpt("a\0b"s, 0), "a\\x00b");
    EXPECT_EQ(event::excerpt("\xFF", 0), "\xEF\xBF\xBD");
    std::string line;
    for (int i = 0; i < 100; ++i) line += "🔥";
    for (size_t byte = 0; byte <= line.size(); ++byte) {
        const std::string excerpt = event::excerpt(line, byte);
        EXPECT_TRUE(utf8::is_valid(excerpt)) << byte;
        if (byte % 4 == 0) {
            EXPECT_EQ(excerpt.find("\xEF\xBF\xBD"), std::string::npos) << "no character is cut";
        }
    }
}

}  // namespace
