// SPDX-License-Identifier: Apache-2.0
#include "narratoria/validate.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/view.hpp"
#include "support/folders.hpp"

namespace {

using narratoria::view;

std::string faults_of(uint32_t document, std::string_view text) {
    nar_text* faults = nullptr;
    nar_error error = NAR_ERROR_INIT;
    EXPECT_EQ(nar_validate(document, view(text), &faults, &error), NAR_OK) << view(error.message);
    const std::string listed(view(nar_text_view(faults)));
    nar_text_release(faults);
    nar_error_clear(&error);
    return listed;
}

TEST(Validate, ListsTheFaultsOfEachKindOfDocument) {
    EXPECT_EQ(faults_of(NAR_DOCUMENT_EVENTS, R"({"version":"0","type":"done","ok":true})"), "[]");
    EXPECT_EQ(faults_of(NAR_DOCUMENT_EVENTS,
                        "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n"
                        "{\"version\":\"0\",\"type\":\"done\",\"ok\":1}\n"),
              R"([{"line":2,"column":35,"byte":74,"pointer":"/ok","rule":"event-field-type",)"
              R"("message":"\"ok\" must be true or false, not number"}])");
    EXPECT_EQ(faults_of(NAR_DOCUMENT_PLAN, R"({"requestId":"p","tools":[]})"), "[]");
    EXPECT_NE(faults_of(NAR_DOCUMENT_PLAN, "{}").find("/requestId"), std::string::npos);
    EXPECT_EQ(faults_of(NAR_DOCUMENT_RESULT,
                        R"({"planId":"p","success":true,"narrative":"","executionTime":0,)"
                        R"("toolResults":[],"failedTools":[],"generationAttempt":1,)"
                        R"("canReplan":false})"),
              "[]");
    EXPECT_NE(faults_of(NAR_DOCUMENT_RESULT, "{").find("json-syntax"), std::string::npos);
    EXPECT_EQ(faults_of(NAR_DOCUMENT_STORY, narratoria::test::in_source("examples/stories/torch")),
              "[]");
    EXPECT_NE(faults_of(NAR_DOCUMENT_STORY, narratoria::test::in_source("examples"))
                  .find(R"([{"file":"story.toml","pointer":"",)"),
              std::string::npos);
}

TEST(Validate, ListsWarningsOnRequest) {
    const std::string line = R"({"version":"0","type":"done","ok":true,"timestamp":"noon"})";
    EXPECT_EQ(faults_of(NAR_DOCUMENT_EVENTS, line), "[]");
    EXPECT_EQ(faults_of(NAR_DOCUMENT_EVENTS | NAR_DOCUMENT_WARNINGS, line),
              R"([{"line":1,"column":52,"byte":51,"pointer":"/timestamp","rule":"event-timestamp",)"
              R"("level":"warning","message":"\"noon\" is not an ISO-8601 date and time; write it )"
              R"(like 2026-01-24T18:30:00Z"}])");
    const std::string plan = R"({"requestId":"p","tools":[],"narativ":""})";
    EXPECT_EQ(faults_of(NAR_DOCUMENT_PLAN, plan), "[]");
    EXPECT_NE(faults_of(NAR_DOCUMENT_PLAN | NAR_DOCUMENT_WARNINGS, plan)
                  .find(R"("rule":"plan-member-unknown","level":"warning")"),
              std::string::npos);
    for (const uint32_t document : {NAR_DOCUMENT_EVENTS, NAR_DOCUMENT_PLAN, NAR_DOCUMENT_RESULT}) {
        EXPECT_EQ(faults_of(document | NAR_DOCUMENT_WARNINGS, "{}"), faults_of(document, "{}"));
    }
}

TEST(Validate, ListsFaultsInTheOrderOfTheText) {
    const std::string listed =
        faults_of(NAR_DOCUMENT_PLAN,
                  R"({"tools":[{"toolId":1,"toolPath":"t"}],"narrative":2,"requestId":3})");
    const size_t tool = listed.find("/tools/0/toolId");
    const size_t narrative = listed.find("/narrative");
    const size_t request = listed.find("/requestId");
    EXPECT_LT(tool, narrative);
    EXPECT_LT(narrative, request);
    EXPECT_NE(request, std::string::npos);
}

TEST(Validate, RefusesUnknownKindsAndInvalidArguments) {
    nar_error error = NAR_ERROR_INIT;
    nar_text* faults = nullptr;
    EXPECT_EQ(nar_validate(NAR_DOCUMENT_PLAN, view("{}"), nullptr, &error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_validate(0, view("{}"), &faults, &error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_validate(99, view("{}"), &faults, nullptr), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_validate(NAR_DOCUMENT_STORY, view("/nowhere at all"), &faults, &error),
              NAR_NOT_FOUND);
    EXPECT_EQ(view(error.code), "STORY_FOLDER");
    EXPECT_EQ(view(error.message),
              "the story's folder \"/nowhere at all\" cannot be found: No such file or directory");
    EXPECT_EQ(nar_validate(NAR_DOCUMENT_STORY, {nullptr, 0}, &faults, &error), NAR_NOT_FOUND);
    EXPECT_EQ(faults, nullptr) << "nothing is left to release";
    nar_error_clear(&error);
}

TEST(Validate, AcceptsNullText) {
    for (const uint32_t document : {NAR_DOCUMENT_EVENTS, NAR_DOCUMENT_PLAN, NAR_DOCUMENT_RESULT}) {
        nar_text* faults = nullptr;
        ASSERT_EQ(nar_validate(document, {nullptr, 0}, &faults, nullptr), NAR_OK);
        EXPECT_NE(view(nar_text_view(faults)), "[]");
        nar_text_release(faults);
    }
}

TEST(Validate, IsThreadSafe) {
    std::vector<std::thread> threads;
    std::vector<std::string> listed(4);
    for (std::string& mine : listed) {
        threads.emplace_back([&mine] {
            for (int i = 0; i < 50; ++i) {
                mine = faults_of(NAR_DOCUMENT_STORY,
                                 narratoria::test::in_source("examples/stories/torch")) +
                       faults_of(NAR_DOCUMENT_EVENTS, "[]") + faults_of(NAR_DOCUMENT_PLAN, "{}") +
                       faults_of(NAR_DOCUMENT_RESULT, "{}");
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& mine : listed) EXPECT_EQ(mine, listed[0]);
}

}  // namespace
