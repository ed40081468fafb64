// SPDX-License-Identifier: Apache-2.0
#pragma once
// Authentication: admits a browser on this machine that has opened the address with its token.
//
// The token is in the fragment of the address, which a browser does not send. The entrance page,
// which "/" serves without authentication, reads it there and exchanges it for a cookie.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

class Gate {
public:
    // `host`: the address that the server listens on, as text.
    Gate(std::string host, std::uint16_t port);

    struct Refusal {
        std::string_view code;
        std::string_view message;
    };

    // Refuses a request from a foreign page. Allowed are requests from the player's page, from no
    // page at all, and navigation to "/", which may follow a link in a chat or a mail. Must be the
    // first check, so that a foreign page learns nothing, not even whether a path exists.
    std::optional<Refusal> refuse_foreign(const Request& request) const;

    // Compares in constant time.
    bool is_token(std::string_view text) const;
    // True if the request has the cookie for which the token was exchanged.
    bool has_cookie(const Request& request) const;

    // The address with the token, for the player.
    std::string address() const;
    // "http://HOST:PORT"
    std::string origin() const;
    // The value of Set-Cookie.
    std::string set_cookie() const;

private:
    bool is_ours(std::string_view host) const;

    const std::string host_;
    const std::string port_;
    const std::string cookie_name_;
    const std::string token_;
    const std::string cookie_;
};

}  // namespace narratoria::web
