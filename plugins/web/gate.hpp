// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who gets in: a browser on this machine that was shown the address with its token.
//
// The token stands in the address's fragment, which a browser does not send. The page that everybody
// gets at "/" reads it there, and posts it for a cookie.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

class Gate {
public:
    // `host`: the address that the server listens at, as text.
    Gate(std::string host, std::uint16_t port);

    struct Refusal {
        std::string_view code;
        std::string_view message;
    };

    // Whether the request comes from a page of ours, from no page at all, or opens "/", to which a
    // link may stand in a chat or a mail. It is asked first, so that a foreign page learns nothing,
    // not even whether there is something at a path.
    std::optional<Refusal> refuse_stranger(const Request& request) const;

    // Takes equally long wherever the text differs from the token.
    bool is_token(std::string_view text) const;
    // Whether it has the cookie that the token is exchanged for.
    bool has_cookie(const Request& request) const;

    // The address with the token, for the person who opens it.
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
