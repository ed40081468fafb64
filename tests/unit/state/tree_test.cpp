// SPDX-License-Identifier: Apache-2.0
#include "state/tree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "conformance/cases.hpp"
#include "support/memory.hpp"
#include "unit/base/json/document.hpp"
#include "unit/state/random_documents.hpp"

namespace {

using namespace narratoria;
using state::Overlap;
using state::Tree;
using state::Writer;
using test::parse_json;

std::string text_of(const Tree& tree) {
    std::string out;
    tree.append_json(out);
    return out;
}

void merge(Tree& tree, std::string_view patch, Writer writer = 0,
           const Overlap* overlap = nullptr) {
    tree.merge(parse_json(patch)->root(), writer, overlap);
}

Tree tree_of(std::string_view text) {
    Tree tree;
    tree.assign(parse_json(text)->root());
    return tree;
}

std::string merged(std::string_view target, std::string_view patch) {
    Tree tree = tree_of(target);
    merge(tree, patch);
    return text_of(tree);
}

// ---------------------------------------------------------------- merging

// covers: 000-4.2-merge-deep, 000-4.2-merge-objects, 000-4.2-merge-arrays, 000-4.2-merge-null
TEST(Merge, MatchesTheAppendixOfRfc7396) {
    for (const test::Json& each : test::cases("merge-patch")["cases"].elements()) {
        EXPECT_EQ(merged(each["state"].text(), each["patch"].text()), each["result"].text())
            << each["patch"];
    }
}

// covers: 000-4.2-merge-example
TEST(Merge, MatchesTheExampleOfTheSpecification) {
    EXPECT_EQ(merged(R"({"a":{"b":1,"c":2}})", R"({"a":{"c":3,"d":4}})"),
              R"({"a":{"b":1,"c":3,"d":4}})");
}

// covers: 000-4.2-only-changes
TEST(Merge, LeavesOtherKeysUnchanged) {
    EXPECT_EQ(merged(R"({"a":{"b":[1,{"x":null}],"c":{"d":1.50}},"e":null,"f":"\u00e9"})",
                     R"({"a":{"c":{"n":true}}})"),
              R"({"a":{"b":[1,{"x":null}],"c":{"d":1.50,"n":true}},"e":null,"f":"\u00e9"})");
    EXPECT_EQ(merged(R"({"a":1})", "{}"), R"({"a":1})");
}

// covers: 000-4.2-merge-arrays
TEST(Merge, KeepsArraysVerbatimIncludingNulls) {
    EXPECT_EQ(merged(R"({"a":[1,2,3]})", R"({"a":[null,{"b":null},[ ]]})"),
              R"({"a":[null,{"b":null},[ ]]})");
    EXPECT_EQ(merged(R"({"a":{"b":1}})", R"({"a":[]})"), R"({"a":[]})");
    EXPECT_EQ(merged(R"({"a":[{"b":1}]})", R"({"a":{"b":null,"c":1}})"), R"({"a":{"c":1}})");
}

// covers: 000-4.2-merge-null
TEST(Merge, NullRemovesAnyValue) {
    EXPECT_EQ(merged(R"({"a":{"b":{"c":1}},"d":[1]})", R"({"a":{"b":null},"d":null})"),
              R"({"a":{}})");
    EXPECT_EQ(merged(R"({"a":1})", R"({"b":null,"c":{"d":null}})"), R"({"a":1,"c":{}})");
    EXPECT_EQ(merged(R"({"a":null})", R"({"a":null})"), "{}");
}

TEST(Merge, KeepsTheNotationOfNumbersAndStrings) {
    const std::string_view text =
        R"({"a":1.50,"b":-0,"c":1e5,"d":123456789012345678901234567890,"e":"\u0041\/\n",)"
        R"("f":"a string of more than fourteen bytes","g":"","h":"é🔥"})";
    EXPECT_EQ(merged("{}", text), text);
    EXPECT_EQ(merged(text, text), text);
}

TEST(Merge, ComparesKeysAfterDecodingEscapes) {
    EXPECT_EQ(merged(R"({"A":1,"é":2})", R"({"\u0041":3,"\u00e9":4})"), R"({"A":3,"é":4})");
    EXPECT_EQ(merged(R"({"a\nb":1})", R"({"a\u000ab":2})"), R"({"a\nb":2})");
    EXPECT_EQ(merged(R"({"":1})", R"({"":{"":2}})"), R"({"":{"":2}})");
    EXPECT_EQ(merged(R"({"\u0000":1,"\u0000\u0000":2})", R"({"\u0000":null})"),
              R"({"\u0000\u0000":2})");
}

TEST(Merge, DistinguishesKeysAroundTheInlineLength) {
    std::string patch = "{";
    std::string key;
    for (int length = 0; length <= 40; ++length) {
        patch += (length == 0 ? "\"" : ",\"") + key + "\":" + std::to_string(length);
        key += 'k';
    }
    patch += "}";
    EXPECT_EQ(merged("{}", patch), patch);
    EXPECT_EQ(merged(patch, patch), patch);
    Tree tree = tree_of(patch);
    std::string value;
    bool malformed = false;
    EXPECT_TRUE(tree.read("/" + std::string(14, 'k'), value, malformed));
    EXPECT_EQ(value, "14");
}

TEST(Merge, LastDuplicateKeyWins) {
    EXPECT_EQ(merged("{}", R"({"a":1,"b":2,"a":3})"), R"({"b":2,"a":3})");
    EXPECT_EQ(merged(R"({"a":{"x":1}})", R"({"a":{"y":1},"a":{"z":1}})"), R"({"a":{"x":1,"z":1}})")
        << "the earlier member is ignored";
    EXPECT_EQ(merged(R"({"a":1})", R"({"a":null,"a":2})"), R"({"a":2})");
    EXPECT_EQ(merged(R"({"a":1})", R"({"a":2,"a":null})"), "{}");
    EXPECT_EQ(merged("{}", R"({"o":{"a":1,"\u0061":2}})"), R"({"o":{"a":2}})");
    std::string many = "{";
    for (int i = 0; i < 50; ++i) many += "\"a\":" + std::to_string(i) + ",\"b\":0,";
    EXPECT_EQ(merged("{}", many + "\"c\":1}"), R"({"a":49,"b":0,"c":1})");
}

TEST(Merge, KeepsTheOrderOfInsertion) {
    Tree tree;
    merge(tree, R"({"z":1,"a":2,"m":3})");
    merge(tree, R"({"m":4,"b":5,"z":6})");
    EXPECT_EQ(text_of(tree), R"({"z":6,"a":2,"m":4,"b":5})");
    merge(tree, R"({"z":null})");
    merge(tree, R"({"z":7})");
    EXPECT_EQ(text_of(tree), R"({"a":2,"m":4,"b":5,"z":7})")
        << "a key that is added again comes last";
}

TEST(Merge, ChangesTheTypeOfAValue) {
    Tree tree;
    for (const char* value : {"1", "\"x\"", "{\"b\":{\"c\":1}}", "[1]", "{\"d\":2}", "true", "{}",
                              "\"a string of more than fourteen bytes\"", "false"}) {
        const std::string patch = std::string("{\"a\":") + value + "}";
        if (value[0] == '{') merge(tree, R"({"a":null})");
        merge(tree, patch);
        EXPECT_EQ(text_of(tree), patch);
    }
}

TEST(Merge, AcceptsAStringWithAnEscapeInEveryPlace) {
    std::string patch = "{";
    for (int i = 0; i < 200000; ++i) {
        patch += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\\n\":\"\\n\"";
    }
    patch += "}";
    EXPECT_EQ(merged("{}", patch), patch);
}

TEST(Merge, MergesToTheMaximumDepth) {
    std::string deep = "1";
    for (int i = 0; i < 511; ++i) deep = "{\"a\":" + deep + ",\"b\":[]}";
    EXPECT_EQ(merged("{}", deep), deep);
    EXPECT_EQ(merged(deep, deep), deep);
    std::string remove = "null";
    for (int i = 0; i < 511; ++i) remove = "{\"a\":" + remove + "}";
    Tree tree = tree_of(deep);
    merge(tree, remove);
    EXPECT_EQ(text_of(tree).find('1'), std::string::npos);
}

TEST(Merge, AddsAndRemovesAHundredThousandKeys) {
    constexpr int kKeys = 100000;
    Tree tree;
    auto key = [](int i) { return "key number " + std::to_string(i); };
    for (int from = 0; from < kKeys; from += 1000) {
        std::string patch = "{";
        for (int i = from; i < from + 1000; ++i) {
            patch += (i == from ? "\"" : ",\"") + key(i) + "\":" + std::to_string(i);
        }
        merge(tree, patch + "}");
    }
    EXPECT_EQ(tree.size(), size_t{kKeys});
    for (int i = 0; i < kKeys; i += 2) merge(tree, "{\"" + key(i) + "\":null}");
    EXPECT_EQ(tree.size(), size_t{kKeys / 2});
    for (int i = 0; i < kKeys; ++i) {
        std::string value;
        bool malformed = false;
        ASSERT_EQ(tree.read("/" + key(i), value, malformed), i % 2 == 1) << i;
        if (i % 2 == 1) {
            ASSERT_EQ(value, std::to_string(i));
        }
    }
    // Removed keys free space: adding and removing keys forever does not grow the index.
    for (int round = 0; round < 50000; ++round) {
        merge(tree, "{\"" + key(round * 2) + "\":1,\"" + key(round * 2 - 2) + "\":null}");
    }
    EXPECT_EQ(tree.size(), size_t{kKeys / 2 + 1});
}

// ---------------------------------------------------------------- against a reference

// The simplest merge: RFC 7396 over maps, with values kept as text.
struct Reference {
    bool is_object = false;
    std::string text;
    std::map<std::string, Reference> members;

    static Reference of(json::Value value) {
        Reference reference;
        reference.is_object = value.is_object();
        if (!reference.is_object) {
            reference.text = value.raw();
            return reference;
        }
        for (const json::Member member : value.members()) {
            reference.members[std::string(member.key)] = of(member.value);
        }
        return reference;
    }

    void merge(const Reference& patch) {
        if (!patch.is_object) {
            *this = patch;
            return;
        }
        if (!is_object) {
            *this = Reference();
            is_object = true;
        }
        for (const auto& [key, value] : patch.members) {
            if (!value.is_object && value.text == "null") members.erase(key);
            else members[key].merge(value);
        }
    }

    std::string canonical() const {
        if (!is_object) return text;
        std::string out = "{";
        for (const auto& [key, value] : members) {
            json::append_string(out, key);
            out += ":" + value.canonical() + ",";
        }
        return out + "}";
    }
};

// covers: 000-4.2-merge-deep
TEST(Merge, MatchesTheReference) {
    for (uint32_t seed = 0; seed < 150; ++seed) {
        test::RandomDocuments documents(seed);
        const std::string start = documents.object(4);
        Tree tree = tree_of(start);
        Reference reference = Reference::of(parse_json(start)->root());
        for (int round = 0; round < 12; ++round) {
            const std::string patch = documents.object(round % 5);
            const auto parsed = parse_json(patch);
            state::Patch prepared;
            prepared.prepare(parsed->root());
            const uint64_t foretold = tree.json_bytes_after(prepared);
            tree.merge(prepared);
            ASSERT_EQ(tree.json_bytes(), foretold) << "seed " << seed << ", patch " << patch;
            reference.merge(Reference::of(parse_json(patch)->root()));
            const std::string written = text_of(tree);
            // The size that is tracked equals the size that is measured.
            ASSERT_EQ(tree.json_bytes(), tree_of(written).json_bytes()) << "seed " << seed;
            ASSERT_EQ(tree.clone().json_bytes(), tree.json_bytes());
            ASSERT_EQ(Reference::of(parse_json(written)->root()).canonical(), reference.canonical())
                << "seed " << seed << ", patch " << patch;
        }
    }
}

uint64_t digest_of(std::string_view text) {
    Tree tree = tree_of(text);
    tree.keep_digest();
    return tree.digest();
}

TEST(Digest, MatchesTheMergedState) {
    for (uint32_t seed = 0; seed < 150; ++seed) {
        test::RandomDocuments documents(seed);
        Tree tree = tree_of(documents.object(4));
        tree.keep_digest();
        Overlap overlap;
        overlap.oldest = 0;
        overlap.written_before = [](std::string_view, Writer) {};
        for (int round = 0; round < 12; ++round) {
            const std::string patch = documents.object(round % 5);
            merge(tree, patch, 1, seed % 2 == 0 ? &overlap : nullptr);
            ASSERT_EQ(tree.digest(), digest_of(text_of(tree)))
                << "seed " << seed << ", patch " << patch;
        }
        ASSERT_EQ(tree.clone().digest(), tree.digest());
    }
}

TEST(Digest, DoesNotDependOnTheOrderOfKeys) {
    EXPECT_EQ(digest_of(R"({"a":{"b":1,"c":2},"d":"x"})"),
              digest_of(R"({"d":"x","a":{"c":2,"b":1}})"));
}

TEST(Digest, DiffersWithEveryValueKindAndPlace) {
    const std::vector<std::string> states = {"{}",
                                             R"({"a":{}})",
                                             R"({"a":[]})",
                                             R"({"a":""})",
                                             R"({"a":"1"})",
                                             R"({"a":1})",
                                             R"({"a":2})",
                                             R"({"b":1})",
                                             R"({"a":null})",
                                             R"({"a":{"b":1}})",
                                             R"({"a":{"a":1}})",
                                             R"({"a":{"b":{}}})",
                                             R"({"a":"null"})",
                                             R"({"a":1,"b":2})",
                                             R"({"a":2,"b":1})",
                                             R"({"a/b":1})"};
    std::map<uint64_t, std::string> known;
    for (const std::string& state : states) {
        const auto [place, is_new] = known.emplace(digest_of(state), state);
        EXPECT_TRUE(is_new) << state << " and " << place->second;
    }
}

// Stores keep digests: changing the algorithm needs a new version of the store's format.
TEST(Digest, NeverChanges) {
    EXPECT_EQ(digest_of(R"({"inventory":{"torch":{"lit":true}},"n":[1,2],"name":"\u00e9"})"),
              6763447289809989430u);
}

// Reporting overlaps does not change the merge.
TEST(Merge, GivesTheSameResultWithOverlapReports) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        test::RandomDocuments documents(seed);
        Tree quiet, asked;
        Overlap overlap;
        overlap.oldest = 0;
        size_t reports = 0;
        overlap.written_before = [&](std::string_view, Writer) { ++reports; };
        for (Writer writer = 1; writer < 12; ++writer) {
            const std::string patch = documents.object(3);
            merge(quiet, patch, writer);
            merge(asked, patch, writer, &overlap);
            ASSERT_EQ(text_of(asked), text_of(quiet)) << "seed " << seed;
            ASSERT_EQ(asked.json_bytes(), tree_of(text_of(asked)).json_bytes()) << "seed " << seed;
        }
    }
}

// ---------------------------------------------------------------- whole trees

TEST(Assign, KeepsNullsOfTheDocument) {
    Tree tree = tree_of(R"({"x":1})");
    tree.assign(parse_json(R"({"a":null,"b":{"c":null,"d":[null]},"b2":"\n","a2":1,"a2":{"y":2}})")
                    ->root());
    EXPECT_EQ(text_of(tree), R"({"a":null,"b":{"c":null,"d":[null]},"b2":"\n","a2":{"y":2}})");
    EXPECT_EQ(tree.size(), 4u);
    tree.assign(parse_json(" { } ")->root());
    EXPECT_EQ(text_of(tree), "{}");
    EXPECT_TRUE(tree.empty());
}

TEST(Assign, AcceptsEveryDocument) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const std::string text = test::RandomDocuments(seed).object(5);
        const Tree tree = tree_of(text);
        ASSERT_EQ(Reference::of(parse_json(text_of(tree))->root()).canonical(),
                  Reference::of(parse_json(text)->root()).canonical());
    }
}

TEST(Tree, TracksTheSizeOfItsJson) {
    EXPECT_EQ(Tree().json_bytes(), 2u);
    Tree tree = tree_of(R"({"a":{"b":[1,2]},"s":"text"})");
    const uint64_t bytes = tree.json_bytes();
    // One more comma for each object that has members.
    EXPECT_EQ(bytes, text_of(tree).size() + 2);
    merge(tree, R"({"a":"gone","s":{"t":{"u":1}},"n":null})");
    merge(tree, R"({"s":null})");
    EXPECT_EQ(tree.json_bytes(), std::string(R"({"a":"gone"})").size() + 1);
    Tree moved = std::move(tree);
    EXPECT_EQ(moved.json_bytes(), std::string(R"({"a":"gone"})").size() + 1);
    moved.clear();
    EXPECT_EQ(moved.json_bytes(), 2u);
}

TEST(Tree, IsEmptyAtFirstAndAfterClearing) {
    Tree tree;
    EXPECT_EQ(text_of(tree), "{}");
    merge(tree, R"({"a":{"b":1}})");
    tree.clear();
    EXPECT_EQ(text_of(tree), "{}");
    merge(tree, R"({"a":2})");
    EXPECT_EQ(text_of(tree), R"({"a":2})");
}

TEST(Tree, MovesWithItsContent) {
    Tree first = tree_of(R"({"a":1})");
    Tree second(std::move(first));
    EXPECT_EQ(text_of(second), R"({"a":1})");
    Tree third = tree_of(R"({"b":2})");
    third = std::move(second);
    EXPECT_EQ(text_of(third), R"({"a":1})");
}

// ---------------------------------------------------------------- reading

struct Read {
    bool found;
    bool malformed;
    std::string value;
    bool operator==(const Read& other) const {
        return found == other.found && malformed == other.malformed && value == other.value;
    }
    friend void PrintTo(const Read& read, std::ostream* out) {
        *out << (read.found ? "found " : read.malformed ? "malformed " : "missing ") << read.value;
    }
};

Read read(const Tree& tree, std::string_view pointer) {
    Read result{};
    result.found = tree.read(pointer, result.value, result.malformed);
    return result;
}

TEST(Read, FollowsAJsonPointer) {
    const Tree tree = tree_of(
        R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,)"
        R"("m~n":8,"o":{"p":{"q":[[1,{"r":"\u00e9"}]]},"":{"":9}},"s":"text","~1":10,"0":11})");
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"/foo", R"(["bar","baz"])"},
        {"/foo/0", R"("bar")"},
        {"/foo/1", R"("baz")"},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
        {"/~01", "10"},
        {"/0", "11"},
        {"/o/p/q/0/0", "1"},
        {"/o/p/q/0/1/r", R"("\u00e9")"},
        {"/o//", "9"},
        {"/o/p", R"({"q":[[1,{"r":"\u00e9"}]]})"},
        {"/s", R"("text")"}};
    for (const auto& [pointer, value] : cases) {
        EXPECT_EQ(read(tree, pointer), (Read{true, false, std::string(value)})) << pointer;
    }
    EXPECT_EQ(read(tree, "").value, text_of(tree));
}

TEST(Part, HasOnlyTheValuesAtThePointersInTheirPlaces) {
    Tree tree;
    json::Document document;
    json::ParseError error;
    ASSERT_TRUE(document.parse(
        R"({"torch":{"lit":true,"oil":null},"player":{"name":"Ada","items":["rope"]},"x":1})",
        error));
    tree.assign(document.root());
    EXPECT_EQ(tree.part({"/torch", "/player/name"}),
              R"({"torch":{"lit":true,"oil":null},"player":{"name":"Ada"}})");
    EXPECT_EQ(tree.part({"/torch/lit", "/torch/oil", "/no", "/x/y"}),
              R"({"torch":{"lit":true,"oil":null}})");
    EXPECT_EQ(tree.part({"/player/items/0"}), R"({"player":{"items":{"0":"rope"}}})");
    EXPECT_EQ(
        tree.part({"/x", ""}),
        R"({"x":1,"torch":{"lit":true,"oil":null},"player":{"name":"Ada","items":["rope"]}})");
    EXPECT_EQ(tree.part({}), "{}");
}

TEST(Read, DistinguishesMissingFromMalformed) {
    const Tree tree = tree_of(R"({"a":{"b":[1,2]},"s":"text","n":1,"z":null})");
    for (const char* missing :
         {"/x", "/a/x", "/a/b/2", "/a/b/-", "/a/b/01", "/a/b/1.0", "/a/b/", "/a/b/+1", "/a/b/-1",
          "/a/b/99999999999999999999", "/a/b/0/x", "/s/0", "/n/x", "/a/", "/x/y/z", "/z/x", "/"}) {
        EXPECT_EQ(read(tree, missing), (Read{false, false, ""})) << missing;
    }
    EXPECT_EQ(read(tree, "/z"), (Read{true, false, "null"}));
    // Whatever the pointer's prefix leads to, and whatever comes before the fault.
    for (const char* malformed : {"a", "a/b", "/~", "/~2", "/a~", "/x/~", "/a/b/~", "/a/b/9/~2",
                                  "/s/x/~", "/n/~x", "/a/b/0/x/~3"}) {
        EXPECT_EQ(read(tree, malformed), (Read{false, true, ""})) << malformed;
    }
}

// ---------------------------------------------------------------- overlaps

class Overlaps {
public:
    explicit Overlaps(Writer oldest = 1) {
        overlap_.oldest = oldest;
        overlap_.written_before = [this](std::string_view path, Writer earlier) {
            if (!reports_.empty()) reports_ += ' ';
            reports_ += std::string(path) + "<-" + std::to_string(earlier);
        };
    }

    // The overlaps that a writer's patch causes.
    std::string merge(Tree& tree, std::string_view patch, Writer writer) {
        reports_.clear();
        ::merge(tree, patch, writer, &overlap_);
        return reports_;
    }

private:
    Overlap overlap_;
    std::string reports_;
};

TEST(OverlapReport, NamesThePathAndTheEarlierWriter) {
    Tree tree;
    Overlaps overlaps;
    EXPECT_EQ(overlaps.merge(tree, R"({"a":{"b":1,"c":2}})", 1), "");
    EXPECT_EQ(overlaps.merge(tree, R"({"a":{"d":3}})", 2), "") << "the keys differ";
    EXPECT_EQ(overlaps.merge(tree, R"({"a":{"c":4}})", 2), "/a/c<-1");
    EXPECT_EQ(overlaps.merge(tree, R"({"a":{"c":5,"b":6}})", 1), "/a/c<-2")
        << "a writer does not overlap itself";
    EXPECT_EQ(overlaps.merge(tree, R"({"x/y":{"~":1}})", 1), "");
    EXPECT_EQ(overlaps.merge(tree, R"({"x/y":{"~":2}})", 2), "/x~1y/~0<-1");
}

TEST(OverlapReport, IgnoresWritersThatEndedBefore) {
    Tree tree;
    Overlaps overlaps(3);
    merge(tree, R"({"a":1,"b":{"c":1}})", 2);
    EXPECT_EQ(overlaps.merge(tree, R"({"a":2,"b":3})", 4), "");
    EXPECT_EQ(overlaps.merge(tree, R"({"a":3})", 3), "/a<-4");
}

TEST(OverlapReport, NamesEverythingBelowAReplacedObject) {
    Tree tree;
    Overlaps overlaps;
    overlaps.merge(tree, R"({"a":{"b":{"c":1,"d":[]},"e":2}})", 1);
    overlaps.merge(tree, R"({"a":{"f":3}})", 2);
    Tree copy = tree_of(text_of(tree));
    EXPECT_EQ(overlaps.merge(tree, R"({"a":7})", 3), "/a/b/c<-1 /a/b/d<-1 /a/e<-1 /a/f<-2");
    EXPECT_EQ(overlaps.merge(tree, R"({"a":null})", 1), "/a<-3");

    Tree removed;
    overlaps.merge(removed, R"({"a":{"b":{"c":1}}})", 1);
    EXPECT_EQ(overlaps.merge(removed, R"({"a":null})", 2), "/a/b/c<-1");
}

TEST(OverlapReport, NamesAnEmptyObject) {
    Tree tree;
    Overlaps overlaps;
    overlaps.merge(tree, R"({"a":{},"b":{"c":{}}})", 1);
    EXPECT_EQ(overlaps.merge(tree, R"({"a":1,"b":2})", 2), "/a<-1 /b/c<-1");
}

TEST(OverlapReport, NamesAValueThatBecomesAnObject) {
    Tree tree;
    Overlaps overlaps;
    overlaps.merge(tree, R"({"a":1})", 1);
    EXPECT_EQ(overlaps.merge(tree, R"({"a":{"b":2}})", 2), "/a<-1");
    EXPECT_EQ(overlaps.merge(tree, R"({"a":{"b":3}})", 1), "/a/b<-2");
}

TEST(OverlapReport, NamesTheWriterThatRemoved) {
    Tree tree;
    Overlaps overlaps;
    overlaps.merge(tree, R"({"a":1,"b":{"c":1,"d":1}})", 1);
    EXPECT_EQ(overlaps.merge(tree, R"({"a":null})", 2), "/a<-1");
    EXPECT_EQ(overlaps.merge(tree, R"({"a":2})", 1), "/a<-2") << "writer 2 removed it meanwhile";
    EXPECT_EQ(overlaps.merge(tree, R"({"a":3})", 1), "") << "a removal is reported once";

    EXPECT_EQ(overlaps.merge(tree, R"({"b":{"c":null}})", 2), "/b/c<-1");
    EXPECT_EQ(overlaps.merge(tree, R"({"b":7})", 3), "/b/d<-1 /b/c<-2")
        << "a value replaces the object and overwrites the removal below it";

    EXPECT_EQ(overlaps.merge(tree, R"({"b":null})", 2), "/b<-3");
    tree.forget_removals();
    EXPECT_EQ(overlaps.merge(tree, R"({"b":1})", 3), "");
}

TEST(OverlapReport, RemovalsAreRecordedOnlyOnRequest) {
    Tree tree;
    merge(tree, R"({"a":1,"b":2})", 1);
    merge(tree, R"({"a":2,"b":null})", 2);
    Overlaps overlaps;
    EXPECT_EQ(overlaps.merge(tree, R"({"b":1})", 3), "")
        << "removals are recorded only for overlap reports";
    EXPECT_EQ(overlaps.merge(tree, R"({"a":3})", 3), "/a<-2") << "the last writer is always known";
}

// The elements of an array are not members.
TEST(Patch, UsesMemoryOnlyForItsMembers) {
    std::string text = R"({"a":[1)";
    for (int i = 0; i < 1000000; ++i) text += ",1";
    text += "]}";
    json::Document document;
    json::ParseError error;
    ASSERT_TRUE(document.parse(text, error)) << error.message;
    const hostile::MemoryGrowth memory;
    state::Patch patch;
    patch.prepare(document.root());
    memory.expect_at_most_mebibytes(2);
}

}  // namespace
