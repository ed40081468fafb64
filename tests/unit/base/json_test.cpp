// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/memory.hpp"

namespace {

using namespace narratoria::json;
using namespace std::string_literals;
using namespace std::string_view_literals;

// A text that ends kPadding bytes before memory that must not be touched.
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
        // Only the first byte of the padding is promised to be zero.
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

// The value written again, from the tape alone: strings decoded and encoded anew.
void rewrite(std::string& out, Value value) {
    if (value.is_object()) {
        ObjectWriter writer(out);
        for (const Member member : value.members()) {
            writer.key(member.key);
            rewrite(out, member.value);
        }
        writer.end();
    } else if (value.is_array()) {
        out += '[';
        bool first = true;
        for (const Value element : value.elements()) {
            if (!first) out += ',';
            first = false;
            rewrite(out, element);
        }
        out += ']';
    } else if (value.is_string()) {
        append_string(out, value.text());
    } else {
        out += value.raw();
    }
}

std::string rewritten(std::string_view text) {
    Document document;
    ParseError error;
    if (!document.parse(text, error)) return "refused: " + error.message;
    std::string out;
    rewrite(out, document.root());
    return out;
}

// What a value is, and that its own bytes are exactly what was written.
TEST(JsonTape, TellsEachTypeAndItsBytes) {
    struct Case {
        std::string_view text;
        Type type;
    };
    const Case cases[] = {
        {"null", Type::Null},
        {"true", Type::True},
        {"false", Type::False},
        {"0", Type::Number},
        {"-12.50e+3", Type::Number},
        {R"("")", Type::String},
        {R"("a \" b")", Type::String},
        {"[]", Type::Array},
        {"[ 1 , 2 ]", Type::Array},
        {"{}", Type::Object},
        {R"({ "a" : {} })", Type::Object},
    };
    for (const Case& each : cases) {
        for (const std::string& text :
             {std::string(each.text), "\n \t" + std::string(each.text) + "\r\n "}) {
            Document document;
            ParseError error;
            ASSERT_TRUE(document.parse(text, error)) << text << ": " << error.message;
            EXPECT_EQ(document.root().type(), each.type) << text;
            EXPECT_EQ(document.root().raw(), each.text);
        }
    }
}

TEST(JsonTape, GivesMembersInTheirOrderAndElementsInTheirs) {
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(R"({"z":1,"a":[true,[],{"b":null}],"m":{},"q":"x"})", error));
    std::string keys;
    for (const Member member : document.root().members()) keys += std::string(member.key) + " ";
    EXPECT_EQ(keys, "z a m q ");

    std::vector<std::string> elements;
    for (const Value element : document.root().find("a").elements()) {
        elements.emplace_back(element.raw());
    }
    EXPECT_EQ(elements, (std::vector<std::string>{"true", "[]", R"({"b":null})"}));
    EXPECT_TRUE(document.root().find("m").empty());
    EXPECT_FALSE(document.root().find("a").empty());
    EXPECT_FALSE(document.root().find("nobody"));
}

TEST(JsonTape, CountsTheLastOfDuplicateKeys) {
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(R"({"a":1,"b":2,"a":{"x":1},"\u0061":3})", error));
    EXPECT_EQ(document.root().find("a").raw(), "3");
}

TEST(JsonTape, DecodesEveryEscape) {
    struct Case {
        std::string_view text;
        std::string_view content;
    };
    const Case cases[] = {
        {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
        {R"("\u0041\u00e9\u20AC\ud83d\udd25")", "Aé€🔥"},
        {R"("\u0000")", "\0"sv},
        {R"("\u0022\u005c")", "\"\\"},
        {R"("a\nb\nc")", "a\nb\nc"},
        {R"("\u0031\u0032")", "12"},
        // Bytes over 0x7F right behind an escape, in front of one, and between two.
        {"\"\\né\"", "\né"},
        {"\"é\\n\"", "é\n"},
        {"\"\\t€\\t🔥\\t\"", "\t€\t🔥\t"},
        {"\"\\u00e9é\\ud83d\\udd25🔥\"", "éé🔥🔥"},
        {"\"plain text of more than sixteen bytes \\n and as much behind it, é too\"",
         "plain text of more than sixteen bytes \n and as much behind it, é too"},
    };
    for (const Case& each : cases) {
        Document document;
        ParseError error;
        ASSERT_TRUE(document.parse(each.text, error)) << each.text << ": " << error.message;
        EXPECT_EQ(document.root().text(), each.content) << each.text;
        EXPECT_EQ(document.root().raw(), each.text);
        // The same as a key and as a member.
        const std::string object =
            "{" + std::string(each.text) + ":" + std::string(each.text) + "}";
        ASSERT_TRUE(document.parse(object, error)) << object << ": " << error.message;
        const Value member = document.root().find(each.content);
        ASSERT_TRUE(member) << object;
        EXPECT_EQ(member.raw(), each.text);
    }
}

TEST(JsonTape, FindsTheBytesOfStringsWithEscapesWhereverTheyStand) {
    const std::string text =
        R"({"\n":"\n", "a" : [ "\t" , "\t", 1, "\t", {}, "\t", [], "\t" , null, "b", "\\\"" ],)"
        R"("\"":{"\r":"\r"},"end":"\u00e9"})";
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(text, error)) << error.message;
    const Value root = document.root();
    EXPECT_EQ(root.find("\n").raw(), R"("\n")");
    std::string elements;
    for (const Value element : root.find("a").elements()) {
        elements += element.raw();
        elements += ' ';
    }
    EXPECT_EQ(elements, R"("\t" "\t" 1 "\t" {} "\t" [] "\t" null "b" "\\\"" )");
    EXPECT_EQ(root.find("\"").find("\r").raw(), R"("\r")");
    EXPECT_EQ(root.find("end").raw(), R"("\u00e9")");
    // The bytes are those of the text, not a copy.
    EXPECT_EQ(root.find("end").raw().data(), document.text().data() + text.find(R"("\u00e9")"));
}

// Each string's bytes were once found by way of the one before it: a million of them was a million
// calls deep.
TEST(JsonTape, FindsTheBytesOfAMillionStringsWithEscapes) {
    std::string text = "[";
    for (int i = 0; i < 1000000; ++i) text += i == 0 ? R"("\n")" : R"(,"\n")";
    text += "]";
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(text, error)) << error.message;
    size_t count = 0;
    for (const Value element : document.root().elements()) {
        if (element.raw() != R"("\n")") FAIL() << "element " << count;
        ++count;
    }
    EXPECT_EQ(count, 1000000u);
}

TEST(JsonTape, IsWrittenAgainAsItWas) {
    for (const std::string_view text :
         {R"({"a":[1,2.50,-0,1e5,"x",{"b":[[],{}]}],"c":"é\n","d":true,"e":null})", R"([[[[[]]]]])",
          R"("")", R"({"":{"":""}})"}) {
        EXPECT_EQ(rewritten(text), text);
    }
}

TEST(JsonTape, IsUsedAgainForTheNextText) {
    Tape tape;
    ParseError error;
    const std::string padding(kPadding, '\0');
    const std::string large = "[" + std::string(200000, ' ') + "\"\\n\"" + "]" + padding;
    const std::string small = R"({"a":"\t"})" + padding;
    const std::string broken = "{}\0{}"s + padding;
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(tape.parse(std::string_view(large).substr(0, large.size() - kPadding), error));
        ASSERT_TRUE(tape.parse(std::string_view(small).substr(0, small.size() - kPadding), error));
        EXPECT_EQ(tape.root().find("a").text(), "\t");
        ASSERT_FALSE(tape.parse({broken.data(), broken.size() - kPadding}, error));
        EXPECT_EQ(tape.node_count(), 0u);
        tape.shrink();
        ASSERT_TRUE(tape.parse(std::string_view(small).substr(0, small.size() - kPadding), error));
    }
}

// Plain JSON has a reader of its own; a string with an escape in front of a value sends both to
// RapidJSON. The tapes must be the same, byte for byte of each value.
void expect_same_tape(Value plain, Value other, const std::string& text) {
    ASSERT_EQ(plain.type(), other.type()) << text;
    EXPECT_EQ(plain.raw(), other.raw()) << text;
    if (plain.is_object()) {
        auto their = other.members().begin();
        for (const Member member : plain.members()) {
            EXPECT_EQ(member.key, (*their).key) << text;
            expect_same_tape(member.value, (*their).value, text);
            ++their;
        }
        EXPECT_FALSE(their != other.members().end()) << text;
    } else if (plain.is_array()) {
        auto their = other.elements().begin();
        for (const Value element : plain.elements()) {
            expect_same_tape(element, *their, text);
            ++their;
        }
        EXPECT_FALSE(their != other.elements().end()) << text;
    } else if (plain.is_string() || plain.is_number()) {
        EXPECT_EQ(plain.text(), other.text()) << text;
    }
}

TEST(JsonTape, IsTheSameFromBothReaders) {
    for (const std::string text :
         {R"({})", R"([])", R"({"a":{}})", R"([[],[[]],{"":[]}])", R"("")", R"(-0)", R"(0.0)",
          R"( { "a" : [ 1 , -2.50 , true , false , null ] , "b" : "ä€🔥" } )",
          "{\"a\":\n\t[\r\n1]\n}", R"({"a":1,"a":2,"a":{"a":3}})",
          R"(123456789012345678901234567890)", R"({"0123456789abcdef":"0123456789abcdef"})"}) {
        const std::string both = R"(["\n",)" + text + "]";
        Document plain, other;
        ParseError error;
        ASSERT_TRUE(plain.parse(text, error)) << text << ": " << error.message;
        ASSERT_TRUE(other.parse(both, error)) << both << ": " << error.message;
        const auto elements = other.root().elements();
        auto second = elements.begin();
        ++second;
        expect_same_tape(plain.root(), *second, text);
    }
}

TEST(JsonNumber, IsKeptAsItWasWritten) {
    for (const std::string_view text :
         {"0", "-0", "0.0", "-0.0e-0", "1E5", "1e+5", "123456789012345678901234567890",
          "-99999999999999999999999999.5", "0.1000000000000000055511151231257827",
          "18446744073709551615", "18446744073709551616", "-9223372036854775808",
          "-9223372036854775809", "5e-324", "1e-400", "2.2250738585072011e-308"}) {
        const std::string array = "[" + std::string(text) + "," + std::string(text) + "]";
        EXPECT_EQ(rewritten(array), array);
    }
}

TEST(JsonNumber, IsAWholeNumberWhenItsValueIsOne) {
    struct Case {
        std::string_view text;
        std::optional<int64_t> integer;
        double number;
    };
    const Case cases[] = {
        {"0", 0, 0.0},
        {"-0", 0, 0.0},
        {"-0.0", 0, 0.0},
        {"42", 42, 42.0},
        {"2.0", 2, 2.0},
        {"2e3", 2000, 2000.0},
        {"25e-1", std::nullopt, 2.5},
        {"2.5", std::nullopt, 2.5},
        {"9223372036854775807", INT64_MAX, 9223372036854775807.0},
        {"-9223372036854775808", INT64_MIN, -9223372036854775808.0},
        {"9223372036854775808", std::nullopt, 9223372036854775808.0},
        {"1e18", std::nullopt, 1e18},
        {"1e-400", 0, 0.0},
    };
    for (const Case& each : cases) {
        Document document;
        ParseError error;
        ASSERT_TRUE(document.parse(each.text, error)) << each.text;
        EXPECT_EQ(document.root().integer(), each.integer) << each.text;
        EXPECT_EQ(document.root().number(), each.number) << each.text;
    }
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse("\"1\"", error));
    EXPECT_EQ(document.root().integer(), std::nullopt);
    EXPECT_EQ(document.root().number(), std::nullopt);
}

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

// A document of the runtime's own has those of others in it.
TEST(JsonDepth, IsTakenAFewLevelsDeeperWhereOnesOwn) {
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

TEST(JsonDepth, IsTakenUpTo512Levels) {
    Document document;
    ParseError error;
    EXPECT_TRUE(document.parse(nested(512), error)) << error.message;
    EXPECT_EQ(document.root().raw().size(), 1024u);

    for (const size_t levels : {size_t{513}, size_t{10000}, size_t{1000000}}) {
        ASSERT_FALSE(document.parse(nested(levels), error));
        EXPECT_EQ(error.kind, ParseError::Kind::TooDeep);
        EXPECT_EQ(error.byte, 512u) << "the bracket that is one too many";
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

TEST_P(JsonRefusal, NamesTheKindTheByteAndTheReason) {
    Document document;
    ParseError error;
    ASSERT_FALSE(document.parse(GetParam().text, error)) << GetParam().text;
    EXPECT_EQ(error.kind, GetParam().kind) << rule_of(error.kind) << ": " << error.message;
    EXPECT_EQ(error.byte, GetParam().byte) << error.message;
    EXPECT_EQ(error.message, GetParam().message);
    // And in memory that ends right behind the padding.
    const TextBeforeGuard guarded(GetParam().text);
    Tape tape;
    ParseError again;
    ASSERT_FALSE(tape.parse(guarded.text(), again));
    EXPECT_EQ(again.byte, error.byte);
}

const char* const kEndsEarly = "the text ends in the middle of a value";
const char* const kNul = "a NUL byte stands in the text";
const char* const kControl =
    "a control character stands in the text; inside a string write it as \\u00XX";
const char* const kLineBreak =
    "a line break or tab stands inside a string; write it as \\n, \\r or \\t";
const char* const kNotUtf8 = "the bytes are not UTF-8";
const char* const kHalfInText = "the string holds half of a surrogate pair";
const char* const kHalfInEscape = "a \\u escape is half of a surrogate pair";
const char* const kNothing = "there is no JSON value";
const char* const kMore = "something follows the JSON value; there must be one value and no more";
const char* const kBom = "the text begins with a byte order mark; UTF-8 needs none, leave it out";

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
        // The first of several faults, also when the string is never closed.
        Refused{"\"\xFF", Kind::InvalidUtf8, 1, kNotUtf8},
        // A multi-byte character cut by the end of a string is not completed by what follows.
        Refused{"[\"\xC3\",\"\xA9\"]", Kind::InvalidUtf8, 2, kNotUtf8},
        Refused{"\"\xED\xA0\xBD\"", Kind::LoneSurrogate, 1, kHalfInText},
        Refused{"\"ab\xED\xBF\xBF\"", Kind::LoneSurrogate, 3, kHalfInText},
        Refused{R"("ab\ud83d")", Kind::LoneSurrogate, 3, kHalfInEscape},
        Refused{R"("\ud83d\n")", Kind::LoneSurrogate, 1, kHalfInEscape},
        Refused{R"("\ud83d\u0041")", Kind::LoneSurrogate, 1, kHalfInEscape},
        Refused{R"("ab\udc00")", Kind::LoneSurrogate, 3, kHalfInEscape},
        Refused{R"("\ud83d\udd25\\\udc00")", Kind::LoneSurrogate, 15, kHalfInEscape},
        // Halves in the wrong order: the reader stops at the high one.
        Refused{R"("é\udd25\ud83d")", Kind::LoneSurrogate, 9, kHalfInEscape},
        Refused{R"({"\udfff":1})", Kind::LoneSurrogate, 2, kHalfInEscape}));

// The rest of the grammar: that it is refused, and where, whatever the words.
TEST(JsonSyntax, IsRefusedWhereItBreaks) {
    struct Case {
        std::string_view text;
        size_t byte;
    };
    const Case cases[] = {
        {"{'a':1}", 1},  {"{a:1}", 1},  {R"({"a":1,})", 7}, {"[1,]", 3},        {R"({"a" 1})", 5},
        {"[1 2]", 3},    {"[01]", 2},   {"[+1]", 1},        {"[.5]", 1},        {"[1.]", 3},
        {"[1e]", 3},     {"[1e+]", 4},  {"[--1]", 2},       {"[NaN]", 1},       {"[Infinity]", 1},
        {"[nul]", 4},    {"[True]", 1}, {R"("\x41")", 1},   {R"("\u12g4")", 1}, {"// a\n{}", 0},
        {"{} /* */", 3}, {"}", 0},      {"{]", 1},          {",", 0},
    };
    for (const Case& each : cases) {
        Document document;
        ParseError error;
        EXPECT_FALSE(document.parse(each.text, error)) << each.text;
        EXPECT_EQ(error.byte, each.byte) << each.text << ": " << error.message;
        EXPECT_FALSE(error.message.empty());
    }
}

TEST(JsonRules, HaveANameOfTheirOwnEach) {
    std::vector<std::string> names;
    for (const Kind kind :
         {Kind::Syntax, Kind::Empty, Kind::TrailingContent, Kind::ByteOrderMark, Kind::InvalidUtf8,
          Kind::LoneSurrogate, Kind::TooDeep, Kind::NumberTooBig, Kind::TooLarge}) {
        names.emplace_back(rule_of(kind));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"json-syntax", "json-empty", "json-one-value",
                                               "json-no-bom", "json-utf8", "json-no-lone-surrogate",
                                               "json-depth", "json-number-range", "json-size"}));
}

// The bytes behind the padding are never touched: of texts of every length, so that the end falls
// on each place of the wide loads, plain, with escapes and beyond ASCII.
TEST(JsonPadding, IsAllThatIsReadBehindTheText) {
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

TEST(JsonWriting, EscapesWhatMustBe) {
    struct Case {
        std::string_view text;
        std::string_view json;
    };
    const Case cases[] = {
        {"", R"("")"},
        {"plain é 🔥", R"("plain é 🔥")"},
        {"a\"b\\c/d", R"("a\"b\\c/d")"},
        {"\n\r\t\b\f", R"("\n\r\t\b\f")"},
        {"\0\x01\x1F\x7F"sv, R"("\u0000\u0001\u001f\u007f")"},
        {"a\xFF\xC3", "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (const Case& each : cases) {
        std::string out;
        append_string(out, each.text);
        EXPECT_EQ(out, each.json);
    }
}

TEST(JsonWriting, EveryTextComesBackAsItWas) {
    std::string all;
    for (char32_t code = 0; code < 0x300; ++code) {
        if (code < 0x80) {
            all += static_cast<char>(code);
        } else {
            all += static_cast<char>(0xC0 | (code >> 6));
            all += static_cast<char>(0x80 | (code & 0x3F));
        }
    }
    std::string json;
    append_string(json, all);
    Document document;
    ParseError error;
    ASSERT_TRUE(document.parse(json, error)) << error.message;
    EXPECT_EQ(document.root().text(), all);
}

TEST(JsonWriting, ObjectsOfEveryKindOfMember) {
    std::string out = "x";
    ObjectWriter writer(out);
    writer.string("a\"", "b\n").number("n", INT64_MIN).boolean("t", true).boolean("f", false);
    writer.raw("r", "[1]").key("k");
    out += "null";
    writer.end();
    EXPECT_EQ(out,
              R"(x{"a\"":"b\n","n":-9223372036854775808,"t":true,"f":false,"r":[1],"k":null})");
    out.clear();
    ObjectWriter(out).end();
    EXPECT_EQ(out, "{}");
}

TEST(JsonWriting, CompactTextIsOneLineWithStringsUntouched) {
    std::string out;
    append_compact(out, "{ \"a b\" :\n [ 1 ,\t\"\\\" x\\\\\" ] ,\r\n \"c\":{ } }");
    EXPECT_EQ(out, R"({"a b":[1,"\" x\\"],"c":{}})");
}

TEST(JsonPointer, EscapesTildeAndSlash) {
    std::string pointer;
    append_pointer(pointer, "a/b~c");
    append_pointer(pointer, size_t{12});
    append_pointer(pointer, "");
    EXPECT_EQ(pointer, "/a~1b~0c/12/");
}

TEST(JsonPosition, CountsLinesAndCharactersFromOne) {
    const std::string_view text = "ab\né€x\n\nz";
    struct Case {
        size_t byte, line, column;
    };
    const Case cases[] = {{0, 1, 1}, {2, 1, 3},  {3, 2, 1},  {5, 2, 2},  {8, 2, 3},
                          {9, 2, 4}, {10, 3, 1}, {11, 4, 1}, {12, 4, 2}, {999, 4, 2}};
    for (const Case& each : cases) {
        const Position position = position_of(text, each.byte);
        EXPECT_EQ(position.line, each.line) << each.byte;
        EXPECT_EQ(position.column, each.column) << each.byte;
    }
}

TEST(Document, TakesMemoryForItsTextAndItsValues) {
    const std::string text = '"' + std::string(300000, 'x') + '"';
    const narratoria::hostile::MemoryGrowth memory;
    std::vector<std::unique_ptr<Document>> all;
    for (int i = 0; i < 50; ++i) {
        all.push_back(std::make_unique<Document>());
        ParseError error;
        ASSERT_TRUE(all.back()->parse(text, error)) << error.message;
    }
    memory.expect_at_most_mebibytes(20);
}

}  // namespace
