// SPDX-License-Identifier: Apache-2.0
// The web page's server inside a host's process: effects on the process. tests/page/server covers
// what browsers see.

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/story_host.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;

std::atomic<int> broken_pipes{0};

// The text between the first `begin` and the next `end`, or nothing if either is missing.
std::optional<std::string> between(std::string_view text, std::string_view begin,
                                   std::string_view end) {
    const std::size_t from = text.find(begin);
    if (from == std::string_view::npos) return std::nullopt;
    text.remove_prefix(from + begin.size());
    const std::size_t count = text.find(end);
    if (count == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(0, count));
}

class Browser {
public:
    Browser(int port, const std::string& request) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const std::string text = request + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port);
        send(text + "\r\n");
    }
    Browser(const Browser&) = delete;
    ~Browser() { ::close(socket_); }

    void send(const std::string& text) {
        EXPECT_EQ(::send(socket_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    // Everything received so far.
    const std::string& received() {
        char piece[65536];
        for (;;) {
            const ssize_t got = ::recv(socket_, piece, sizeof piece, MSG_DONTWAIT);
            if (got <= 0) return came_;
            came_.append(piece, static_cast<std::size_t>(got));
        }
    }
    // Closes the socket so that later data is answered with a reset.
    void vanish() {
        const linger at_once{1, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        ::shutdown(socket_, SHUT_RD);
    }

private:
    int socket_;
    std::string came_;
};

class WebTest : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(built_plugin("web"))) GTEST_SKIP() << "there is no page";
        host.story(
            "[narrator]\nname = \"template\"\n[plugins.\"narratoria.web\"]\naddress = "
            "\"127.0.0.1\"");
        host.folder.write("prompts.json",
                          R"({"prompts":[],"unmatched":{"narrative":"You said: {prompt}"}})");
    }
    // Waits for the published address, which is followed by a newline.
    std::string address_of(const Session& session) {
        std::optional<Text> published;
        EXPECT_TRUE(host.until([&] {
            published = session.published("narratoria.web", "url");
            return published.has_value();
        })) << host.log;
        return published ? std::string(published->view()) + "\n" : std::string();
    }
    // These tests' stories fix the address to 127.0.0.1.
    static int port_of(std::string_view url) {
        return std::stoi(between(url, "http://127.0.0.1:", "/#token=").value_or("0"));
    }
    void open(SessionOptions options = {}, const std::string& patch_at_once = {}) {
        host.open(options);
        if (!patch_at_once.empty()) host.session->patch_state(patch_at_once);
        const std::string url = address_of(*host.session);
        port = port_of(url);
        const std::string token = between(url, "/#token=", "\n").value_or("");
        EXPECT_THAT(host.log, HasSubstr("the page is at http://127.0.0.1:" + std::to_string(port)));
        EXPECT_THAT(host.log, Not(HasSubstr(token)));
        const std::string body = R"({"token":")" + token + "\"}";
        Browser browser(port, "POST /api/enter");
        browser.send("Origin: http://127.0.0.1:" + std::to_string(port) +
                     "\r\nContent-Type: application/json\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body);
        const auto set = [&] { return between(browser.received(), "Set-Cookie: ", ";"); };
        ASSERT_TRUE(host.until([&] { return set().has_value(); }));
        cookie = set().value();
    }
    std::string let_in() const { return "Cookie: " + cookie + "\r\n\r\n"; }

    // The first message of a stream, up to its empty line.
    std::string session_message() {
        Browser browser(port, "GET /api/events?after=0");
        browser.send(let_in());
        std::size_t begin = 0;
        std::size_t end = 0;
        const auto is_whole = [&] {
            const std::string& came = browser.received();
            begin = came.find("event: session");
            end = begin == std::string::npos ? begin : came.find("\n\n", begin);
            return end != std::string::npos;
        };
        EXPECT_TRUE(host.until(is_whole));
        return browser.received().substr(begin, end + 2 - begin);
    }

    StoryHost host{"web"};
    int port = 0;
    std::string cookie;
};

TEST_F(WebTest, VanishedBrowserRaisesNoSignal) {
    open();
    struct sigaction counts {};
    counts.sa_handler = [](int) { ++broken_pipes; };
    struct sigaction before {};
    ASSERT_EQ(::sigaction(SIGPIPE, &counts, &before), 0);
    for (int round = 0; round < 5; ++round) {
        Browser browser(port, "GET /api/events?after=0");
        browser.send(let_in());
        ASSERT_TRUE(host.until([&] { return !browser.received().empty(); }));
        browser.vanish();
        host.prompt(std::string(2'000'000, 'x'));
    }
    host.prompt("go on");
    EXPECT_EQ(broken_pipes.load(), 0);
    ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

TEST_F(WebTest, LineBreaksInTheStateDoNotSplitTheMessage) {
    open({.state = "{\"a\":[\n 1,\r\n 2],\"b\":\"x\"}"});
    EXPECT_THAT(session_message(), testing::EndsWith("\"state\":{\"a\":[1,2],\"b\":\"x\"}}\n\n"));
    host.prompt("hello");
    EXPECT_THAT(session_message(), HasSubstr("\"b\":\"x\"}}\n\n"));
}

TEST_F(WebTest, StateBeforeTheFirstRecordIsTheInitialOne) {
    open({.state = R"({"hp":1})"});
    host.session->patch_state(R"({"hp":2})");
    EXPECT_THAT(session_message(), HasSubstr(R"("last":1,"turns":[],"state":{"hp":1}})"));
}

TEST_F(WebTest, StatePatchedBeforeTheFirstLoopIsOneLine) {
    open({}, "{\"hp\":[\n3]}");
    EXPECT_THAT(session_message(),
                HasSubstr("\"last\":1,\"turns\":[],\"state\":{\"hp\":[3]}}\n\n"));
}

TEST_F(WebTest, StalledStreamsShareOneState) {
    constexpr std::size_t kSize = 4'000'000;
    open({.state = "{\"large\":\"" + std::string(kSize, 'x') + "\"}"});
    const auto resident = [] {
        std::ifstream file("/proc/self/statm");
        std::size_t pages = 0;
        file >> pages >> pages;
        return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    };
    [[maybe_unused]] const std::size_t before = resident();
    std::vector<std::unique_ptr<Browser>> stalled;
    for (int count = 0; count < 30; ++count) {
        stalled.push_back(std::make_unique<Browser>(port, "GET /api/events?after=0"));
        stalled.back()->send(let_in());
    }
    // The last stream reads: by then the others have been served as far as they let the server.
    EXPECT_THAT(session_message().size(), testing::Gt(kSize));
#ifndef NARRATORIA_SANITIZED  // its shadow memory grows with what is touched
    EXPECT_LT(resident(), before + 10 * kSize);
#endif
}

TEST_F(WebTest, SessionEndsDespiteOpenConnections) {
    open();
    Browser reads(port, "GET /api/events?after=0");
    reads.send(let_in());
    ASSERT_TRUE(
        host.until([&] { return reads.received().find("event: session") != std::string::npos; }));
    const Browser silent(port, "GET /");
    host.prompt("hello");
    host.close();
    EXPECT_THAT(host.log, testing::Not(HasSubstr("threw")));
}

TEST_F(WebTest, EachSessionHasItsOwnPageAndCookie) {
    open();
    const int first_port = port;
    const std::string first_cookie = cookie;
    Session second(*host.engine, SessionOptions{.story = host.folder.path()});
    const int second_port = port_of(address_of(second));
    EXPECT_NE(first_port, second_port);
    Browser browser(second_port, "GET /");
    browser.send("Cookie: " + first_cookie + "\r\n\r\n");
    ASSERT_TRUE(host.until([&] { return !browser.received().empty(); }));
    EXPECT_THAT(browser.received(), HasSubstr("403"));
}

TEST_F(WebTest, TakenPortDisablesOnlyThePage) {
    open();
    StoryHost other{"web"};
    other.story("[plugins.\"narratoria.web\"]\naddress = \"127.0.0.1\"\nport = " +
                std::to_string(port));
    other.folder.write("prompts.json", R"({"prompts":[],"unmatched":{"narrative":"Yes."}})");
    other.open();
    EXPECT_THAT(other.log, HasSubstr("port " + std::to_string(port) + " of 127.0.0.1 is in use"));
    EXPECT_EQ(other.prompt("go").narrative, "Yes.");
}

}  // namespace
}  // namespace narratoria::test
