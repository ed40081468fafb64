// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests and responses for the rest of the plugin; a wrapper around libmicrohttpd.

#include <microhttpd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::web {

inline constexpr std::size_t kLargestBody = 1024 * 1024;
inline constexpr std::size_t kMaxUnauthenticatedBody = 4 * 1024;

// Ignores the case of ASCII letters, like header names and media types do.
bool is_same_ignoring_case(std::string_view one, std::string_view other);

// Returned views are valid as long as the request.
class Request {
public:
    Request(MHD_Connection* connection, std::string_view method, std::string_view path)
        : connection_(connection), method_(method), path_(path) {}

    std::string_view method() const noexcept { return method_; }
    // Decoded, without the query.
    std::string_view path() const noexcept { return path_; }
    // GET or HEAD. The server itself leaves out the body of a response to HEAD.
    bool reads() const noexcept { return method_ == "GET" || method_ == "HEAD"; }

    // All values of the header, in order.
    std::vector<std::string_view> headers(std::string_view name) const;
    std::vector<std::string_view> cookies(std::string_view name) const;
    std::vector<std::string_view> arguments(std::string_view name) const;

    // The value if there is exactly one, otherwise nothing.
    std::optional<std::string_view> header(std::string_view name) const;
    std::optional<std::string_view> argument(std::string_view name) const;

    // True if a header name contains a character that HTTP does not allow there. Servers disagree
    // on how to read a name with a space before the colon, for example.
    bool has_invalid_header_name() const;

    // True if a browser shows the response to a person, rather than a program reading it.
    bool wants_html() const;

    const std::string& body() const noexcept { return body_; }
    void append_to_body(std::string_view piece) { body_ += piece; }

    MHD_Connection* connection() const noexcept { return connection_; }

private:
    MHD_Connection* connection_;
    std::string method_;
    std::string path_;
    std::string body_;
};

// Produces a response body piece by piece, as the connection has room for it.
class BodySource {
public:
    // Returns the number of bytes written to `buffer`, or MHD_CONTENT_READER_…. 0: nothing for
    // now, and read() has suspended the connection.
    virtual ssize_t read(char* buffer, std::size_t room) noexcept = 0;
    virtual ~BodySource() = default;
};

class Response {
public:
    // Each constructor sets the headers common to all responses, and throws std::bad_alloc if
    // memory runs out.
    Response(unsigned status, std::string body);
    // `body` is not copied; it must be valid until the process exits.
    static Response with_lasting_body(unsigned status, std::string_view body);
    // With MHD_SIZE_UNKNOWN the response lasts until the source or the browser ends it.
    Response(unsigned status, std::uint64_t size, std::unique_ptr<BodySource> source);

    static Response json(unsigned status, std::string body);
    static Response html(unsigned status, std::string body);
    // {"code", "message"}
    static Response problem(unsigned status, std::string_view code, std::string_view message);

    // Adds the header. Does not replace an earlier one of that name, so set each header once.
    Response& set(const char* name, const std::string& value);

    unsigned status() const noexcept { return status_; }
    MHD_Response* response() const noexcept { return response_.get(); }

private:
    struct Release {
        void operator()(MHD_Response* response) const noexcept { MHD_destroy_response(response); }
    };
    Response(unsigned status, MHD_Response* response);

    unsigned status_;
    std::unique_ptr<MHD_Response, Release> response_;
};

}  // namespace narratoria::web
