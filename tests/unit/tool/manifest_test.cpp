// SPDX-License-Identifier: Apache-2.0
#include "tool/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/folder.hpp"

namespace narratoria::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> refusals_of(const std::string& text) {
    Manifest manifest;
    Faults faults;
    EXPECT_FALSE(manifest.parse(text, faults));
    std::vector<std::string> told;
    for (const Fault& fault : faults) {
        told.push_back(std::to_string(fault.byte) + " " + fault.pointer + " " + fault.message);
    }
    return told;
}

TEST(Manifest, ReadsSchemasTimesAndLimits) {
    Manifest manifest;
    Faults faults;
    ASSERT_TRUE(manifest.parse(R"({"name":"w","description":"Tells the weather.",
        "input":{"required":["city"]},"result":{"type":"object"},"times":{"try_ms":500},
        "limits":{"memory_bytes":1000000,"line_bytes":2000}})",
                               faults))
        << describe_faults(faults, "");
    EXPECT_EQ(manifest.input->text(), R"({"required":["city"]})");
    EXPECT_EQ(manifest.result->text(), R"({"type":"object"})");
    EXPECT_FALSE(manifest.result_is_advice);
    EXPECT_EQ(manifest.try_ms, 500u);
    EXPECT_EQ(manifest.limits.memory_bytes, 1000000u);
    EXPECT_EQ(manifest.limits.line_bytes, 2000u);
    EXPECT_EQ(manifest.limits.cpu_seconds, std::nullopt);
}

TEST(Manifest, ReadsResources) {
    Manifest manifest;
    Faults faults;
    ASSERT_TRUE(manifest.parse(R"({"resources":{"cpus":4, "memory_bytes":8000000000, "gpus":0,
        "partition":"long", "time_seconds":90}})",
                               faults))
        << describe_faults(faults, "");
    EXPECT_EQ(
        manifest.resources,
        R"({"cpus":4,"memory_bytes":8000000000,"gpus":0,"partition":"long","time_seconds":90})");
}

TEST(Manifest, NamesPartsOfTheState) {
    Manifest manifest;
    Faults faults;
    ASSERT_TRUE(manifest.parse(R"({"state":["/torch", "/a~1b", ""]})", faults));
    EXPECT_THAT(manifest.state, ElementsAre("/torch", "/a~1b", ""));
    EXPECT_THAT(refusals_of(R"({"state":["torch", 1, "/a~2"]})"),
                ElementsAre(HasSubstr("/state/0 must be a JSON Pointer"),
                            HasSubstr("/state/1 must be a JSON Pointer"),
                            HasSubstr("/state/2 must be a JSON Pointer")));
    std::string many = R"({"state":[""])";
    for (int i = 0; i < 101; ++i) many.insert(many.size() - 1, R"(,"/a")");
    EXPECT_THAT(refusals_of(many + "}"), ElementsAre(HasSubstr("more than 100 JSON Pointers")));
    EXPECT_THAT(refusals_of(R"({"state":"/torch"})"), ElementsAre(HasSubstr("must be an array")));
}

// A runner's reader of JSON may take only 8000000000 for an integer.
TEST(Manifest, WritesNumbersOfResourcesWithoutFractionAndExponent) {
    Manifest manifest;
    Faults faults;
    ASSERT_TRUE(manifest.parse(
        R"({"resources":{"cpus":4.0, "memory_bytes":8e9, "gpus":-0, "partition":"a\"b"}})", faults))
        << describe_faults(faults, "");
    EXPECT_EQ(manifest.resources,
              R"({"cpus":4,"memory_bytes":8000000000,"gpus":0,"partition":"a\"b"})");
}

TEST(Manifest, ReportsFaultsOfResources) {
    EXPECT_THAT(refusals_of(R"({"resources":{"cpu":1,"cpus":0,"memory_bytes":1.5,"gpus":-1,)"
                            R"("partition":"","time_seconds":"1h"}})"),
                ElementsAre(HasSubstr(R"("cpu" is not a key of a manifest; did you mean "cpus"?)"),
                            HasSubstr("/resources/cpus must be a whole number from 1"),
                            HasSubstr("/resources/memory_bytes must be a whole number from 1"),
                            HasSubstr("/resources/time_seconds must be a whole number from 1"),
                            HasSubstr("/resources/gpus must be a whole number from 0"),
                            HasSubstr("/resources/partition \"partition\" must be a name")));
    EXPECT_THAT(refusals_of(R"({"resources":[]})"), ElementsAre(HasSubstr("must be an object")));
    EXPECT_THAT(refusals_of(R"({"resources":{"partition":3}})"),
                ElementsAre(HasSubstr("\"partition\" must be a string")));
}

// covers: 002-schema-parameters
TEST(Manifest, AcceptsFormOfSpec002) {
    Manifest manifest;
    Faults faults;
    ASSERT_TRUE(manifest.parse(
        R"({"parameters":[{"name":"a","type":"number"}],"returns":"string"})", faults));
    EXPECT_EQ(manifest.input->text(),
              R"({"type":"object","properties":{"a":{"type":"number"}},"required":["a"]})");
    EXPECT_EQ(manifest.result->text(), R"({"type":"string"})");
    EXPECT_TRUE(manifest.result_is_advice);
}

TEST(Manifest, ReportsAllFaultsWithPlaces) {
    EXPECT_THAT(
        refusals_of(R"({"name":"a b","inptu":{},"input":{"properties":{"a":{"type":"objekt"}}},)"
                    R"("times":{"try_ms":-1},"limits":{"open_files":0}})"),
        ElementsAre(HasSubstr(R"("inptu" is not a key of a manifest; did you mean "input"?)"),
                    HasSubstr("/name \"name\" must consist of"),
                    HasSubstr("60 /input/properties/a/type a type must be"),
                    HasSubstr("/times/try_ms must be a whole number from 0 to 4294967295"),
                    HasSubstr("/limits/open_files must be a whole number from 1")));
    EXPECT_THAT(refusals_of("[]"), ElementsAre(HasSubstr("must be a JSON object")));
    EXPECT_THAT(refusals_of(R"({"parameters":[],"result":{}})"),
                ElementsAre(HasSubstr("/result \"result\" is JSON Schema")));
}

TEST(Manifest, NameMustMatchFile) {
    Manifest manifest;
    Faults faults;
    EXPECT_TRUE(manifest.parse(R"({"name":"bell"})", faults, "bell"));
    EXPECT_TRUE(manifest.parse(R"({"name":"bell"})", faults)) << "the file name is unknown";
    EXPECT_FALSE(manifest.parse(R"({"name":"bell"})", faults, "gong"));
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].byte, 8u);
    EXPECT_EQ(faults[0].pointer, "/name");
    EXPECT_THAT(faults[0].message, HasSubstr(R"("bell" but must be "gong")"));
}

class ManifestFilesTest : public testing::Test {
protected:
    void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
    std::shared_ptr<const Definition> get(const std::string& tool) {
        problem_.clear();
        return files_.definition_of(folder_ / tool, problem_);
    }

    const test::Folder folder_;
    std::string problem_;
    ManifestFiles files_;
};

TEST_F(ManifestFilesTest, FindsManifestOfToolWithAndWithoutExtension) {
    write("weather.tool.json", R"({"description":"Tells the weather."})");
    EXPECT_EQ(get("weather.py")->description, "Tells the weather.");
    EXPECT_EQ(get("weather.py")->name, "weather.py");
    EXPECT_EQ(get("weather")->description, "Tells the weather.");
    EXPECT_EQ(get("other")->description, "");
    EXPECT_EQ(problem_, "");
}

TEST_F(ManifestFilesTest, RereadsManifestOnlyAfterChange) {
    write("a.tool.json", R"({"input":{"type":"object"}})");
    const auto first = get("a");
    EXPECT_EQ(get("a"), first);
    write("a.tool.json", R"({"input":{"type":"object","maxProperties":2}})");
    EXPECT_NE(get("a"), first);
    std::filesystem::remove(folder_ / "a.tool.json");
    EXPECT_EQ(get("a")->input, nullptr);
}

TEST_F(ManifestFilesTest, ReportsInvalidManifestWithPlace) {
    write("a.tool.json", "{\n\"inptu\":{}}");
    EXPECT_EQ(get("a")->input, nullptr);
    EXPECT_THAT(problem_, HasSubstr("a.tool.json\" cannot be used: line 2, column 9: /inptu: "));
    get("a");
    EXPECT_THAT(problem_, HasSubstr("cannot be used")) << "also the second time";
    write("b.tool.json", R"({"name":"c"})");
    get("b");
    EXPECT_THAT(problem_, HasSubstr(R"("name" is "c" but must be "b")"));
}

TEST_F(ManifestFilesTest, DoesNotReadFromPipe) {
    folder_.fifo("a.tool.json");
    get("a");
    EXPECT_THAT(problem_, HasSubstr("it is not a regular file"));
}

}  // namespace
}  // namespace narratoria::tool
