// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request and its answer, as the rest of the plugin sees them: what is libmicrohttpd's own stays
// behind it.

#include <microhttpd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::web {

inline constexpr std::size_t kLargestBody = 1024 * 1024;
inline constexpr std::size_t kLargestBodyOfStrangers = 4 * 1024;

// The views live as long as the request.
class Request {
public:
    Request(MHD_Connection* connection, std::string_view method, std::string_view path)
        : connection_(connection), method_(method), path_(path) {}

    std::string_view method() const noexcept { return method_; }
    // Decoded, without what stands behind the question mark.
    std::string_view path() const noexcept { return path_; }
    // HEAD is GET without the body, which the server itself leaves out.
    bool reads() const noexcept { return method_ == "GET" || method_ == "HEAD"; }

    // Every value that the header has, in order.
    std::vector<std::string_view> headers(std::string_view name) const;
    std::vector<std::string_view> cookies(std::string_view name) const;
    std::vector<std::string_view> arguments(std::string_view name) const;

    // The value, where there is exactly one.
    std::optional<std::string_view> header(std::string_view name) const;
    std::optional<std::string_view> argument(std::string_view name) const;

    // A header's name has only the letters that HTTP allows there. One with a space before its colon
    // may be read in two ways.
    bool has_odd_header() const;

    // A person looks at the answer, not a program.
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

// Makes a body piece by piece, when the connection has room for it.
class BodySource {
public:
    // MHD_CONTENT_READER_… or how many bytes were written to `buffer`. 0: nothing now; the
    // connection has been suspended.
    virtual ssize_t read(char* buffer, std::size_t room) noexcept = 0;
    virtual ~BodySource() = default;
};

class Response {
public:
    // The headers that every answer has are there already; memory that runs out throws bad_alloc.
    Response(unsigned status, std::string body);
    // `body` lives as long as the process.
    static Response with_lasting_body(unsigned status, std::string_view body);
    // MHD_SIZE_UNKNOWN: until the source or the browser ends it.
    Response(unsigned status, std::uint64_t size, std::unique_ptr<BodySource> source);

    static Response json(unsigned status, std::string body);
    static Response html(unsigned status, std::string body);
    // {"code", "message"}
    static Response problem(unsigned status, std::string_view code, std::string_view message);

    // Replaces nothing: a header is set once.
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
