// SPDX-License-Identifier: Apache-2.0
// narratoria.http/1 against a real server: what a plugin gets of a response, and when.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "narratoria/host_http.h"
#include "narratoria/plugins.h"
#include "plugin/host.hpp"
#include "support/http_server.hpp"

namespace narratoria::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpServiceTest : public PluginHostTest {
protected:
    // What a request told.
    struct Seen {
        uint32_t status = 0;
        std::vector<std::string> headers;
        std::string body;
        std::optional<std::string> code;  // set at its end
        std::string error;
        bool was_sent = false;
        std::function<void()> on_body;
    };

    void SetUp() override {
        open_engine();
        open_session();
        host = session->extend("test", NAR_EXTENSION_EVENT_SINK, idle_sink(), nullptr);
        http = service<nar_host_http>(host, NAR_HOST_HTTP);
    }
    nar_status start(const std::string& path, Seen& seen, nar_http_request request = {}) {
        const std::string where = server.url(path);
        request.size = sizeof request;
        request.url = detail::to_c(where);
        auto events = sized<nar_http_events>();
        events.on_response = [](void* user, uint64_t, const nar_http_response* response) {
            auto& its = *static_cast<Seen*>(user);
            its.status = response->status;
            for (uint64_t i = 0; i < response->header_count; ++i) {
                its.headers.emplace_back(detail::to_view(response->headers[i]));
            }
        };
        events.on_body = [](void* user, uint64_t, nar_str bytes) {
            auto& its = *static_cast<Seen*>(user);
            its.body += detail::to_view(bytes);
            if (its.on_body) its.on_body();
        };
        events.on_end = [](void* user, uint64_t, const nar_http_end* end) {
            auto& its = *static_cast<Seen*>(user);
            its.code = detail::to_view(end->error_code);
            its.error = detail::to_view(end->error);
            its.was_sent = end->was_sent != 0;
        };
        failure = {sizeof failure, "", ""};
        return http->start(host, &request, &events, &seen, &number, &failure);
    }
    bool ends(const Seen& seen) {
        return until([&] { return seen.code.has_value(); });
    }

    HttpServer server;
    const nar_host* host = nullptr;
    const nar_host_http* http = nullptr;
    uint64_t number = 0;
    nar_failure failure{};
};

TEST_F(HttpServiceTest, SendsHeadersAndBodyAndReturnsTheResponse) {
    const nar_str headers[] = {NAR_STR("X-Story: torch"), NAR_STR("Accept:application/json")};
    Seen sent;
    nar_http_request request{};
    request.headers = headers;
    request.header_count = 2;
    ASSERT_EQ(start("/headers-sent", sent, request), NAR_OK) << failure.message;
    ASSERT_TRUE(ends(sent));
    EXPECT_EQ(*sent.code, "") << sent.error;
    EXPECT_THAT(sent.body, HasSubstr("X-Story: torch"));
    EXPECT_THAT(sent.body, HasSubstr("Accept: application/json"));

    Seen echoed;
    nar_http_request post{};
    post.body = NAR_STR("What now?");
    ASSERT_EQ(start("/echo", echoed, post), NAR_OK);
    ASSERT_TRUE(ends(echoed));
    EXPECT_EQ(echoed.status, 200u);
    EXPECT_THAT(echoed.headers, Contains("X-Method: POST"));
    EXPECT_EQ(echoed.body, "What now?");
    EXPECT_TRUE(echoed.was_sent);
}

TEST_F(HttpServiceTest, DeliversAResponseAsItArrives) {
    Seen stream, go;
    ASSERT_EQ(start("/stream", stream), NAR_OK);
    ASSERT_TRUE(until([&] { return stream.body == "data: 1\n\n"; })) << "before the rest is sent";
    EXPECT_FALSE(stream.code.has_value());
    ASSERT_EQ(start("/go", go), NAR_OK);
    ASSERT_TRUE(ends(stream));
    EXPECT_EQ(stream.body, "data: 1\n\ndata: 2\n\n");
}

TEST_F(HttpServiceTest, StatusIsNotAFailure) {
    Seen seen;
    ASSERT_EQ(start("/status/503", seen), NAR_OK);
    ASSERT_TRUE(ends(seen));
    EXPECT_EQ(seen.status, 503u);
    EXPECT_EQ(*seen.code, "");
}

TEST_F(HttpServiceTest, FailureHasACodeAndAMessage) {
    const std::pair<const char*, const char*> cases[] = {{"/redirect", "HTTP_REDIRECT"},
                                                         {"/not-http", "HTTP_PROTOCOL"},
                                                         {"/cut", "HTTP_LOST"},
                                                         {"/big", "HTTP_TOO_LARGE"}};
    for (const auto& [path, code] : cases) {
        Seen seen;
        ASSERT_EQ(start(path, seen), NAR_OK);
        ASSERT_TRUE(ends(seen)) << path;
        EXPECT_EQ(*seen.code, code) << seen.error;
        EXPECT_THAT(seen.error, StartsWith("http://127.0.0.1")) << path;
    }
}

TEST_F(HttpServiceTest, EachTimeoutEndsItsPartOnly) {
    nar_http_request first{};
    first.first_byte_ms = 50;
    Seen silent;
    ASSERT_EQ(start("/stall", silent, first), NAR_OK);
    ASSERT_TRUE(ends(silent));
    EXPECT_EQ(*silent.code, "HTTP_TIMEOUT");
    EXPECT_THAT(silent.error, HasSubstr("no response within 50 ms"));
    EXPECT_TRUE(silent.was_sent);

    nar_http_request between{};
    between.between_ms = 60;
    Seen half;
    ASSERT_EQ(start("/stall-body", half, between), NAR_OK);
    ASSERT_TRUE(ends(half));
    EXPECT_EQ(half.body, "half ");
    EXPECT_THAT(half.error, HasSubstr("the response stopped for 60 ms"));

    nar_http_request total{};
    total.total_ms = 70;
    Seen slow;
    ASSERT_EQ(start("/stall-body", slow, total), NAR_OK);
    ASSERT_TRUE(ends(slow));
    EXPECT_THAT(slow.error, HasSubstr("not complete within 70 ms"));
}

TEST_F(HttpServiceTest, CancelledRequestIsSilent) {
    Seen seen;
    ASSERT_EQ(start("/stream", seen), NAR_OK);
    const uint64_t its = number;
    ASSERT_TRUE(until([&] { return !seen.body.empty(); }));
    EXPECT_EQ(http->cancel(host, its), NAR_OK);
    EXPECT_EQ(http->cancel(host, its), NAR_NOT_FOUND);
    Seen go;
    ASSERT_EQ(start("/go", go), NAR_OK);
    ASSERT_TRUE(ends(go));
    EXPECT_EQ(seen.body, "data: 1\n\n");
    EXPECT_FALSE(seen.code.has_value());
}

TEST_F(HttpServiceTest, MayBeCancelledInItsOwnCallback) {
    Seen seen;
    seen.on_body = [&] { EXPECT_EQ(http->cancel(host, number), NAR_OK); };
    ASSERT_EQ(start("/stream", seen), NAR_OK);
    ASSERT_TRUE(until([&] { return !seen.body.empty(); }));
    Seen other;
    ASSERT_EQ(start("/hello", other), NAR_OK);
    ASSERT_TRUE(ends(other));
    EXPECT_FALSE(seen.code.has_value());
}

TEST_F(HttpServiceTest, ThrowingCallbackDisablesThePluginAndCancelsTheRest) {
    Seen seen, waiting;
    ASSERT_EQ(start("/stall", waiting), NAR_OK);
    const uint64_t other = number;
    seen.on_body = [] { throw std::runtime_error("no ears"); };
    ASSERT_EQ(start("/hello", seen), NAR_OK);
    ASSERT_TRUE(until([&] { return log.find("no ears") != std::string::npos; }));
    EXPECT_EQ(start("/hello", seen), NAR_GONE);
    EXPECT_EQ(http->cancel(host, other), NAR_NOT_FOUND) << "it is cancelled already";
    EXPECT_FALSE(seen.code.has_value());
}

TEST_F(HttpServiceTest, WrongRequestIsRefusedWithTheReason) {
    Seen seen;
    nar_http_request request{};
    request.reserved = 1;
    EXPECT_EQ(start("/hello", seen, request), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(failure.message, HasSubstr("reserved"));
    const nar_str headers[] = {NAR_STR("no colon")};
    request = {};
    request.headers = headers;
    request.header_count = 1;
    EXPECT_EQ(start("/hello", seen, request), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(failure.message, HasSubstr("has no colon"));
    for (int i = 0; i < 64; ++i) ASSERT_EQ(start("/stall", seen), NAR_OK);
    EXPECT_EQ(start("/hello", seen), NAR_BUSY);
}

// A narrator's question keeps a turn running; its requests alone do not.
TEST_F(HttpServiceTest, DoesNotKeepTheEngineRunning) {
    Seen seen;
    ASSERT_EQ(start("/stall", seen), NAR_OK);
    EXPECT_FALSE(engine->is_busy());
    session.reset();
    EXPECT_FALSE(seen.code.has_value()) << "no callback after the end of the session";
}

}  // namespace
}  // namespace narratoria::test
