// SPDX-License-Identifier: Apache-2.0
#include "web/gate.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace narratoria::web {
namespace {

// 128 bits, as 32 hexadecimal digits.
std::string random_text() {
    std::array<unsigned char, 16> bytes{};
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
        if (got > 0) done += static_cast<std::size_t>(got);
        else if (errno != EINTR) throw std::runtime_error("the system gives no random numbers");
    }
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

// Takes as long wherever they differ, so that no letter can be guessed by itself.
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

Gate::Gate(std::uint16_t port)
    : port_(std::to_string(port)),
      cookie_name_("narratoria-" + port_),
      token_(random_text()),
      cookie_(random_text()) {}

bool Gate::is_ours(std::string_view host) const {
    return host == "127.0.0.1:" + port_ || host == "localhost:" + port_ ||
           // What a browser leaves out.
           (port_ == "80" && (host == "127.0.0.1" || host == "localhost"));
}

std::optional<Gate::Refusal> Gate::refuse_stranger(const Request& request) const {
    const auto host = request.header("Host");
    if (!host || !is_ours(*host)) {
        return Refusal{"FOREIGN_HOST",
                       "This is no name of this server: open the address that was printed when it "
                       "began"};
    }
    constexpr std::string_view scheme = "http://";
    const auto origins = request.headers("Origin");
    for (const std::string_view origin : origins) {
        if (!origin.starts_with(scheme) || !is_ours(origin.substr(scheme.size()))) {
            return Refusal{"FOREIGN_ORIGIN", "Only the player's own page may ask for this"};
        }
    }
    if (!request.reads() && origins.size() != 1) {
        return Refusal{"FOREIGN_ORIGIN", "A request that changes something says its Origin"};
    }
    // Who opens the printed address, wherever a link to it stands, shows the secret itself.
    if (request.method() == "GET" && request.path() == "/" && has_token(request)) {
        return std::nullopt;
    }
    for (const std::string_view site : request.headers("Sec-Fetch-Site")) {
        if (site != "same-origin" && site != "none") {
            return Refusal{"FOREIGN_ORIGIN", "Only the player's own page may ask for this"};
        }
    }
    return std::nullopt;
}

bool Gate::has_token(const Request& request) const {
    const auto token = request.argument("token");
    return token && is_same_secret(*token, token_);
}

bool Gate::has_cookie(const Request& request) const {
    for (const std::string_view cookie : request.cookies(cookie_name_)) {
        if (is_same_secret(cookie, cookie_)) return true;
    }
    return false;
}

std::string Gate::address() const { return "http://127.0.0.1:" + port_ + "/?token=" + token_; }

std::string Gate::set_cookie() const {
    return cookie_name_ + "=" + cookie_ + "; Path=/; HttpOnly; SameSite=Strict";
}

}  // namespace narratoria::web
