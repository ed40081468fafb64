// SPDX-License-Identifier: Apache-2.0
#include "web/http.hpp"

#include <narratoria/plugin.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

namespace narratoria::web {
namespace {

struct Search {
    std::string_view name;
    bool ignores_case;
    std::vector<std::string_view>& found;
    bool failed = false;
};

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

MHD_Result look(void* user, MHD_ValueKind, const char* key, std::size_t key_size, const char* value,
                std::size_t value_size) noexcept {
    auto& search = *static_cast<Search*>(user);
    try {
        const std::string_view name(key == nullptr ? "" : key, key == nullptr ? 0 : key_size);
        const bool is_wanted =
            search.ignores_case ? is_same_ignoring_case(name, search.name) : name == search.name;
        if (is_wanted) {
            search.found.push_back(value == nullptr ? std::string_view()
                                                    : std::string_view(value, value_size));
        }
        return MHD_YES;
    } catch (...) {
        search.failed = true;
        return MHD_NO;
    }
}

MHD_Result check_header_name(void* user, MHD_ValueKind, const char* key, std::size_t size,
                             const char*, std::size_t) noexcept {
    constexpr std::string_view symbols = "!#$%&'*+-.^_`|~";
    for (std::size_t at = 0; at < size; ++at) {
        const char letter = lower(key[at]);
        const bool is_plain = (letter >= 'a' && letter <= 'z') ||
                              (letter >= '0' && letter <= '9') ||
                              symbols.find(letter) != std::string_view::npos;
        if (!is_plain) *static_cast<bool*>(user) = true;
    }
    return MHD_YES;
}

std::vector<std::string_view> values(MHD_Connection* connection, MHD_ValueKind kind,
                                     std::string_view name) {
    std::vector<std::string_view> found;
    Search search{name, kind == MHD_HEADER_KIND, found};
    MHD_get_connection_values_n(connection, kind, &look, &search);
    if (search.failed) throw std::bad_alloc();
    return found;
}

std::optional<std::string_view> only_value(const std::vector<std::string_view>& all) {
    return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
}

ssize_t read_source(void* user, std::uint64_t, char* buffer, std::size_t room) noexcept {
    return static_cast<BodySource*>(user)->read(buffer, room);
}
void free_source(void* user) noexcept { delete static_cast<BodySource*>(user); }

// The buffer size for a body of known size. A stream is copied into the connection's own buffer.
constexpr std::size_t kBlock = 64 * 1024;
constexpr std::size_t kSmallBlock = 1024;

// On success, the response owns the source.
MHD_Response* response_of(std::uint64_t size, std::unique_ptr<BodySource> source) {
    MHD_Response* response =
        MHD_create_response_from_callback(size, size == MHD_SIZE_UNKNOWN ? kSmallBlock : kBlock,
                                          &read_source, source.get(), &free_source);
    if (response != nullptr) static_cast<void>(source.release());
    return response;
}

}  // namespace

bool is_same_ignoring_case(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char left, char right) { return lower(left) == lower(right); });
}

std::vector<std::string_view> Request::headers(std::string_view name) const {
    return values(connection_, MHD_HEADER_KIND, name);
}
std::vector<std::string_view> Request::cookies(std::string_view name) const {
    return values(connection_, MHD_COOKIE_KIND, name);
}
std::vector<std::string_view> Request::arguments(std::string_view name) const {
    return values(connection_, MHD_GET_ARGUMENT_KIND, name);
}
std::optional<std::string_view> Request::header(std::string_view name) const {
    return only_value(headers(name));
}
std::optional<std::string_view> Request::argument(std::string_view name) const {
    return only_value(arguments(name));
}

bool Request::has_invalid_header_name() const {
    bool is_invalid = false;
    MHD_get_connection_values_n(connection_, MHD_HEADER_KIND, &check_header_name, &is_invalid);
    return is_invalid;
}

bool Request::wants_html() const {
    for (const std::string_view accepted : headers("Accept")) {
        if (accepted.find("text/html") != std::string_view::npos) return true;
    }
    return false;
}

Response::Response(unsigned status, MHD_Response* response) : status_(status), response_(response) {
    if (response == nullptr) throw std::bad_alloc();
    set("X-Content-Type-Options", "nosniff");
    set("Referrer-Policy", "no-referrer");
    set("Cross-Origin-Opener-Policy", "same-origin");
    set("Cross-Origin-Resource-Policy", "same-origin");
    set("X-Frame-Options", "DENY");
}

Response::Response(unsigned status, std::string body)
    : Response(status,
               MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_MUST_COPY)) {}

Response Response::with_lasting_body(unsigned status, std::string_view body) {
    return Response(status,
                    MHD_create_response_from_buffer(body.size(), const_cast<char*>(body.data()),
                                                    MHD_RESPMEM_PERSISTENT));
}

Response::Response(unsigned status, std::uint64_t size, std::unique_ptr<BodySource> source)
    : Response(status, response_of(size, std::move(source))) {}

Response Response::json(unsigned status, std::string body) {
    Response response(status, std::move(body));
    response.set("Content-Type", "application/json").set("Cache-Control", "no-store");
    return response;
}

Response Response::html(unsigned status, std::string body) {
    Response response(status, std::move(body));
    response.set("Content-Type", "text/html; charset=utf-8").set("Cache-Control", "no-store");
    response.set("Content-Security-Policy",
                 "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    return response;
}

Response Response::problem(unsigned status, std::string_view code, std::string_view message) {
    return json(status, "{\"code\":" + plugin::quoted(code) +
                            ",\"message\":" + plugin::quoted(message) + "}\n");
}

Response& Response::set(const char* name, const std::string& value) {
    if (MHD_add_response_header(response_.get(), name, value.c_str()) != MHD_YES) {
        throw std::runtime_error(std::string("the header ") + name + " cannot be sent");
    }
    return *this;
}

}  // namespace narratoria::web
