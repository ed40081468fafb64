// SPDX-License-Identifier: Apache-2.0
#include "http/url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace narratoria::http {
namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;
constexpr size_t kMaxHost = 253;

uint16_t usual_port(std::string_view scheme) { return scheme == "https" ? kHttpsPort : kHttpPort; }

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_host_name(std::string_view host) {
    return !host.empty() && host.size() <= kMaxHost && host.front() != '.' &&
           host.find("..") == std::string_view::npos &&
           std::all_of(host.begin(), host.end(), is_name_character);
}

}  // namespace

std::optional<Url> Url::parse(std::string_view text, std::string& reason) {
    const auto fail = [&](const char* why) {
        reason = why;
        return std::nullopt;
    };
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= 0x20 || byte >= 0x7F || c == '\\') {
            return fail("it has a character that must be percent-encoded");
        }
    }
    Url url;
    const size_t colon = text.find("://");
    if (colon == std::string_view::npos) return fail("it does not begin with http:// or https://");
    url.scheme = lower(text.substr(0, colon));
    if (url.scheme != "http" && url.scheme != "https") {
        return fail("it does not begin with http:// or https://");
    }
    text.remove_prefix(colon + 3);
    text = text.substr(0, text.find('#'));
    const size_t end = std::min(text.find_first_of("/?"), text.size());
    std::string_view authority = text.substr(0, end);
    url.target = text.substr(end);
    if (url.target.empty() || url.target.front() != '/') url.target.insert(0, "/");

    if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
        url.credentials = authority.substr(0, at);
        if (url.credentials.find('@') != std::string::npos) {
            return fail("an @ in its user name or password must be written %40");
        }
        authority.remove_prefix(at + 1);
    }
    std::string_view port;
    bool has_port = false;
    if (!authority.empty() && authority.front() == '[') {
        const size_t close = authority.find(']');
        if (close == std::string_view::npos) return fail("its IPv6 address has no closing ]");
        url.host = lower(authority.substr(1, close - 1));
        in6_addr address;
        if (::inet_pton(AF_INET6, url.host.c_str(), &address) != 1) {
            return fail("its IPv6 address is not valid");
        }
        authority.remove_prefix(close + 1);
        has_port = !authority.empty();
        if (has_port && authority.front() != ':') {
            return fail("text follows the ] of its IPv6 address");
        }
        if (has_port) port = authority.substr(1);
    } else {
        const size_t split = authority.find(':');
        has_port = split != std::string_view::npos;
        if (has_port) port = authority.substr(split + 1);
        url.host = lower(authority.substr(0, split));
        if (!url.host.empty() && url.host.back() == '.') url.host.pop_back();
        if (url.host.empty()) return fail("it has no host");
        if (!is_host_name(url.host)) {
            return fail("its host has a character that host names do not have, or is too long");
        }
    }
    url.port = usual_port(url.scheme);
    if (has_port) {
        const auto [rest, error] =
            std::from_chars(port.data(), port.data() + port.size(), url.port);
        if (error != std::errc() || rest != port.data() + port.size() || url.port == 0) {
            return fail("its port is not a number from 1 to 65535");
        }
    }
    return url;
}

std::string Url::authority() const {
    std::string text = is_ipv6() ? "[" + host + "]" : host;
    if (port != usual_port(scheme)) text += ":" + std::to_string(port);
    return text;
}

std::string Url::text() const {
    return scheme + "://" + (credentials.empty() ? "" : credentials + "@") + authority() + target;
}

std::string Url::shown() const {
    const size_t query = target.find('?');
    return scheme + "://" + authority() +
           (query == std::string::npos ? target : target.substr(0, query) + "?…");
}

Url Url::with_path(std::string_view path) const {
    Url other = *this;
    other.target = path;
    return other;
}

std::string shown(std::string_view url) {
    std::string reason;
    const auto parsed = Url::parse(url, reason);
    return parsed ? parsed->shown() : "(no URL: " + reason + ")";
}

}  // namespace narratoria::http
