// SPDX-License-Identifier: Apache-2.0
#pragma once
// The URLs that the HTTP client accepts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::http {

// A parsed absolute http or https URL. Stricter than RFC 3986: refuses a text that two parsers
// could read differently, so that the host that is looked up is the host that libcurl connects to.
struct Url {
    std::string scheme;       // "http" or "https"
    std::string credentials;  // "user:password" as written, or empty
    std::string host;         // in lower case; an IPv6 address without brackets
    uint16_t port = 0;        // never 0 after parse()
    std::string target;       // path and query, begins with "/"; the fragment is dropped

    // Returns nothing and a reason, which does not quote the text, if `text` is not such a URL.
    static std::optional<Url> parse(std::string_view text, std::string& reason);

    bool is_ipv6() const { return host.find(':') != std::string::npos; }
    // "host:port", or "host" if the port is the scheme's default.
    std::string authority() const;
    std::string text() const;
    // For messages and traces: without credentials, and with "?…" instead of a query, which may
    // hold a key.
    std::string shown() const;
    // Returns the URL with a different path, with the same credentials and without a query.
    Url with_path(std::string_view path) const;
};

// Url::shown() of any text. A text that is not a URL is not quoted.
std::string shown(std::string_view url);

}  // namespace narratoria::http
