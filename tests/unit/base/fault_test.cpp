// SPDX-License-Identifier: Apache-2.0
#include "base/fault.hpp"

#include <gtest/gtest.h>

#include "base/json/tape.hpp"

namespace {

using namespace narratoria;

TEST(Fault, HasLineAndColumnOfItsByte) {
    const Faults faults = {{"rule-a", "/tools/0", 6, "é is wrong", ""},
                           {"rule-b", "", 0, "\"quoted\"", ""}};
    std::string out = "x";
    append_faults(out, faults, "ab\né\nz");
    EXPECT_EQ(out, R"(x[{"line":3,"column":1,"byte":6,"pointer":"/tools/0","rule":"rule-a",)"
                   R"("message":"é is wrong"},)"
                   R"({"line":1,"column":1,"byte":0,"pointer":"","rule":"rule-b",)"
                   R"("message":"\"quoted\""}])");
    out.clear();
    append_faults(out, {}, "");
    EXPECT_EQ(out, "[]");
}

TEST(Fault, FileFaultKeepsItsGivenPosition) {
    Fault fault{"story-key", "/times/try", 30, "unknown", "story.toml"};
    fault.line = 4;
    fault.column = 2;
    std::string out;
    append_faults(out, {fault}, "this is not the text the byte counts in");
    EXPECT_EQ(out, R"([{"file":"story.toml","line":4,"column":2,"byte":30,"pointer":"/times/try",)"
                   R"("rule":"story-key","message":"unknown"}])");
    EXPECT_EQ(describe_faults({fault}, ""),
              "story.toml: line 4, column 2: /times/try: unknown [story-key]");
}

TEST(Fault, WholeFileFaultHasNoPosition) {
    Fault fault{"story-file", "", 0, "is not there", "story.toml"};
    fault.has_position = false;
    std::string out;
    append_faults(out, {fault}, "");
    EXPECT_EQ(
        out,
        R"([{"file":"story.toml","pointer":"","rule":"story-file","message":"is not there"}])");
    EXPECT_EQ(describe_faults({fault}, ""), "story.toml: is not there [story-file]");
}

TEST(Fault, IsDescribedInOneLine) {
    const Faults faults = {{"r", "/a", 3, "is wrong", ""}, {"s", "", 0, "is bad", ""}};
    EXPECT_EQ(describe_faults(faults, "ab\nc"),
              "line 2, column 1: /a: is wrong [r]\nline 1, column 1: is bad [s]");
    EXPECT_EQ(describe_faults({}, ""), "");
}

// A large document may have a fault in every line. The lines are counted once for all faults;
// counting from the start for each fault would take hours and exceed the test's time limit.
TEST(Fault, HundredThousandFaultsScanTheTextOnce) {
    std::string text;
    Faults faults;
    for (int i = 0; i < 100000; ++i) {
        faults.push_back({"r", "", text.size(), "m", ""});
        text += std::string(99, 'x') + "\n";
    }
    std::string out;
    append_faults(out, faults, text);
    json::Document document;
    json::ParseError error;
    ASSERT_TRUE(document.parse(out, error));
    int64_t line = 0;
    for (const json::Value fault : document.root().elements()) {
        ASSERT_EQ(fault.find("line").integer(), ++line);
        ASSERT_EQ(fault.find("column").integer(), 1);
    }
}

}  // namespace
