// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request, its response, and the listener that receives it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::http {

struct Header {
    std::string name;
    std::string value;
};

// Timeouts in milliseconds; 0: no limit.
struct Times {
    uint64_t connect_ms = 10'000;  // until the request can be sent: name lookup, connection, TLS
    uint64_t first_byte_ms = 0;    // from then until the first byte of the response
    uint64_t between_ms = 0;       // between two pieces of the response
    uint64_t total_ms = 0;         // from the start to the end of the response
};

struct Request {
    std::string method = "GET";
    std::string url;
    std::vector<Header> headers;
    std::string body;
    Times times;
    // The exchange fails if a response exceeds these limits; the connection is then closed.
    size_t max_header_bytes = 64 * 1024;
    uint64_t max_body_bytes = 16 * 1024 * 1024;
};

struct Response {
    int status = 0;
    std::string version;  // "1.0", "1.1" or "2"
    std::vector<Header> headers;

    // The value of the first header with this name (case-insensitive); NULL if there is none.
    const std::string* find(std::string_view name) const;
};

enum class Failure : uint8_t {
    Setup,     // the request is not valid, or libcurl cannot be used; nothing was sent
    Lookup,    // the host name has no address
    Connect,   // no connection
    Tls,       // no trusted connection
    Time,      // one of Times has passed
    Lost,      // the connection ended before the response did
    Protocol,  // the response is not HTTP
    Redirect,  // the response is a redirect, which is not followed
    HeaderLimit,
    BodyLimit,
};

struct Error {
    Failure failure = Failure::Setup;
    std::string text;  // human-readable: where (without credentials), what, what to do
    // True if a part of the request was sent, so the server may have acted on it.
    bool sent = false;
};

// Receives one exchange, from the loop, never from Client::start(). Each call may destroy the
// exchange and start other exchanges. Must outlive the exchange.
class Listener {
public:
    virtual ~Listener() = default;
    // The status and the headers, before the body. Called for every status except a redirect.
    virtual void on_response(const Response&) {}
    // The next bytes of the body, as they arrive.
    virtual void on_body(std::string_view bytes) = 0;
    // The last call. NULL: the response is complete.
    virtual void on_end(const Error* error) = 0;
};

}  // namespace narratoria::http
