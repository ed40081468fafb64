// SPDX-License-Identifier: Apache-2.0
// The script narrator as seen by its session. tests/conformance/script_narrator_test.cpp covers
// what a player sees; these tests cover a session that refuses an answer or stops waiting for it.

#include "session/script_narrator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json/writer.hpp"
#include "narratoria/narrator.h"
#include "plugin/instance.hpp"
#include "plugin/session_access.hpp"
#include "script/limits.hpp"
#include "tool/registry.hpp"

namespace narratoria::session {
namespace {

using ::testing::HasSubstr;

// A session that only records the narrator's answers.
class Answers : public plugin::SessionAccess {
public:
    Loop& loop() override { return loop_; }
    const std::shared_ptr<EngineThread>& engine_thread() const override { return thread_; }
    uint32_t& callback_depth() override { return depth_; }
    const std::string& session_id() const override { return id_; }
    void log(uint32_t, std::string_view, std::string_view) override {}
    void excuse(int64_t) override {}
    void warn(std::string_view, std::string_view message) override {
        warnings.emplace_back(message);
    }
    nar_status read_state(std::string_view, std::string& json) override {
        json += "{}";
        return NAR_OK;
    }
    nar_status patch_state(std::string_view, std::string_view) override { return NAR_FAILED; }
    nar_status set_state(std::string_view, std::string_view, std::optional<state::Description>,
                         const plugin::ApplyPatch&, std::string_view, std::string&) override {
        return NAR_FAILED;
    }
    nar_status clear_state(const plugin::ApplyPatch&, std::string_view, std::string&) override {
        return NAR_FAILED;
    }
    nar_status register_state_metadata(std::string_view, std::optional<state::Description>,
                                       std::string&) override {
        return NAR_FAILED;
    }
    const state::Metadata& state_metadata() const override { return metadata_; }
    void format_state_for_prompt(std::string&) override {}
    bool is_publishing() const override { return false; }
    void list_assets(std::string&) override {}
    bool on_rendered(plugin::Instance&, uint64_t, nar_status) override { return false; }
    void drop_renderings(plugin::Instance&) override {}
    nar_status submit_prompt(std::string_view, std::string_view, uint64_t&) override {
        return NAR_FAILED;
    }
    nar_status submit_go_to(uint64_t, std::string_view, uint64_t&) override {
        return NAR_UNSUPPORTED;
    }
    nar_status read_turns(uint64_t, uint32_t, std::string_view, std::string&) override {
        return NAR_UNSUPPORTED;
    }
    nar_status submit_again(uint64_t, std::string_view, uint64_t&) override {
        return NAR_UNSUPPORTED;
    }
    nar_status submit_resume(uint64_t, bool, std::string_view, uint64_t&) override {
        return NAR_UNSUPPORTED;
    }
    uint64_t running_submission() const override { return 0; }
    bool cancel(uint64_t) override { return false; }
    void cancel_all() override {}
    bool has_cancel() const override { return false; }
    http::Client& http() override { std::abort(); }
    plugin::ProcessDefaults process_defaults() override { std::abort(); }
    nar_status delta(uint64_t, std::string_view) override { return NAR_GONE; }
    nar_status usage(uint64_t, std::string_view) override { return NAR_GONE; }
    void withhold_variable(std::string_view) override {}
    nar_status answer(uint64_t, bool is_plan, std::string text) override {
        (is_plan ? plans : failures).push_back(std::move(text));
        return NAR_OK;
    }
    nar_status invoke(uint64_t, std::string_view, std::function<void(uint64_t, std::string_view)>,
                      uint64_t&, std::string&) override {
        return NAR_FAILED;
    }
    nar_status cancel_invocation(uint64_t, uint64_t) override { return NAR_FAILED; }
    Inbox& inbox() override { return inbox_; }
    void give_up(uint64_t, std::string message) override { given_up.push_back(std::move(message)); }
    const tool::Registry& registry() const override { return registry_; }
    script::Limits script_limits() const override { return limits_; }

    std::vector<std::string> plans, failures, given_up, warnings;

private:
    const std::shared_ptr<EngineThread> thread_ = std::make_shared<EngineThread>();
    Loop loop_;
    Inbox inbox_{loop_, {}};
    uint32_t depth_ = 0;
    std::string id_;
    state::Metadata metadata_;
    tool::Registry registry_;
    script::Limits limits_;
};

class ScriptNarratorTest : public ::testing::Test {
protected:
    const plugin::StoryInfo story{};
    void open(std::string_view script) {
        std::string settings;
        json::ObjectWriter(settings).string("file", "tale.nuwa").string("source", script).end();
        narrator.emplace(script_narrator_library(), "", session, settings, story);
        std::string reason, code;
        ASSERT_TRUE(narrator->init(reason, code)) << reason;
    }
    const nar_narrator_extension& functions() {
        return *static_cast<const nar_narrator_extension*>(
            narrator->extension(NAR_EXTENSION_NARRATOR));
    }
    void ask(int generation, std::string_view disabled = "[]") {
        std::string request = R"({"prompt":{"text":"go"},"random":7,"disabledSkills":)";
        request += disabled;
        request += R"(,"generationAttempt":)" + std::to_string(generation) + "}";
        const nar_narrator_request given{
            sizeof given, NAR_NONE, 1, {request.data(), request.size()}};
        functions().generate(narrator->data(), &given);
    }
    void run() {
        for (int i = 0; i < 10; ++i) session.loop().run_for(0);
    }

    Answers session;
    std::optional<plugin::Instance> narrator;
};

TEST_F(ScriptNarratorTest, RefusedAnswerIsNotGeneratedAgain) {
    open("PRINT(prompt)");
    ask(1);
    run();
    ASSERT_EQ(session.plans.size(), 1u);
    EXPECT_THAT(session.plans[0], HasSubstr(R"("narrative":"go")"));
    ask(2);
    run();
    EXPECT_EQ(session.plans.size(), 1u);
    EXPECT_THAT(
        session.given_up,
        testing::ElementsAre("tale.nuwa: the script's plan was refused and it is not run again"));
    // The script may run again with new disabled skills, and for a different prompt.
    ask(3, R"(["look"])");
    run();
    ask(1, R"(["look"])");
    run();
    EXPECT_EQ(session.plans.size(), 3u);
    EXPECT_EQ(session.given_up.size(), 1u);
}

TEST_F(ScriptNarratorTest, CancelledScriptIsNotRunAgain) {
    open("PRINT(prompt)");
    ask(1);
    functions().cancel(narrator->data(), 1);
    run();
    ask(2);
    run();
    EXPECT_TRUE(session.plans.empty());
    EXPECT_THAT(
        session.given_up,
        testing::ElementsAre("tale.nuwa: the script did not end in time and is not run again"));
}

}  // namespace
}  // namespace narratoria::session
