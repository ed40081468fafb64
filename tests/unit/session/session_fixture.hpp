// SPDX-License-Identifier: Apache-2.0
#pragma once
// A session with a fake runner, a fake clock and a narrator that the test controls. No process is
// started, and no real time passes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/json.hpp"
#include "session/session.hpp"
#include "support/sized.hpp"
#include "unit/base/fake_clock.hpp"
#include "unit/plan/fake_runner.hpp"

namespace narratoria::session {

using test::Json;
using test::sized;

class SessionFixture : public testing::Test {
protected:
    struct Record {
        event::Kind kind;
        std::string body;
    };
    struct Question {
        uint64_t token;
        Json request;
    };

    SessionFixture() {
        settings.id = "session-1";
        settings.times = {0, 0, 0, 0, 0};
        auto narrator = sized<nar_narrator>();
        narrator.user = this;
        narrator.generate = [](void* user, const nar_narrator_request* request) {
            auto& self = *static_cast<SessionFixture*>(user);
            self.questions.push_back({request->token, Json(text(request->json))});
            if (self.on_question) self.on_question(request->token);
        };
        narrator.cancel = [](void* user, uint64_t token) {
            static_cast<SessionFixture*>(user)->withdrawn.push_back(token);
        };
        settings.narrator = narrator;
    }

    void TearDown() override {
        if (session != nullptr) close();
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD) << "a process was started";
    }

    void open() {
        Dependencies dependencies = make_dependencies(engine, settings);
        dependencies.add_runners = [this](tool::Runners& runners,
                                          const std::shared_ptr<tool::ProcessRunner>&,
                                          http::Client&, const plugin::Dispatcher&) {
            // The fixture owns the runner, so that tests can inspect it.
            runners.add(tool::kProcessRunner, {std::shared_ptr<void>(), &runner});
        };
        auto made = std::make_unique<Session>(std::move(dependencies), settings);
        session = made.get();
        auto sink = sized<nar_event_sink>();
        sink.user = this;
        sink.event = [](void* user, const nar_event* event) {
            static_cast<SessionFixture*>(user)->records.push_back(
                {static_cast<event::Kind>(event->kind), text(event->body)});
        };
        session->stream().attach(sink);
        engine.add(std::move(made));
    }
    void close() {
        engine.remove(session);
        session = nullptr;
    }

    // Runs deferred tasks and delivers posted messages without blocking.
    void run() {
        for (int i = 0; i < 10; ++i) engine.run_for(0);
    }

    bool prompt(std::string words) {
        return session
            ->prompt(std::move(words), [this](const TurnEnd& end) { turns.push_back(end); })
            .has_value();
    }
    // Submits a prompt, for which the narrator gets its first question.
    void ask(std::string words = "Go on.") {
        ASSERT_TRUE(prompt(std::move(words)));
        run();
    }
    nar_status send(uint64_t token, bool is_plan, std::string answer) {
        return engine.inbox().send_end(nullptr, token, NarratorAnswer{is_plan, std::move(answer)});
    }
    // Answers the latest question.
    void answer(const std::string& plan) {
        ASSERT_EQ(send(questions.back().token, true, plan), NAR_OK);
        run();
    }
    void fail(const std::string& why) {
        ASSERT_EQ(send(questions.back().token, false, why), NAR_OK);
        run();
    }
    void end(std::string_view tool, tool::Outcome outcome = plan::succeeded()) {
        runner.end(tool, std::move(outcome));
        run();
    }

    // A plan that runs the tools "/a", "/b" … once each, in sequence.
    static std::string plan(std::string_view id, const std::vector<std::string>& tools,
                            std::string_view members = {}) {
        std::string all;
        for (const std::string& tool : tools) {
            all += (all.empty() ? "" : ",") + (R"({"toolId":")" + tool) + R"(","toolPath":"/)" +
                   tool + R"(","retryPolicy":{"maxRetries":0}})";
        }
        return R"({"requestId":")" + std::string(id) + R"(","narrative":"This is )" +
               std::string(id) + R"(.","tools":[)" + all + "]" +
               (members.empty() ? "" : "," + std::string(members)) + "}";
    }

    const Json& request() const { return questions.back().request; }
    std::vector<std::string> bodies(event::Kind kind) const {
        std::vector<std::string> found;
        for (const Record& record : records) {
            if (record.kind == kind) found.push_back(record.body);
        }
        return found;
    }
    std::vector<std::string> warnings() const {
        std::vector<std::string> codes;
        for (const std::string& body : bodies(event::Kind::Warning)) {
            codes.push_back(Json(body)["code"].string());
        }
        return codes;
    }
    // The rules of the faults in the latest request.
    std::vector<std::string> fault_rules() const {
        std::vector<std::string> rules;
        for (const Json& fault : request()["planFaults"].elements()) {
            rules.push_back(fault["rule"].string());
        }
        return rules;
    }

    static std::string text(nar_str view) { return {view.data, static_cast<size_t>(view.size)}; }
    engine::EngineSettings engine_settings() {
        engine::EngineSettings made;
        made.jobs = 2;
        made.root = "/";
        made.clock = &clock;
        made.log = [this](uint32_t, std::string_view message, std::string_view session_id,
                          std::string_view code) {
            lines.push_back(std::string(session_id) + ": " + std::string(message));
            line_codes.emplace_back(code);
        };
        return made;
    }

    test::FakeClock clock;
    plan::FakeRunner runner;
    SessionSettings settings;
    std::vector<Question> questions;
    std::function<void(uint64_t token)> on_question;
    std::vector<uint64_t> withdrawn;
    std::vector<Record> records;
    std::vector<TurnEnd> turns;
    std::vector<std::string> line_codes;
    std::vector<std::string> lines;  // log lines, "session: message"
    engine::Engine engine{engine_settings()};
    Session* session = nullptr;  // owned by the engine
};

}  // namespace narratoria::session
