// SPDX-License-Identifier: Apache-2.0
#include "web/gate.hpp"

#include <utility>

#include "web/random.hpp"

namespace narratoria::web {
namespace {

// 128 bits.
constexpr std::size_t kSecretBytes = 16;

// Compares in constant time, so that the secret cannot be guessed character by character.
bool is_same_secret(std::string_view given, std::string_view secret) {
    if (given.size() != secret.size()) return false;
    unsigned difference = 0;
    for (std::size_t at = 0; at < secret.size(); ++at) {
        difference |= static_cast<unsigned char>(given[at]) ^
                      static_cast<unsigned>(static_cast<unsigned char>(secret[at]));
    }
    return difference == 0;
}

}  // namespace

Gate::Gate(std::string host, std::uint16_t port)
    : host_(std::move(host)),
      port_(std::to_string(port)),
      cookie_name_("narratoria-" + port_),
      token_(random_hex(kSecretBytes)),
      cookie_(random_hex(kSecretBytes)) {}

bool Gate::is_ours(std::string_view host) const {
    const auto is_at = [&](std::string_view name) {
        // Browsers omit port 80.
        if (port_ == "80" && host == name) return true;
        return host.size() == name.size() + 1 + port_.size() && host.starts_with(name) &&
               host[name.size()] == ':' && host.ends_with(port_);
    };
    return is_at(host_) || (host_ == "127.0.0.1" && is_at("localhost"));
}

std::optional<Gate::Refusal> Gate::refuse_foreign(const Request& request) const {
    const auto host = request.header("Host");
    if (!host || !is_ours(*host)) {
        return Refusal{"FOREIGN_HOST",
                       "this server does not have this name; open the address that was printed at "
                       "startup"};
    }
    constexpr std::string_view scheme = "http://";
    const auto origins = request.headers("Origin");
    for (const std::string_view origin : origins) {
        if (!origin.starts_with(scheme) || !is_ours(origin.substr(scheme.size()))) {
            return Refusal{"FOREIGN_ORIGIN", "only the player's own page may send this request"};
        }
    }
    if (!request.reads() && origins.size() != 1) {
        return Refusal{"FOREIGN_ORIGIN",
                       "a request that changes something must have one Origin header"};
    }
    // Allow links from other sites to "/": the entrance contains nothing of the session.
    const auto mode = request.header("Sec-Fetch-Mode");
    const auto destination = request.header("Sec-Fetch-Dest");
    if (request.method() == "GET" && request.path() == "/" && mode == "navigate" &&
        destination == "document") {
        return std::nullopt;
    }
    for (const std::string_view site : request.headers("Sec-Fetch-Site")) {
        if (site != "same-origin" && site != "none") {
            return Refusal{"FOREIGN_ORIGIN", "only the player's own page may send this request"};
        }
    }
    return std::nullopt;
}

bool Gate::is_token(std::string_view text) const { return is_same_secret(text, token_); }

bool Gate::has_cookie(const Request& request) const {
    for (const std::string_view cookie : request.cookies(cookie_name_)) {
        if (is_same_secret(cookie, cookie_)) return true;
    }
    return false;
}

std::string Gate::origin() const { return "http://" + host_ + ":" + port_; }
std::string Gate::address() const { return origin() + "/#token=" + token_; }

std::string Gate::set_cookie() const {
    return cookie_name_ + "=" + cookie_ + "; Path=/; HttpOnly; SameSite=Strict";
}

}  // namespace narratoria::web
