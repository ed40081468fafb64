// SPDX-License-Identifier: Apache-2.0
#include "http/client.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "conformance/folder.hpp"
#include "support/http_server.hpp"
#include "support/leftovers.hpp"
#include "unit/base/fake_clock.hpp"

namespace narratoria::http {
namespace {

using test::HttpServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Records one exchange.
class Heard : public Listener {
public:
    void on_response(const Response& its_response) override {
        response = its_response;
        ++responses;
        if (on_start) on_start();
    }
    void on_body(std::string_view bytes) override {
        if (keep) body += bytes;
        size += bytes.size();
        if (on_bytes) on_bytes();
    }
    void on_end(const Error* its_error) override {
        ++ends;
        if (its_error != nullptr) error = *its_error;
        failed = its_error != nullptr;
        if (on_over) on_over();
    }

    Response response;
    int responses = 0;
    std::string body;
    uint64_t size = 0;
    bool keep = true;
    int ends = 0;
    bool failed = false;
    Error error;
    std::function<void()> on_start;
    std::function<void()> on_bytes;
    std::function<void()> on_over;
};

int threads() {
    int count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
        ++count;
    return count;
}

// True if a peer has closed a connection of this process.
bool has_half_closed_connection() {
    for (const auto& [number, target] : hostile::open_descriptors()) {
        tcp_info info{};
        socklen_t size = sizeof info;
        if (::getsockopt(number, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
            info.tcpi_state == TCP_CLOSE_WAIT) {
            return true;
        }
    }
    return false;
}

class HttpClient : public testing::Test {
protected:
    static void SetUpTestSuite() { server = new HttpServer; }
    static void TearDownTestSuite() { delete server; }

    Request get(const std::string& path) const {
        Request request;
        request.url = server->url(path);
        return request;
    }
    Request post(const std::string& path, std::string body) const {
        Request request = get(path);
        request.method = "POST";
        request.body = std::move(body);
        return request;
    }
    void run(Heard& heard) {
        while (heard.ends == 0) loop.run_once();
    }
    Heard play(Request request) {
        Heard heard;
        const auto exchange = client.start(std::move(request), heard);
        EXPECT_EQ(heard.ends, 0) << "start() must not call the listener";
        run(heard);
        EXPECT_EQ(heard.ends, 1);
        EXPECT_EQ(client.running(), 0u);
        return heard;
    }
    Heard play(const std::string& path) { return play(get(path)); }
    Error fail(Request request, Failure failure) {
        const Heard heard = play(std::move(request));
        EXPECT_TRUE(heard.failed);
        EXPECT_EQ(static_cast<int>(heard.error.failure), static_cast<int>(failure))
            << heard.error.text;
        return heard.error;
    }
    Error fail(const std::string& path, Failure failure) { return fail(get(path), failure); }
    std::string count_of(const std::string& path) { return play("/count" + path).body; }

    static HttpServer* server;
    Loop loop;
    process::Pool pool{loop, ""};
    Client client{loop, pool};
};

HttpServer* HttpClient::server = nullptr;

// ---- successful exchanges

TEST_F(HttpClient, GetsAResponse) {
    const Heard heard = play("/hello");
    EXPECT_FALSE(heard.failed) << heard.error.text;
    EXPECT_EQ(heard.response.status, 200);
    EXPECT_EQ(heard.response.version, "1.1");
    ASSERT_NE(heard.response.find("content-length"), nullptr);
    EXPECT_EQ(*heard.response.find("content-length"), "5");
    EXPECT_EQ(heard.response.find("x"), nullptr);
    EXPECT_EQ(heard.body, "hello");
}

TEST_F(HttpClient, SendsMethodHeadersAndBody) {
    std::string large(3'000'000, 'a');
    large[5] = '\0';
    for (const std::string& body : {std::string(), std::string("{}"), large}) {
        for (const char* method : {"POST", "PUT", "DELETE"}) {
            Request request = post("/echo", body);
            request.method = method;
            const Heard heard = play(request);
            EXPECT_EQ(*heard.response.find("X-Method"), method);
            EXPECT_TRUE(heard.body == body);
        }
    }
    Request request = post("/headers-sent", "{}");
    request.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
    const std::string sent = play(request).body;
    EXPECT_THAT(sent, AllOf(HasSubstr("Content-Type: application/json"), HasSubstr("X-Empty:"),
                            HasSubstr("User-Agent: narratoria")));
    EXPECT_THAT(sent, AllOf(Not(HasSubstr("Expect")), Not(HasSubstr("Accept-Encoding")),
                            Not(HasSubstr("Cookie"))));
    EXPECT_THAT(play(post("/headers-sent", "{}")).body, Not(HasSubstr("Content-Type")));
}

TEST_F(HttpClient, SendsCredentialsOfTheUrl) {
    Request request;
    request.url = "http://ann:secret@127.0.0.1:" + std::to_string(server->port()) + "/headers-sent";
    EXPECT_THAT(play(request).body, HasSubstr("Authorization: Basic YW5uOnNlY3JldA=="));
}

TEST_F(HttpClient, DeliversAnyStatus) {
    for (const int status : {204, 304, 400, 404, 500, 503}) {
        const Heard heard = play("/status/" + std::to_string(status));
        EXPECT_FALSE(heard.failed) << heard.error.text;
        EXPECT_EQ(heard.response.status, status);
    }
}

TEST_F(HttpClient, ReusesAConnection) {
    const std::string first = play("/connection").body;
    EXPECT_EQ(play("/connection").body, first);
    EXPECT_EQ(play(post("/echo", "x")).body, "x");
    EXPECT_EQ(play("/connection").body, first);
}

TEST_F(HttpClient, ReadsSlowUnsizedAndHintedResponses) {
    for (const char* path :
         {"/byte-by-byte", "/no-length", "/early-hints", "/too-short-a-length"}) {
        const Heard heard = play(path);
        EXPECT_FALSE(heard.failed) << path << heard.error.text;
        EXPECT_EQ(heard.body, "hello") << path;
        EXPECT_EQ(heard.responses, 1) << path;
    }
}

TEST_F(HttpClient, DeliversBytesAsTheyArrive) {
    Heard stream, go;
    std::unique_ptr<Exchange> trigger;
    stream.on_bytes = [&] {
        if (trigger == nullptr) {
            EXPECT_EQ(stream.body, "data: 1\n\n");
            trigger = client.start(get("/go"), go);
        }
    };
    const auto exchange = client.start(get("/stream"), stream);
    run(stream);
    EXPECT_EQ(stream.body, "data: 1\n\ndata: 2\n\n");
    run(go);
}

TEST_F(HttpClient, RunsAThousandExchangesAtOnceOnOneThread) {
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    rlimit more = old;
    more.rlim_cur = old.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &more);
    const HttpServer large;  // with the raised descriptor limit
    const int before = threads();
    std::vector<Heard> heard(1000);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    int over = 0;
    for (Heard& each : heard) {
        each.on_over = [&] { ++over; };
        Request request;
        request.url = large.url("/gate/" + std::to_string(heard.size()));
        exchanges.push_back(client.start(request, each));
    }
    while (over < static_cast<int>(heard.size())) loop.run_once();
    for (const Heard& each : heard) {
        EXPECT_FALSE(each.failed) << each.error.text;
        EXPECT_THAT(each.body, HasSubstr("through"));
    }
    EXPECT_EQ(threads(), before);
    ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST_F(HttpClient, StaysWithinTheTimeBudget) {
    Heard heard;
    const auto exchange = client.start(get("/hello"), heard);
    while (heard.ends == 0) loop.run_for(200);
    EXPECT_EQ(heard.body, "hello");
}

TEST_F(HttpClient, ResolvesNamesInAChildProcess) {
    const int before = threads();
    char name[256] = {};
    ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
    Request request = get("/hello");
    request.times.connect_ms = 0;  // without a reachable name server, the lookup fails late
    request.url = "http://" + std::string(name) + ":" + std::to_string(server->port()) + "/hello";
    Heard heard;
    int most = 0;
    const auto exchange = client.start(request, heard);
    EXPECT_EQ(pool.busy(), 1u);
    while (heard.ends == 0) {
        loop.run_once();
        most = std::max(most, threads());
    }
    // The server listens on 127.0.0.1 only; the host name may resolve to another address.
    EXPECT_TRUE(!heard.failed || heard.error.failure == Failure::Connect ||
                heard.error.failure == Failure::Lookup)
        << heard.error.text;
    EXPECT_EQ(most, before);
    request.url = "http://no-such-name.invalid/";
    const Error error = fail(request, Failure::Lookup);
    EXPECT_EQ(
        error.text,
        "http://no-such-name.invalid/: the host name no-such-name.invalid cannot be resolved: no "
        "address is known for this name. Is it spelled correctly, and does this machine have a "
        "network?");
    EXPECT_EQ(threads(), before);
}

TEST_F(HttpClient, ResolvesLocalhostWithoutAChildProcess) {
    Request request = get("/hello");
    request.url = "http://localhost:" + std::to_string(server->port()) + "/hello";
    const int before = threads();
    Heard heard;
    const auto exchange = client.start(request, heard);
    EXPECT_EQ(pool.busy(), 0u);
    run(heard);
    EXPECT_EQ(heard.body, "hello");
    EXPECT_EQ(threads(), before);
}

TEST_F(HttpClient, IgnoresProxyVariables) {
    for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) {
        ::setenv(name, "http://127.0.0.1:1", 1);
    }
    EXPECT_EQ(play("/hello").body, "hello");
    for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
}

// ---- failures

TEST_F(HttpClient, RefusesInvalidRequests) {
    Request request;
    request.url = "ftp://ann:secret@127.0.0.1/";
    EXPECT_EQ(fail(request, Failure::Setup).text,
              "the URL cannot be used: it does not begin with http:// or https://");
    request = get("/hello");
    request.method = "GET /other HTTP/1.1\r\nX";
    EXPECT_THAT(fail(request, Failure::Setup).text, HasSubstr("method is not valid"));
    request = get("/hello");
    request.headers = {{"X-A", "b\r\nX-C: d"}};
    EXPECT_THAT(fail(request, Failure::Setup).text,
                HasSubstr("header X-A has a control character"));
    request.headers = {{"X A", "b"}};
    EXPECT_THAT(fail(request, Failure::Setup).text, HasSubstr("name of a header"));
}

TEST_F(HttpClient, ReportsRefusedConnection) {
    Request request;
    request.url = "http://ann:secret@127.0.0.1:1/a?key=secret";
    const Error error = fail(request, Failure::Connect);
    EXPECT_EQ(
        error.text,
        "http://127.0.0.1:1/a?…: no connection: Connection refused. Is the server running, and "
        "is the address right?");
    EXPECT_FALSE(error.sent);
}

TEST_F(HttpClient, RefusesRedirects) {
    const Error error = fail("/redirect", Failure::Redirect);
    EXPECT_EQ(error.text,
              server->url("/redirect") +
                  ": the server redirects (status 302, "
                  "http://127.0.0.1:9/other?…), and redirects are not followed. Use the "
                  "final address.");
}

TEST_F(HttpClient, EnforcesEachTimeout) {
    Request request = get("/stall");
    request.times.first_byte_ms = 30;
    const Error first = fail(request, Failure::Time);
    EXPECT_EQ(first.text, request.url +
                              ": no response within 30 ms. The request was sent; the server "
                              "may still be working on it.");
    EXPECT_TRUE(first.sent);
    request.times.first_byte_ms = 0;
    request.times.total_ms = 40;
    EXPECT_THAT(fail(request, Failure::Time).text, HasSubstr("no response within 40 ms"));
    request = get("/stall-body");
    request.times.first_byte_ms = 100'000;
    request.times.total_ms = 200;
    EXPECT_THAT(fail(request, Failure::Time).text,
                HasSubstr("the response was not complete within 200 ms (5 bytes had arrived)"));
}

TEST_F(HttpClient, TimesOutAConnectionAttempt) {
    // The backlog of this socket is full, so the kernel drops further connections.
    const Descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listening.get(), any, size), 0);
    ASSERT_EQ(::listen(listening.get(), 0), 0);
    ASSERT_EQ(::getsockname(listening.get(), any, &size), 0);
    std::vector<Descriptor> full;
    for (int i = 0; i < 4; ++i) {
        full.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        ::connect(full.back().get(), any, size);
    }
    Request request;
    request.url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    request.times.connect_ms = 50;
    const Error error = fail(request, Failure::Time);
    EXPECT_EQ(error.text, request.url +
                              ": no connection within 50 ms. Is the server running there, "
                              "and can this machine reach it?");
    EXPECT_FALSE(error.sent);
}

TEST_F(HttpClient, ReportsHowAResponseWasLost) {
    EXPECT_THAT(fail("/close", Failure::Lost).text,
                HasSubstr("the server closed the connection before it responded. The request was "
                          "sent; the server may have acted on it."));
    EXPECT_THAT(fail("/reset", Failure::Lost).text,
                HasSubstr("the connection broke before the response: Connection reset by peer"));
    EXPECT_THAT(fail("/cut", Failure::Lost).text,
                HasSubstr("the response was cut off after 4 of 100 bytes"));
    EXPECT_THAT(fail("/cut-chunk", Failure::Lost).text,
                HasSubstr("the response was cut off after 4 bytes"));
    EXPECT_THAT(fail("/not-http", Failure::Protocol).text,
                HasSubstr("the response is not valid HTTP"));
    EXPECT_THAT(fail("/odd-length", Failure::Protocol).text, HasSubstr("Invalid Content-Length"));

    Heard heard, go;
    std::unique_ptr<Exchange> trigger;
    heard.on_bytes = [&] { trigger = client.start(get("/go"), go); };
    const auto exchange = client.start(get("/reset-body"), heard);
    run(heard);
    EXPECT_THAT(heard.error.text,
                HasSubstr("the connection broke after 5 bytes of the response: Connection reset"));
    run(go);
}

TEST_F(HttpClient, LimitsTheBody) {
    Request request = get("/hello");
    request.max_body_bytes = 5;
    EXPECT_EQ(play(request).body, "hello");
    request.max_body_bytes = 4;
    EXPECT_THAT(fail(request, Failure::BodyLimit).text,
                HasSubstr("the response has 5 bytes; the limit is 4"));
    request.url = server->url("/no-length");
    EXPECT_THAT(fail(request, Failure::BodyLimit).text,
                HasSubstr("the response is longer than 4 bytes"));
    for (const char* path : {"/big", "/big-without-length"}) {
        request = get(path);
        request.max_body_bytes = 1'000'000;
        Heard heard;
        const auto exchange = client.start(request, heard);
        run(heard);
        EXPECT_EQ(heard.error.failure, Failure::BodyLimit) << heard.error.text;
        EXPECT_LE(heard.size, 1'000'000u);
    }
    request.max_body_bytes = 100'000'000;
    Heard heard;
    heard.keep = false;
    const auto exchange = client.start(request, heard);
    run(heard);
    EXPECT_FALSE(heard.failed) << heard.error.text;
    EXPECT_EQ(heard.size, 100'000'000u);
}

TEST_F(HttpClient, LimitsTheHeaders) {
    for (const char* path : {"/endless-headers", "/endless-header", "/endless-continue"}) {
        const Error error = fail(path, Failure::HeaderLimit);
        EXPECT_THAT(error.text, HasSubstr("headers")) << path;
    }
}

TEST_F(HttpClient, RetriesARequestOnlyIfNoByteWasSent) {
    // The server reads the second request on a connection and closes it without a response.
    const std::string before = count_of("/close");
    const Heard lost = play(post("/close", "once"));
    EXPECT_EQ(lost.error.failure, Failure::Lost) << lost.error.text;
    EXPECT_TRUE(lost.error.sent);
    EXPECT_THAT(lost.error.text, HasSubstr("is not sent again"));
    EXPECT_EQ(std::stoi(count_of("/close")), std::stoi(before) + 1);
    // The server closes the connection after its response; the next request opens a new one.
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(play("/hello-and-close").failed);
        while (!has_half_closed_connection()) {
        }
        EXPECT_EQ(play(post("/echo", "again")).body, "again");
    }
}

// ---- cancellation and cleanup

TEST_F(HttpClient, DestroyingTheExchangeCancelsIt) {
    Heard heard, other;
    auto exchange = client.start(get("/stall"), heard);
    loop.run_for(0);
    exchange.reset();
    EXPECT_EQ(client.running(), 0u);
    exchange = client.start(get("/hello"), heard);  // before anything is sent
    exchange.reset();
    exchange = client.start(get("/stream"), heard);
    while (heard.body.empty()) loop.run_once();
    exchange.reset();
    const auto next = client.start(get("/hello"), other);
    run(other);
    EXPECT_EQ(heard.ends, 0);
    EXPECT_EQ(other.body, "hello");
}

TEST_F(HttpClient, ListenerMayDestroyExchangesInAnyCallback) {
    for (int when = 0; when < 3; ++when) {
        Heard heard, stalled, last;
        std::unique_ptr<Exchange> exchange, other, next;
        const auto act = [&] {
            exchange.reset();
            other.reset();
            next = client.start(get("/hello"), last);
        };
        (when == 0 ? heard.on_start : when == 1 ? heard.on_bytes : heard.on_over) = act;
        other = client.start(get("/stall"), stalled);
        exchange = client.start(get("/hello"), heard);
        run(last);
        EXPECT_EQ(last.body, "hello");
        EXPECT_EQ(stalled.ends, 0);
        EXPECT_EQ(heard.ends, when == 2 ? 1 : 0);
        EXPECT_EQ(client.running(), 0u);
    }
}

TEST_F(HttpClient, ListenerExceptionReachesTheLoopDriver) {
    Heard heard;
    heard.on_bytes = [] { throw std::runtime_error("of the listener"); };
    const auto exchange = client.start(get("/hello"), heard);
    std::string text;
    while (heard.ends == 0) {
        try {
            loop.run_once();
        } catch (const std::exception& thrown) {
            text += thrown.what();
        }
    }
    EXPECT_EQ(text, "of the listener");
    EXPECT_EQ(heard.body, "hello");
}

TEST_F(HttpClient, LeaksNoDescriptorAndSetsCloseOnExec) {
    { Loop first; }
    std::map<int, std::string> before;
    {
        Heard heard;
        Loop own;
        process::Pool its_pool(own, "");
        before = hostile::open_descriptors();
        Client its_client(own, its_pool);
        const auto one = its_client.start(get("/hello"), heard);
        const auto two = its_client.start(get("/stall"), heard);
        while (heard.ends == 0) own.run_once();
        for (const auto& [number, target] : hostile::open_descriptors()) {
            if (before.count(number) != 0 || target.find("socket:") == std::string::npos) continue;
            sockaddr_storage address{};
            socklen_t size = sizeof address;
            ::getsockname(number, reinterpret_cast<sockaddr*>(&address), &size);
            // libcurl's internal socket pair is not close-on-exec.
            if (address.ss_family != AF_INET) continue;
            EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0) << number;
        }
    }
    for (const auto& [number, target] : hostile::open_descriptors()) {
        EXPECT_TRUE(before.count(number) != 0) << number << " " << target;
    }
}

TEST_F(HttpClient, ClosesIdleConnectionsAfterAMinute) {
    test::FakeClock clock;
    Loop own(&clock);
    process::Pool its_pool(own, "");
    Client its_client(own, its_pool);
    const auto before = hostile::open_descriptors().size();
    for (int i = 0; i < 2; ++i) {
        Heard heard;
        const auto exchange = its_client.start(get("/hello"), heard);
        while (heard.ends == 0) own.run_once();
        EXPECT_EQ(heard.body, "hello");
        own.run_for(0);
        EXPECT_GT(hostile::open_descriptors().size(), before);
        clock.advance(60'000);
        EXPECT_EQ(hostile::open_descriptors().size(), before);
    }
}

TEST_F(HttpClient, FailsWhenDescriptorsRunOut) {
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    ASSERT_EQ(play("/hello").body, "hello");  // loads libcurl
    std::vector<std::unique_ptr<Exchange>> exchanges;
    Heard stalled, heard;
    exchanges.push_back(client.start(get("/stall"), stalled));
    loop.run_for(0);
    rlimit none = old;
    none.rlim_cur = 3;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    exchanges.push_back(client.start(get("/hello"), heard));
    run(heard);
    ::setrlimit(RLIMIT_NOFILE, &old);
    EXPECT_TRUE(heard.failed);
    EXPECT_THAT(heard.error.text, HasSubstr("Too many open files"));
}

// ---- TLS

// A server with a self-signed certificate for localhost.
class HttpsClient : public HttpClient {
protected:
    static void SetUpTestSuite() {
        files = new test::Folder;
        certificate = new std::string(*files / "certificate.pem");
        const std::string key = *files / "key.pem";
        const std::string command =
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
            key + " -out " + *certificate + " 2>/dev/null";
        if (std::system(command.c_str()) != 0) GTEST_SKIP() << "openssl is not installed";
        server = new HttpServer({*certificate, key});
    }
    static void TearDownTestSuite() {
        delete std::exchange(server, nullptr);
        delete certificate;
        delete files;
    }
    void SetUp() override {
        if (server == nullptr) GTEST_SKIP() << "openssl is not installed";
    }
    Request get(const std::string& path) const {
        Request request;
        request.url = server->tls_url(path);
        return request;
    }

    static test::Folder* files;
    static std::string* certificate;
};

test::Folder* HttpsClient::files = nullptr;
std::string* HttpsClient::certificate = nullptr;

TEST_F(HttpsClient, TrustsConfiguredAuthorities) {
    client.trust(*certificate);
    const int before = threads();
    const Heard heard = play(get("/hello"));
    EXPECT_FALSE(heard.failed) << heard.error.text;
    EXPECT_EQ(heard.body, "hello");
    const std::string connection = play(get("/connection")).body;
    EXPECT_EQ(play(get("/connection")).body, connection);
    EXPECT_EQ(threads(), before);
}

TEST_F(HttpsClient, RefusesACertificateOfAnUnknownAuthority) {
    const Error error = fail(get("/hello"), Failure::Tls);
    EXPECT_THAT(error.text, AllOf(HasSubstr("the server's certificate is not trusted: "),
                                  HasSubstr("self-signed"), HasSubstr("SSL_CERT_FILE")));
    EXPECT_FALSE(error.sent);
}

TEST_F(HttpsClient, RefusesACertificateForAnotherName) {
    client.trust(*certificate);
    Request request;
    request.url = "https://127.0.0.1:" + std::to_string(server->port("tls_port")) + "/hello";
    EXPECT_THAT(fail(request, Failure::Tls).text,
                HasSubstr("the server's certificate is not trusted"));
}

TEST_F(HttpsClient, HonoursSslCertFile) {
    ::setenv("SSL_CERT_FILE", certificate->c_str(), 1);
    Client informed(loop, pool);
    ::setenv("SSL_CERT_FILE", "/no/such/file", 1);
    Client misinformed(loop, pool);
    ::unsetenv("SSL_CERT_FILE");
    Heard heard, failed;
    const auto one = informed.start(get("/hello"), heard);
    const auto two = misinformed.start(get("/hello"), failed);
    run(heard);
    run(failed);
    EXPECT_EQ(heard.body, "hello");
    EXPECT_THAT(failed.error.text, HasSubstr("the file of trusted authorities cannot be read"));
}

TEST_F(HttpsClient, ReportsServerWithoutTls) {
    Request request;
    request.url = "https://127.0.0.1:" + std::to_string(server->port()) + "/hello";
    const Heard heard = play(request);
    EXPECT_TRUE(heard.failed);
    EXPECT_THAT(heard.error.text, AllOf(HasSubstr(request.url + ": no TLS connection: "),
                                        HasSubstr("Does the server speak https on this port?")));
}

TEST_F(HttpsClient, ReportsUnansweredTlsHandshake) {
    const Descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::listen(listening.get(), 8), 0);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    Request request;
    request.url = "https://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    request.times.connect_ms = 100;
    EXPECT_EQ(fail(request, Failure::Time).text,
              request.url +
                  ": no connection within 100 ms. Is the server running there, and does it speak "
                  "https on this port?");
}

TEST_F(HttpsClient, LostConnectionRaisesNoSignal) {
    client.trust(*certificate);
    ASSERT_NE(::signal(SIGPIPE, SIG_DFL), SIG_ERR);
    for (const char* path : {"/close", "/reset"}) {
        // More than the socket buffer holds, so the rest is written after the reset.
        Request request = get(path);
        request.method = "POST";
        request.body.assign(40'000'000, 'x');
        EXPECT_TRUE(play(request).failed) << path;
        EXPECT_TRUE(play(get(path)).failed) << path;
    }
}

// ---- HTTP/2

constexpr const char* kHttp2Server = R"(
const http2 = require('http2'), fs = require('fs');
let sessions = 0;
const server = http2.createSecureServer({cert: fs.readFileSync(process.argv[2]),
                                         key: fs.readFileSync(process.argv[3])});
server.on('session', () => ++sessions);
server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  if (headers[':path'] === '/reset') return stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  if (headers[':path'] === '/stall') return;
  stream.respond({':status': 200});
  stream.end(headers[':path'] === '/sessions' ? String(sessions) : 'hello');
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({tls_port: server.address().port})
    .replace(':', ': ')));
process.stdin.on('data', () => {}).on('end', () => process.exit(0));
)";

TEST_F(HttpsClient, SpeaksHttp2AndSharesAConnection) {
    if (std::system("command -v node >/dev/null") != 0) GTEST_SKIP() << "node is not installed";
    const HttpServer http2("node", files->write("server.js", kHttp2Server),
                           {*certificate, *files / "key.pem"});
    client.trust(*certificate);
    Request request;
    request.url = http2.tls_url("/hello");
    std::vector<Heard> heard(50);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (Heard& each : heard) exchanges.push_back(client.start(request, each));
    for (Heard& each : heard) {
        run(each);
        EXPECT_FALSE(each.failed) << each.error.text;
        EXPECT_EQ(each.response.version, "2");
        EXPECT_EQ(each.body, "hello");
    }
    // Cancelling a stream keeps the connection open for other streams.
    Heard stalled;
    request.url = http2.tls_url("/stall");
    auto exchange = client.start(request, stalled);
    request.url = http2.tls_url("/reset");
    Heard broken;
    const auto other = client.start(request, broken);
    run(broken);
    EXPECT_TRUE(broken.failed);
    EXPECT_TRUE(broken.error.sent);
    exchange.reset();
    request.url = http2.tls_url("/sessions");
    EXPECT_EQ(play(request).body, "1");
}

}  // namespace
}  // namespace narratoria::http
