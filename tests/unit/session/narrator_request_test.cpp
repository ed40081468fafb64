// SPDX-License-Identifier: Apache-2.0
#include "session/narrator_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json/tape.hpp"
#include "conformance/json.hpp"
#include "unit/base/json/document.hpp"

namespace narratoria::session {
namespace {

using test::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class NarratorRequestTest : public testing::Test {
protected:
    std::string write() const {
        return NarratorRequest{
            "s1",   "I wait.", 1'700'000'000'000'000, 2,      1,     77,    parent, disabled,
            result, metadata,  invocations,           faults, store, listed}
            .write();
    }
    void add_tool(const char* name, const char* schema) {
        auto definition = std::make_shared<tool::Definition>();
        definition->name = name;
        definition->description = "what it does";
        Faults refusals;
        if (*schema != '\0') definition->input = tool::Schema::compile(schema, refusals);
        definition->origin.kind = tool::Origin::Kind::Plugin;
        registry.add(std::move(definition));
    }

    std::string parent;
    std::vector<std::string> disabled;
    const plan::Result* result = nullptr;
    std::string metadata = "{}";
    const plan::Result* invocations = nullptr;
    std::string faults = "[]";
    state::Store store{10};
    tool::Registry registry;
    const tool::Registry* listed = &registry;
};

TEST_F(NarratorRequestTest, FirstRequestHasNoPreviousPlan) {
    EXPECT_EQ(Json(write()), Json(R"({"schema":"narrator-request/1","sessionId":"s1",
                 "prompt":{"text":"I wait.","timestamp":"2023-11-14T22:13:20.000000Z","sessionId":"s1"},
                 "generationAttempt":2,"continuation":1,"random":77,"parentPlanId":null,
                 "disabledSkills":[],"previousResult":null,"previousMetadata":{},"planFaults":[],"state":{},"tools":[]})"));
}

TEST_F(NarratorRequestTest, InvocationsAreListedIfThereWereAny) {
    plan::Result invoked;
    invoked.plan_id = "i1";
    invoked.spool = std::make_shared<plan::EventSpool>();
    EXPECT_FALSE(Json(write()).has("invocations"));
    invocations = &invoked;
    EXPECT_EQ(Json(write())["invocations"]["planId"].string(), "i1");
    EXPECT_TRUE(Json(write())["previousResult"].is_null());
}

TEST_F(NarratorRequestTest, LaterRequestReportsTheLastPlan) {
    plan::Result before;
    before.plan_id = "p1";
    before.spool = std::make_shared<plan::EventSpool>();
    result = &before;
    parent = "p1";
    disabled = {"torch-lighter"};
    metadata = R"({"mood":"dark"})";
    faults = R"([{"rule":"plan-cycle"}])";
    const Json request(write());
    EXPECT_EQ(request["parentPlanId"].string(), "p1");
    EXPECT_EQ(request["previousResult"]["planId"].string(), "p1");
    EXPECT_THAT(request["disabledSkills"].strings(), ElementsAre("torch-lighter"));
    EXPECT_EQ(request["previousMetadata"]["mood"].string(), "dark");
    EXPECT_EQ(request["planFaults"][0]["rule"].string(), "plan-cycle");
}

TEST_F(NarratorRequestTest, IsOneLine) {
    store.assign(test::parse_json("{\"list\": [1,\n 2]}")->root());
    const std::string text = write();
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    EXPECT_EQ(Json(text)["state"].text(), R"({"list":[1,2]})");
}

TEST_F(NarratorRequestTest, ListsTheToolsOfTheRegistry) {
    add_tool("roll", R"({"type":"object"})");
    add_tool("sing", "");
    EXPECT_EQ(Json(write())["tools"],
              Json(R"([{"name":"roll","description":"what it does","inputSchema":{"type":"object"}},
                       {"name":"sing","description":"what it does"}])"));
}

TEST_F(NarratorRequestTest, ABuiltInNarratorReadsStateAndToolsItself) {
    listed = nullptr;
    EXPECT_FALSE(Json(write()).has("state"));
    EXPECT_FALSE(Json(write()).has("tools"));
}

}  // namespace
}  // namespace narratoria::session
