// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request, its response, and who is told of it.

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

// Milliseconds; 0: no limit.
struct Times {
    uint64_t connect_ms = 10'000;  // until the request can be sent: name, connection, TLS
    uint64_t first_byte_ms = 0;    // from then until the first byte of the response
    uint64_t total_ms = 0;         // from the start to the end of the response
};

struct Request {
    std::string method = "GET";
    std::string url;
    std::vector<Header> headers;
    std::string body;
    Times times;
    // A response with more fails; the connection is closed and nothing more of it is read.
    size_t max_header_bytes = 64 * 1024;
    uint64_t max_body_bytes = 16 * 1024 * 1024;
};

struct Response {
    int status = 0;
    std::string version;  // "1.0", "1.1" or "2"
    std::vector<Header> headers;

    // The value of the first header of this name, whose case does not matter; NULL if there is none.
    const std::string* find(std::string_view name) const;
};

enum class Failure : uint8_t {
    Setup,     // the request is not valid, or libcurl cannot be used; nothing was done
    Lookup,    // the host name has no address
    Connect,   // no connection
    Tls,       // no trusted connection
    Time,      // one of Times has passed
    Lost,      // the connection ended before the response did
    Protocol,  // the response is not HTTP
    Redirect,  // the response points elsewhere, which is not followed
    HeaderLimit,
    BodyLimit,
};

struct Error {
    Failure failure = Failure::Setup;
    std::string text;  // for people: what, where (without credentials), what to do
    // True if a part of the request was sent: the server may have acted on it.
    bool sent = false;
};

// Receives one exchange, from the loop, never from Client::start(). Each call may destroy the
// exchange and start others. Must outlive the exchange.
class Listener {
public:
    virtual ~Listener() = default;
    // The status and the headers; before the body. Any status but that of a redirect comes here.
    virtual void on_response(const Response&) {}
    // The next bytes of the body, as they arrive.
    virtual void on_body(std::string_view bytes) = 0;
    // The last call. NULL: the response is complete.
    virtual void on_end(const Error* error) = 0;
};

}  // namespace narratoria::http
