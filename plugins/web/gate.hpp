// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who gets in: a browser on this machine, that was shown the address with its token.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

class Gate {
public:
    explicit Gate(std::uint16_t port);

    struct Refusal {
        std::string_view code;
        std::string_view message;
    };

    // Whether the request comes from a page of ours, from no page at all, or is the opening of the
    // printed address, which may stand in a chat or a mail. It is asked first, so
    // that a foreign page learns nothing, not even whether there is something at a path.
    std::optional<Refusal> refuse_stranger(const Request& request) const;

    // Whether it shows the token that stands in the printed address.
    bool has_token(const Request& request) const;
    // Whether it has the cookie that the token is exchanged for.
    bool has_cookie(const Request& request) const;

    // The address with the token, for the person who opens it.
    std::string address() const;
    // The value of Set-Cookie.
    std::string set_cookie() const;

private:
    bool is_ours(std::string_view host) const;

    const std::string port_;
    const std::string cookie_name_;
    const std::string token_;
    const std::string cookie_;
};

}  // namespace narratoria::web
