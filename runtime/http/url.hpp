// SPDX-License-Identifier: Apache-2.0
#pragma once
// The addresses that the HTTP client accepts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::http {

// An absolute URL of http or https in its parts. Stricter than RFC 3986: what two parsers could read
// differently is refused, so that the host that is looked up is the host that is connected to.
struct Url {
    std::string scheme;       // "http" or "https"
    std::string credentials;  // "user:password" as written, or empty
    std::string host;         // in lower case; an IPv6 address without brackets
    uint16_t port = 0;        // never 0 after parse()
    std::string target;       // path and query, begins with "/"; the fragment is dropped

    // Nothing if `text` is not such a URL; `reason` then says why, without repeating the text.
    static std::optional<Url> parse(std::string_view text, std::string& reason);

    bool is_ipv6() const { return host.find(':') != std::string::npos; }
    // "host:port", the port only if it is not the scheme's.
    std::string authority() const;
    std::string text() const;
    // For messages and traces: without credentials, and with "?…" for a query, which may hold a key.
    std::string shown() const;
    // Another path on the same server, with the same credentials and without a query.
    Url with_path(std::string_view path) const;
};

// Url::shown() of any text; a text that is no URL is not repeated.
std::string shown(std::string_view url);

}  // namespace narratoria::http
