// SPDX-License-Identifier: Apache-2.0
#pragma once
// A server with the chat completions of OpenAI, on loopback.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace narratoria::bench {

// For one client with one connection at a time. All calls block; one thread makes them.
class ChatServer {
public:
    ChatServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        if (::bind(listener_, general, size) != 0 || ::listen(listener_, 8) != 0 ||
            ::getsockname(listener_, general, &size) != 0) {
            throw std::system_error(errno, std::generic_category(), "the server cannot listen");
        }
        // Not /v1, at which a client may also ask it to count tokens.
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/chat";
    }
    ChatServer(const ChatServer&) = delete;

    const std::string& url() const { return url_; }

    // The body of the next request, on the open connection or on a new one.
    std::string request() {
        std::string body;
        while (!read(body)) {
            if (connection_ >= 0) ::close(connection_);
            rest_.clear();
            connection_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            const int yes = 1;
            ::setsockopt(connection_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        }
        return body;
    }

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;
            bytes.remove_prefix(static_cast<size_t>(sent));
        }
    }

    // Returns when the client has closed the connection.
    void wait_for_close() {
        while (receive()) {
        }
    }

    // ---- parts of replies

    static constexpr std::string_view kStream =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

    // A piece of a streamed answer. `text` is the inside of a JSON string.
    static std::string piece(std::string_view text) {
        return chunk(R"(data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":)"
                     R"({"content":")" +
                     std::string(text) + "\"}}]}\n\n");
    }

    static std::string end() {
        return chunk(R"(data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},)"
                     R"("finish_reason":"stop"}]})"
                     "\n\ndata: [DONE]\n\n") +
               "0\r\n\r\n";
    }

    // A reply that is not streamed.
    static std::string whole(std::string_view json) {
        return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(json.size()) + "\r\n\r\n" + std::string(json);
    }

private:
    static std::string chunk(const std::string& data) {
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", data.size());
        return size + data + "\r\n";
    }

    bool receive() {
        char bytes[65536];
        const ssize_t size = ::recv(connection_, bytes, sizeof bytes, 0);
        if (size > 0) rest_.append(bytes, static_cast<size_t>(size));
        return size > 0;
    }

    bool read(std::string& body) {
        size_t head = 0;
        while ((head = rest_.find("\r\n\r\n")) == rest_.npos) {
            if (!receive()) return false;
        }
        head += 4;
        size_t length = 0;
        for (const char* name : {"\r\nContent-Length:", "\r\ncontent-length:"}) {
            const size_t at = rest_.find(name);
            if (at < head) length = std::strtoull(rest_.c_str() + at + 17, nullptr, 10);
        }
        while (rest_.size() < head + length) {
            if (!receive()) return false;
        }
        body = rest_.substr(head, length);
        rest_.erase(0, head + length);
        return true;
    }

    int listener_;
    int connection_ = -1;
    std::string url_;
    std::string rest_;  // received, and not yet returned
};

}  // namespace narratoria::bench
