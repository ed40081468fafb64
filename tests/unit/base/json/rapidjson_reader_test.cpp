// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/json/tape.hpp"

namespace {

using namespace narratoria::json;
using namespace std::string_literals;

// A text with kPadding bytes after it, directly followed by inaccessible memory.
class TextBeforeGuard {
public:
    explicit TextBeforeGuard(std::string_view text) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        readable_ = (text.size() + kPadding + page - 1) / page * page;
        void* pages = mmap(nullptr, readable_ + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        pages_ = static_cast<char*>(pages);
        mapped_ = readable_ + page;
        if (mprotect(pages_ + readable_, page, PROT_NONE) != 0) throw std::bad_alloc();
        char* const begin = pages_ + readable_ - kPadding - text.size();
        std::memcpy(begin, text.data(), text.size());
        // Only the first byte of the padding is guaranteed to be zero.
        std::memset(begin + text.size(), '"', kPadding);
        begin[text.size()] = '\0';
        text_ = {begin, text.size()};
    }
    TextBeforeGuard(const TextBeforeGuard&) = delete;
    TextBeforeGuard& operator=(const TextBeforeGuard&) = delete;
    ~TextBeforeGuard() { munmap(pages_, mapped_); }

    std::string_view text() const { return text_; }

private:
    char* pages_ = nullptr;
    size_t readable_ = 0;
    size_t mapped_ = 0;
    std::string_view text_;
};

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonNumber, IsRefusedOutsideTheRangeOfADouble) {
    for (const std::string& text :
         {"1.7976931348623157e308"s, "-1.7976931348623157e308"s, "1.797693134862315807e308"s,
          "17976931348623157e292"s, "0.00017976931348623157e312"s, "1e308"s, std::string(308, '9'),
          "0e308"s}) {
        Document document;
        ParseError error;
        ASSERT_TRUE(document.parse(text, error)) << text << ": " << error.message;
        ASSERT_TRUE(document.root().number()) << text;
        EXPECT_TRUE(std::isfinite(*document.root().number())) << text;
    }
    for (const std::string& text :
         {"1e309"s, "-1e309"s, "2e308"s, "1.7976931348623159e308"s, "10e308"s, "1e99999999999"s,
          std::string(400, '9'), "1" + std::string(400, '0') + ".5"}) {
        Document document;
        ParseError error;
        ASSERT_FALSE(document.parse("[" + text + "]", error)) << text;
        EXPECT_EQ(error.kind, ParseError::Kind::NumberTooBig) << text;
        EXPECT_EQ(error.byte, 1u) << text;
        EXPECT_EQ(error.message, "the number is outside the range of a double");
    }
}

// A document that the runtime writes embeds documents of others, so it may nest deeper.
TEST(JsonDepth, OwnDocumentsMayNestDeeper) {
    Document document;
    ParseError error;
    const std::string with_escape = "[\"\\n\"," + nested(kDepthOfOwn - 1) + "]";
    EXPECT_TRUE(document.parse(nested(kDepthOfOwn), error, kDepthOfOwn)) << error.message;
    EXPECT_TRUE(document.parse(with_escape, error, kDepthOfOwn)) << error.message;
    for (const std::string& text : {nested(kDepthOfOwn + 1), "[" + with_escape + "]"}) {
        ASSERT_FALSE(document.parse(text, error, kDepthOfOwn));
        EXPECT_EQ(error.kind, ParseError::Kind::TooDeep);
    }
}

TEST(JsonDepth, IsLimitedTo512Levels) {
    Document document;
    ParseError error;
    EXPECT_TRUE(document.parse(nested(512), error)) << error.message;
    EXPECT_EQ(document.root().raw().size(), 1024u);

    for (const size_t levels : {size_t{513}, size_t{10000}, size_t{1000000}}) {
        ASSERT_FALSE(document.parse(nested(levels), error));
        EXPECT_EQ(error.kind, ParseError::Kind::TooDeep);
        EXPECT_EQ(error.byte, 512u) << "the first bracket above the limit";
        EXPECT_EQ(error.message, "the value is nested deeper than 512 levels");
    }
    std::string objects;
    for (int i = 0; i < 513; ++i) objects += R"({"a":)";
    ASSERT_FALSE(document.parse(objects, error));
    EXPECT_EQ(error.kind, ParseError::Kind::TooDeep);
    EXPECT_EQ(error.byte, 512u * 5);
}

struct Refused {
    std::string text;
    ParseError::Kind kind;
    size_t byte;
    std::string message;

    friend void PrintTo(const Refused& refused, std::ostream* out) {
        *out << testing::PrintToString(refused.text);
    }
};

class JsonRefusal : public testing::TestWithParam<Refused> {};

TEST_P(JsonRefusal, NamesKindByteAndReason) {
    Document document;
    ParseError error;
    ASSERT_FALSE(document.parse(GetParam().text, error)) << GetParam().text;
    EXPECT_EQ(error.kind, GetParam().kind) << rule_of(error.kind) << ": " << error.message;
    EXPECT_EQ(error.byte, GetParam().byte) << error.message;
    EXPECT_EQ(error.message, GetParam().message);
    // Again in memory that ends right after the padding.
    const TextBeforeGuard guarded(GetParam().text);
    Tape tape;
    ParseError again;
    ASSERT_FALSE(tape.parse(guarded.text(), again));
    EXPECT_EQ(again.byte, error.byte);
}

const char* const kEndsEarly = "the text ends in the middle of a value";
const char* const kNul = "the text contains a NUL character";
const char* const kControl =
    "the text contains a control character; in a string, write it as \\u00XX";
const char* const kLineBreak = "a string contains a line break or tab; write it as \\n, \\r or \\t";
const char* const kNotUtf8 = "the bytes are not UTF-8";
const char* const kHalfInText = "the string contains a lone surrogate";
const char* const kHalfInEscape = "a \\u escape is a lone surrogate";
const char* const kNothing = "there is no JSON value";
const char* const kMore = "extra content follows the JSON value; write only one value";
const char* const kBom = "the text begins with a byte order mark; remove it";

using Kind = ParseError::Kind;

INSTANTIATE_TEST_SUITE_P(
    Syntax, JsonRefusal,
    testing::Values(
        Refused{"", Kind::Empty, 0, kNothing}, Refused{" \n\t", Kind::Empty, 3, kNothing},
        Refused{"{", Kind::Syntax, 1, kEndsEarly}, Refused{"[1,", Kind::Syntax, 3, kEndsEarly},
        Refused{R"({"a)", Kind::Syntax, 3, kEndsEarly},
        Refused{R"({"a":"b\)", Kind::Syntax, 8, kEndsEarly},
        Refused{"tru", Kind::Syntax, 3, kEndsEarly}, Refused{"-", Kind::Syntax, 1, kEndsEarly},
        Refused{R"({"a":1} x)", Kind::TrailingContent, 8, kMore},
        Refused{"1 2", Kind::TrailingContent, 2, kMore},
        Refused{"{}\0garbage"s, Kind::TrailingContent, 2, kMore},
        Refused{"{}\0"s, Kind::TrailingContent, 2, kMore}, Refused{"\0{}"s, Kind::Syntax, 0, kNul},
        Refused{" \0"s, Kind::Syntax, 1, kNul}, Refused{"[\0]"s, Kind::Syntax, 1, kNul},
        Refused{"\"a\0b\""s, Kind::Syntax, 2, kNul},
        Refused{"\"a\x01\"", Kind::Syntax, 2, kControl},
        Refused{"\"a\x1F\"", Kind::Syntax, 2, kControl},
        Refused{"\"a\\nb\x1A\"", Kind::Syntax, 5, kControl},
        Refused{"\"a\tb\"", Kind::Syntax, 2, kLineBreak},
        Refused{"\"a\nb\"", Kind::Syntax, 2, kLineBreak},
        Refused{"\"0123456789abcdef\tb\"", Kind::Syntax, 17, kLineBreak},
        Refused{"\xEF\xBB\xBF{}", Kind::ByteOrderMark, 0, kBom}));

INSTANTIATE_TEST_SUITE_P(
    Encoding, JsonRefusal,
    testing::Values(
        Refused{"\"\xFF\"", Kind::InvalidUtf8, 1, kNotUtf8},
        Refused{"\"ab\x80\"", Kind::InvalidUtf8, 3, kNotUtf8},
        Refused{"\"ab\xE2\x82\"", Kind::InvalidUtf8, 3, kNotUtf8},
        Refused{"\"\xC0\xAF\"", Kind::InvalidUtf8, 1, kNotUtf8},
        Refused{"\"\xF4\x90\x80\x80\"", Kind::InvalidUtf8, 1, kNotUtf8},
        Refused{"{\"\xFE\":1}", Kind::InvalidUtf8, 2, kNotUtf8},
        Refused{"[\xE9]", Kind::InvalidUtf8, 1, kNotUtf8},
        Refused{"\"é\\n\xE9x\"", Kind::InvalidUtf8, 5, kNotUtf8},
        Refused{"\"0123456789abcdefghi\xE9\"", Kind::InvalidUtf8, 20, kNotUtf8},
        // The first of several faults is reported, even if the string is never closed.
        Refused{"\"\xFF", Kind::InvalidUtf8, 1, kNotUtf8},
        // A multi-byte character truncated at the end of a string is not completed by later bytes.
        Refused{"[\"\xC3\",\"\xA9\"]", Kind::InvalidUtf8, 2, kNotUtf8},
        Refused{"\"\xED\xA0\xBD\"", Kind::LoneSurrogate, 1, kHalfInText},
        Refused{"\"ab\xED\xBF\xBF\"", Kind::LoneSurrogate, 3, kHalfInText},
        Refused{R"("ab\ud83d")", Kind::LoneSurrogate, 3, kHalfInEscape},
        Refused{R"("\ud83d\n")", Kind::LoneSurrogate, 1, kHalfInEscape},
        Refused{R"("\ud83d\u0041")", Kind::LoneSurrogate, 1, kHalfInEscape},
        Refused{R"("ab\udc00")", Kind::LoneSurrogate, 3, kHalfInEscape},
        Refused{R"("\ud83d\udd25\\\udc00")", Kind::LoneSurrogate, 15, kHalfInEscape},
        // Surrogates in the wrong order: the reader stops at the high one.
        Refused{R"("é\udd25\ud83d")", Kind::LoneSurrogate, 9, kHalfInEscape},
        Refused{R"({"\udfff":1})", Kind::LoneSurrogate, 2, kHalfInEscape}));

// The rest of the grammar: each text is refused at the right byte; the message is not compared.
TEST(JsonSyntax, IsRefusedAtTheFaultyByte) {
    struct Case {
        std::string_view text;
        size_t byte;
    };
    const Case cases[] = {
        {"{a:1}", 1},       {R"({"a" 1})", 5}, {"[1 2]", 3}, {"[01]", 2},   {"[+1]", 1},
        {"[.5]", 1},        {"[1.]", 3},       {"[1e]", 3},  {"[1e+]", 4},  {"[--1]", 2},
        {"[NaN]", 1},       {"[Infinity]", 1}, {"[nul]", 4}, {"[True]", 1}, {R"("\x41")", 1},
        {R"("\u12g4")", 1}, {"{} /* */", 3},   {"}", 0},     {"{]", 1},     {",", 0},
    };
    for (const Case& each : cases) {
        Document document;
        ParseError error;
        EXPECT_FALSE(document.parse(each.text, error)) << each.text;
        EXPECT_EQ(error.byte, each.byte) << each.text << ": " << error.message;
        EXPECT_FALSE(error.message.empty());
    }
}

// The reader never touches bytes after the padding. Texts of every length put the end at each
// position of the wide loads: plain, with escapes, and non-ASCII.
TEST(JsonPadding, ReaderStaysWithinThePadding) {
    for (size_t length = 0; length < 70; ++length) {
        for (const std::string_view last : {"", "\\n", "é", "🔥"}) {
            const std::string content = std::string(length, 'x') + std::string(last);
            for (const std::string& text :
                 {"\"" + content + "\"", "[\"" + content + "\"]",
                  "{\"" + content + "\":\"" + content + "\"}", "\"" + content, "[\"" + content}) {
                const TextBeforeGuard guarded(text);
                Tape tape;
                ParseError error;
                const bool closed = text.back() == '"' ? text.size() > 1 && text != "[\""
                                                       : text.back() == ']' || text.back() == '}';
                EXPECT_EQ(tape.parse(guarded.text(), error), closed) << text << error.message;
                if (!closed) {
                    EXPECT_EQ(error.byte, text.size()) << text;
                }
            }
        }
    }
    for (const std::string_view text : {"", "1", "-", "12345678901234567890", "1.5e3", "tru", "n",
                                        "[", "{", "[1,", " ", "\\", "\"\\u00", "\"\\ud83d\\u"}) {
        const TextBeforeGuard guarded(text);
        Tape tape;
        ParseError error;
        tape.parse(guarded.text(), error);
    }
}

TEST(RapidJsonReader, ReportsTrailingComma) {
    for (const auto& [text, byte] : {std::pair("[1,]", 3u),
                                     {"[1,,2]", 3u},
                                     {"{\"a\":1,}", 7u},
                                     {"{\"a\":}", 5u},
                                     {"[,1]", 1u}}) {
        Document document;
        ParseError error;
        EXPECT_FALSE(document.parse(text, error));
        EXPECT_EQ(error.message, "a value or a member is missing here, or there is an extra comma")
            << text;
        EXPECT_EQ(error.byte, byte) << text;
    }
}

TEST(RapidJsonReader, ReportsNameWithoutQuotes) {
    Document document;
    ParseError error;
    EXPECT_FALSE(document.parse("{a:1}", error));
    EXPECT_EQ(error.message, "a member's name is missing here; write it in double quotes");
}

TEST(RapidJsonReader, NamesQuotesAndCommentsThatAreNotJson) {
    struct Case {
        const char* text;
        size_t byte;
        const char* message;
    };
    for (const auto& [text, byte, message] :
         {Case{"{'a':1}", 1, "single quote"}, Case{"{\"a\":'b'}", 5, "single quote"},
          Case{"{\u201Ca\u201D:1}", 1, "not a straight double quote"},
          Case{"[\u2018a\u2019]", 1, "not a straight double quote"},
          Case{"// a\n{}", 0, "no comments"}, Case{"{ // a\n}", 2, "no comments"},
          Case{"[1 /* a */]", 3, "no comments"}, Case{"{\"a\":1 # a\n}", 7, "no comments"},
          Case{"{} // a", 3, "no comments"}}) {
        Document document;
        ParseError error;
        EXPECT_FALSE(document.parse(text, error));
        EXPECT_NE(error.message.find(message), std::string::npos) << text << error.message;
        EXPECT_EQ(error.byte, byte) << text;
    }
}

}  // namespace
