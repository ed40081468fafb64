// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/service_runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/json/writer.hpp"
#include "support/folders.hpp"
#include "support/http_server.hpp"
#include "tool/project/binding.hpp"
#include "unit/tool/runner/heard.hpp"

namespace narratoria::tool {
namespace {

using test::HttpServer;
using test::Json;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class ServiceRunnerTest : public testing::Test {
protected:
    static void SetUpTestSuite() { server = new HttpServer; }
    static void TearDownTestSuite() { delete server; }

    ServiceRunnerTest() {
        binding.name = "greeter";
        binding.entry = "tools.sample_tool:greet";
        binding.runner = project::RunnerKind::Service;
        binding.root = "/path/to/app";
        binding.flow = "demo";
        binding.url = server->url("/tools");
        set(200, "/tools", R"({ "ok": true, "result": { "message": "Hello Ada" } })");
    }

    // Sends a request of the test itself.
    std::string ask(const std::string& path, const std::string& body) {
        class Answer : public http::Listener {
        public:
            void on_body(std::string_view bytes) override { text += bytes; }
            void on_end(const http::Error* error) override {
                over = true;
                if (error != nullptr) ADD_FAILURE() << error->text;
            }
            std::string text;
            bool over = false;
        } answer;
        http::Request request;
        request.method = "POST";
        request.url = server->url(path);
        request.body = body;
        const auto exchange = http.start(request, answer);
        while (!answer.over) loop.run_once();
        return answer.text;
    }
    void set(int status, const std::string& path, const std::string& answer) {
        ask("/set/" + std::to_string(status) + path, answer);
    }
    void set_handshake(const std::string& answer, int status = 200) {
        set(status, "/capabilities/handshake", answer);
    }
    std::string last(const std::string& path) { return ask("/last" + path, ""); }
    int handshakes() { return std::stoi(ask("/count/capabilities/handshake", "")); }

    std::unique_ptr<Attempt> start(Heard& heard, const std::string& input) {
        definition.binding = std::make_shared<project::Binding>(binding);
        const std::string document = R"({"requestId":"p","tool":"greeter","input":)" + input + "}";
        Invocation invocation;
        invocation.definition = &definition;
        invocation.try_ms = 10000;
        invocation.request = document;
        invocation.environment = &environment;
        StartFailure failure;
        auto attempt = runner.start(invocation, heard, failure);
        EXPECT_NE(attempt, nullptr) << failure.message;
        EXPECT_EQ(heard.ends, 0);
        return attempt;
    }
    Heard run(const std::string& input = R"({"name":"Ada"})") {
        Heard heard;
        const auto attempt = start(heard, input);
        while (heard.ends == 0) loop.run_once();
        return heard;
    }
    Outcome fail(const std::string& code) {
        const Heard heard = run();
        EXPECT_FALSE(heard.outcome.ok);
        EXPECT_EQ(heard.outcome.code, code) << heard.outcome.error;
        EXPECT_EQ(Json(heard.outcome.traces.back())["/status"].string(), "error");
        return heard.outcome;
    }
    void require(Guarantee guarantee) {
        binding.guarantees.require(guarantee, GuaranteeSource::User);
    }
    std::string said() const { return "the service at " + binding.url + " "; }

    static HttpServer* server;
    Loop loop;
    process::Pool pool{loop, ""};
    http::Client http{loop, pool};
    ServiceRunner runner{loop, http};
    project::Binding binding;
    Definition definition;
    const std::vector<std::string> environment;
};

HttpServer* ServiceRunnerTest::server = nullptr;

// covers: 001-service-request
TEST_F(ServiceRunnerTest, SendsRequestOfSpecification) {
    ask("/set/200/tools", R"({"ok":true})");
    run(R"({"name":"Ada","share":0.1,"large":12345678901234567890})");
    const std::string sent = last("/tools");
    EXPECT_THAT(
        sent,
        MatchesRegex(
            R"(\{"protocol_version":1,"tool_name":"greeter","kind":"python","entry":"tools\.sample_tool:greet",)"
            R"("payload":\{"name":"Ada","share":0\.1,"large":12345678901234567890\},"timeout_ms":10000,)"
            R"("trace_id":"[0-9a-f-]{36}","project":\{"app_root":"/path/to/app","flow":"demo"\}\})"));
    EXPECT_EQ(handshakes(), 0);
}

// covers: 001-service-success
TEST_F(ServiceRunnerTest, ReturnsResultOfReply) {
    const Heard heard = run();
    EXPECT_TRUE(heard.outcome.ok) << heard.outcome.error;
    EXPECT_EQ(heard.outcome.result, R"({ "message": "Hello Ada" })");
    EXPECT_EQ(heard.events.size(), 1u);
    ASSERT_EQ(heard.outcome.traces.size(), 1u);
    const Json trace(heard.outcome.traces[0]);
    EXPECT_EQ(trace["/type"].string(), "tool_call");
    EXPECT_EQ(trace["/runner"].string(), "service");
    EXPECT_EQ(trace["/service_url"].string(), binding.url);
    EXPECT_EQ(trace["/protocol_version"].integer(), 1);
    EXPECT_FALSE(trace["/service_handshake"].boolean());
    EXPECT_EQ(trace["/status"].string(), "ok");
    EXPECT_THAT(heard.outcome.traces[0], Not(HasSubstr("enforcement_level")));
    EXPECT_THAT(heard.outcome.traces[0], Not(HasSubstr("unsafe_override")));
}

// covers: 001-service-error
TEST_F(ServiceRunnerTest, ReportsErrorOfServiceWithAnyStatus) {
    for (const int status : {200, 400, 500}) {
        set(status, "/tools",
            R"({"ok":false,"error":{"type":"ValueError","message":"Missing input"}})");
        EXPECT_EQ(fail("TOOL_FAILED").error, "Missing input");
    }
    set(200, "/tools", R"({"ok":false})");
    EXPECT_EQ(fail("TOOL_FAILED").error, "the tool \"greeter\" failed without giving a reason");
}

// covers: 001-service-error
TEST_F(ServiceRunnerTest, ReportsFaultOfReply) {
    set(200, "/tools", R"({"ok":true)");
    EXPECT_THAT(fail("PROTOCOL_ERROR").error,
                HasSubstr("the tool \"greeter\" replied, but its reply is not valid JSON: "));
    set(200, "/tools", R"({"ok":true,"protocol_version":2})");
    EXPECT_THAT(fail("PROTOCOL_ERROR").error, HasSubstr("protocol version 2"));
    set(200, "/tools", R"([1])");
    EXPECT_THAT(fail("PROTOCOL_ERROR").error, HasSubstr("must be an object"));
    set(502, "/tools", "<html>\nBad gateway</html>");
    EXPECT_EQ(fail("HTTP_STATUS").error, said() +
                                             "replied to the tool \"greeter\" with status 502: "
                                             "<html> Bad gateway</html>");
    set(500, "/tools", R"({"ok":true})");
    EXPECT_THAT(fail("HTTP_STATUS").error, HasSubstr("status 500"));
}

TEST_F(ServiceRunnerTest, ReportsFaultOfService) {
    const auto call_failed = [&](const std::string& text) {
        return HasSubstr("the tool \"greeter\" is a service, and its call failed: " + binding.url +
                         ": " + text);
    };
    binding.url = server->url("/cut");
    EXPECT_THAT(fail("SERVICE_LOST").error, call_failed("the response was cut off after 4 of 100"));
    binding.url = server->url("/reset");
    EXPECT_THAT(fail("SERVICE_LOST").error, call_failed("the connection broke"));
    binding.url = server->url("/close");
    const Outcome lost = fail("SERVICE_LOST");
    EXPECT_THAT(lost.error, call_failed("the server closed the connection"));
    EXPECT_FALSE(lost.may_retry);
    binding.url = server->url("/big");
    EXPECT_THAT(fail("PROTOCOL_ERROR").error,
                call_failed("the response has 100000000 bytes; the limit is 67108864"));
    binding.url = server->url("/big-without-length");
    EXPECT_THAT(fail("PROTOCOL_ERROR").error, call_failed("the response is longer than 67108864"));
    binding.url = server->url("/not-http");
    EXPECT_THAT(fail("PROTOCOL_ERROR").error, call_failed("the response is not valid HTTP"));
    binding.url = server->url("/redirect");
    const Outcome redirect = fail("PROTOCOL_ERROR");
    EXPECT_THAT(redirect.error, call_failed("the server redirects"));
    EXPECT_FALSE(redirect.may_retry);
    binding.url = "http://127.0.0.1:1/tools";
    const Outcome refused = fail("SERVICE_UNREACHABLE");
    EXPECT_THAT(refused.error, call_failed("no connection: Connection refused"));
    EXPECT_TRUE(refused.may_retry);
    binding.url = "localhost:8787";
    EXPECT_THAT(fail("SERVICE_UNREACHABLE").error,
                HasSubstr("the url of the tool \"greeter\" cannot be used: it does not begin"));
}

// covers: 001-trace-service
TEST_F(ServiceRunnerTest, ShowsNoCredentialsInMessagesAndTraces) {
    binding.url = "http://ann:secret@127.0.0.1:1/tools?key=secret";
    const Outcome outcome = fail("SERVICE_UNREACHABLE");
    EXPECT_THAT(outcome.error, Not(HasSubstr("secret")));
    EXPECT_THAT(outcome.traces[0], Not(HasSubstr("secret")));
}

TEST_F(ServiceRunnerTest, TerminatesCallToSilentService) {
    binding.url = server->url("/stall");
    Heard heard;
    const auto attempt = start(heard, "{}");
    for (int i = 0; i < 5; ++i) loop.run_for(0);
    attempt->terminate();
    attempt->terminate();
    EXPECT_EQ(http.running(), 0u);
    while (heard.ends == 0) loop.run_once();
    EXPECT_EQ(Json(heard.outcome.traces.back())["/error_type"].string(), "TimeoutError");
    Heard gone;
    start(gone, "{}").reset();
    EXPECT_EQ(http.running(), 0u);
}

// ---- the handshake

constexpr const char* kEnforced =
    R"({"ok":true,"enforcement":"enforced","supported_guarantees":{"no_network":true},)"
    R"("service_version":"1.0.0"})";

// covers: 001-handshake-request, 001-trace-handshake
TEST_F(ServiceRunnerTest, ShakesHandsOncePerToolAndGuarantees) {
    set_handshake(kEnforced);
    require(Guarantee::NoNetwork);
    binding.url = server->url("/tools?key=1");
    const int before = handshakes();
    for (int i = 0; i < 3; ++i) {
        const Heard heard = run();
        EXPECT_TRUE(heard.outcome.ok) << heard.outcome.error;
        ASSERT_EQ(heard.outcome.traces.size(), 1u) << "an enforced guarantee has no entry";
        const Json call(heard.outcome.traces[0]);
        EXPECT_TRUE(call["/service_handshake"].boolean());
        EXPECT_EQ(call["/enforcement_level"].string(), "enforced");
    }
    EXPECT_EQ(handshakes(), before + 1);
    EXPECT_EQ(
        last("/capabilities/handshake"),
        R"({"protocol_version":1,"tool_name":"greeter","runner":"service",)"
        R"("required_guarantees":{"no_filesystem_write":false,"no_filesystem_read":false,)"
        R"("no_network":true,"no_subprocess":false,"no_env_read":false,"no_env_write":false}})");
    binding.name = "other";
    run();
    EXPECT_EQ(handshakes(), before + 2);
    binding.url = server->url("/hello");
    run();
    EXPECT_EQ(handshakes(), before + 3);
    require(Guarantee::NoSubprocess);
    EXPECT_EQ(run().outcome.code, "COVERAGE_MISSING");
    EXPECT_EQ(handshakes(), before + 4);
}

TEST_F(ServiceRunnerTest, RepeatsHandshakeAfterLostConnection) {
    set_handshake(kEnforced);
    require(Guarantee::NoNetwork);
    binding.url = server->url("/close");
    const int before = handshakes();
    EXPECT_EQ(run().outcome.code, "SERVICE_LOST");
    EXPECT_EQ(run().outcome.code, "SERVICE_LOST");
    EXPECT_EQ(handshakes(), before + 2);
}

// covers: 001-handshake-response
TEST_F(ServiceRunnerTest, RefusesServiceThatDoesNotEnforceGuarantees) {
    require(Guarantee::NoNetwork);
    const auto calls = [&] { return std::stoi(ask("/count/tools", "")); };
    const int before = calls();
    const auto refused = [&](const std::string& answer, const std::string& why, int status = 200) {
        set_handshake(answer, status);
        const Outcome outcome = fail("COVERAGE_MISSING");
        EXPECT_THAT(outcome.error,
                    HasSubstr("the guarantees of the tool \"greeter\" would not be enforced: " +
                              said() + why));
        EXPECT_EQ(Json(outcome.traces[0])["/reason"].string(), "coverage_missing");
        EXPECT_FALSE(Json(outcome.traces[0])["/allowed"].boolean());
        EXPECT_EQ(Json(outcome.traces[1])["/error_type"].string(), "CapabilityViolation");
    };
    refused(R"({"ok":false,"error":{"type":"E","message":"not today"}})",
            "refused the handshake: not today");
    refused(R"({"ok":false,"error":"not today"})", "refused the handshake: not today", 403);
    refused(R"({"ok":false})", "refused the handshake");
    refused(R"({"ok":true,"enforcement":"declared","supported_guarantees":{"no_network":true}})",
            R"(does not enforce guarantees (its enforcement is "declared"))");
    refused(R"({"ok":true,"supported_guarantees":{"no_network":true}})",
            R"(does not enforce guarantees (its enforcement is "none"))");
    for (const char* supported :
         {"{}", R"({"no_network":false})", R"({"no_network":"true"})", "[]", "null"}) {
        refused(R"({"ok":true,"enforcement":"enforced","supported_guarantees":)" +
                    std::string(supported) + "}",
                "does not enforce no_network");
    }
    refused(R"({"ok":true,"enforcement":"enforced"})", "does not enforce no_network");
    refused(R"({"ok":1})", "replied to the handshake without \"ok\"");
    refused(R"({"ok":true,"protocol_version":2,"enforcement":"enforced"})",
            "replied to the handshake with protocol version 2");
    refused("hello", "replied to the handshake with something that is not a JSON object: hello");
    refused("no such path", "has no handshake (status 404)", 404);
    refused(kEnforced, "replied to the handshake with status 500", 500);
    EXPECT_EQ(calls(), before);
}

// covers: 001-handshake-response
TEST_F(ServiceRunnerTest, RequiresSupersetOfSecrets) {
    binding.guarantees.allow_secrets({"A", "B"}, GuaranteeSource::Pack);
    const auto handshake = [&](const std::string& secrets) {
        set_handshake(R"({"ok":true,"enforcement":"enforced","supported_guarantees":{)"
                      R"("secrets_allowed":)" +
                      secrets + "}}");
        return run().outcome;
    };
    EXPECT_THAT(handshake(R"(["A"])").error, HasSubstr("does not enforce secrets_allowed"));
    EXPECT_THAT(handshake("true").error, HasSubstr("does not enforce secrets_allowed"));
    EXPECT_TRUE(handshake(R"(["C","B","A"])").ok);
    EXPECT_THAT(last("/capabilities/handshake"), HasSubstr(R"("secrets_allowed":["A","B"])"));
}

TEST_F(ServiceRunnerTest, RunsWithoutCoverageOnlyIfTheProjectAllowsIt) {
    set_handshake(R"({"ok":true,"enforcement":"none"})");
    require(Guarantee::NoNetwork);
    binding.allow_unsafe = true;
    const Heard heard = run();
    EXPECT_TRUE(heard.outcome.ok) << heard.outcome.error;
    const Json call(heard.outcome.traces.back());
    EXPECT_TRUE(call["/unsafe_override"].boolean());
    EXPECT_EQ(call["/enforcement_level"].string(), "none");
}

TEST_F(ServiceRunnerTest, ShakesHandsWithoutGuaranteesIfTheProjectRequiresIt) {
    binding.handshake_required = true;
    set_handshake(R"({"ok":true,"enforcement":"enforced"})");
    EXPECT_TRUE(run().outcome.ok);
    binding.name = "other";
    set_handshake(R"({"ok":false,"error":{"type":"E","message":"not today"}})");
    EXPECT_EQ(fail("COVERAGE_MISSING").error,
              "the tool \"other\" may not run: " + said() + "refused the handshake: not today");
}

TEST_F(ServiceRunnerTest, ReportsFailedHandshake) {
    binding.handshake_required = true;
    binding.url = "http://127.0.0.1:1/tools";
    EXPECT_THAT(fail("SERVICE_UNREACHABLE").error,
                HasSubstr("its handshake failed: http://127.0.0.1:1/capabilities/handshake: "));
}

// ---- examples/service

TEST_F(ServiceRunnerTest, CallsTheReferenceService) {
    const HttpServer service("python3", test::in_source("examples/service/service.py"),
                             {"--port", "0", "--enforced", "no_network"});
    binding.url = service.url("/tools");
    require(Guarantee::NoNetwork);
    const Heard heard = run();
    EXPECT_TRUE(heard.outcome.ok) << heard.outcome.error;
    EXPECT_EQ(heard.outcome.result, R"({"message": "Hello Ada", "ok": true})");
    EXPECT_EQ(run("{}").outcome.error, "Missing input");
    for (const auto& [entry, why] : std::vector<std::pair<std::string, std::string>>{
             {"os:system", "there is no os.py"},
             {"tools.sample_tool", "entry must be"},
             {"tools.sample_tool:nothing", "has no function nothing"},
             {"..x:y", "entry must be"}}) {
        binding.entry = entry;
        EXPECT_THAT(run().outcome.error, HasSubstr(why)) << entry;
    }
    require(Guarantee::NoSubprocess);
    EXPECT_EQ(run().outcome.code, "COVERAGE_MISSING");
}

}  // namespace
}  // namespace narratoria::tool
