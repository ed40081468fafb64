// SPDX-License-Identifier: Apache-2.0
// The limits listed in narratoria/limits.h match the hand-written lists elsewhere.
#include "narratoria/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/options.hpp"
#include "conformance/json.hpp"
#include "support/folders.hpp"
#include "support/sized.hpp"

namespace {

using namespace narratoria;
using test::sized;
using testing::ElementsAreArray;
using testing::StartsWith;

struct Row {
    std::string name;
    std::string text;
    int64_t least;
};

std::vector<Row> rows() {
#define NARRATORIA_LIMIT(name, type, least, text) {#name, text, least},
    return {NAR_LIMIT_LIST(NARRATORIA_LIMIT)};
#undef NARRATORIA_LIMIT
}

TEST(Limits, MatchTheStorySchema) {
    std::ifstream file(test::in_source("abi/schemas/story-1.schema.json"));
    std::stringstream text;
    text << file.rdbuf();
    const test::Json schema(text.str());
    const test::Json limits = schema["properties"]["limits"]["properties"];
    std::vector<std::string> names;
    for (const Row& row : rows()) {
        names.push_back(row.name);
        ASSERT_TRUE(limits.has(row.name));
        EXPECT_THAT(limits[row.name]["description"].string(), StartsWith(row.text)) << row.name;
        // 0 selects the engine's limit. The smallest explicit value of most limits is 1.
        const test::Json own = limits[row.name];
        if (row.least == 1) {
            EXPECT_EQ(own["minimum"].integer(), 0) << row.name;
        } else {
            EXPECT_EQ(own["anyOf"][1]["minimum"].integer(), row.least) << row.name;
        }
    }
    EXPECT_THAT(limits.keys(), ElementsAreArray(names));
}

TEST(Limits, LargestFieldValueMeansUnlimited) {
    auto given = sized<nar_limits>();
    engine::Limits limits;
#define NARRATORIA_LIMIT(name, type, least, text) given.name = least;
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    ASSERT_EQ(api::read_limits(&given, limits), "");
#define NARRATORIA_LIMIT(name, type, least, text) EXPECT_EQ(limits.name, least) << #name;
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT

    const engine::Limits before = limits;
    auto nothing = sized<nar_limits>();
    ASSERT_EQ(api::read_limits(&nothing, limits), "");
#define NARRATORIA_LIMIT(name, type, least, text) EXPECT_EQ(limits.name, before.name) << #name;
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT

#define NARRATORIA_LIMIT(name, type, least, text) given.name = std::numeric_limits<type>::max();
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    ASSERT_EQ(api::read_limits(&given, limits), "");
#define NARRATORIA_LIMIT(name, type, least, text) EXPECT_EQ(limits.name, UINT64_MAX) << #name;
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    EXPECT_EQ(limits.history_patches, UINT32_MAX);
    EXPECT_EQ(limits.patch_bytes, UINT64_MAX);
    EXPECT_EQ(limits.state_bytes, UINT64_MAX);
    EXPECT_EQ(engine::script_limits(limits).steps, 0u) << "0 means unlimited there";
    EXPECT_EQ(engine::script_limits(limits).milliseconds, 0u);
}

}  // namespace
