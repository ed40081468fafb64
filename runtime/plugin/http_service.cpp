// SPDX-License-Identifier: Apache-2.0
#include "plugin/http_service.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/view.hpp"
#include "http/client.hpp"
#include "plugin/instance.hpp"

namespace narratoria::plugin {
namespace {

constexpr size_t kMaxRequests = 64;
constexpr uint64_t kUsualBody = 16u * 1024 * 1024;

const char* code_of(http::Failure failure) {
    switch (failure) {
        case http::Failure::Setup: return "HTTP_SETUP";
        case http::Failure::Lookup: return "HTTP_LOOKUP";
        case http::Failure::Connect: return "HTTP_CONNECT";
        case http::Failure::Tls: return "HTTP_TLS";
        case http::Failure::Time: return "HTTP_TIMEOUT";
        case http::Failure::Lost: return "HTTP_LOST";
        case http::Failure::Protocol: return "HTTP_PROTOCOL";
        case http::Failure::Redirect: return "HTTP_REDIRECT";
        case http::Failure::HeaderLimit:
        case http::Failure::BodyLimit: return "HTTP_TOO_LARGE";
    }
    return "HTTP_SETUP";
}

// Reads "Name: value". Returns false if there is no colon.
bool read_header(std::string_view text, http::Header& out) {
    const size_t colon = text.find(':');
    if (colon == text.npos) return false;
    out.name = text.substr(0, colon);
    const size_t begin = text.find_first_not_of(" \t", colon + 1);
    out.value = begin == text.npos ? "" : text.substr(begin);
    return true;
}

uint64_t time_of(uint32_t given, uint64_t usual) {
    return given == NAR_NONE ? 0 : given == 0 ? usual : given;
}

}  // namespace

class HttpService::Running final : public http::Listener {
public:
    Running(HttpService& owner, const nar_http_events& events, void* user, uint64_t number)
        : owner_(owner), events_(events), user_(user), number_(number) {}

    void start(http::Request request) {
        exchange_ = owner_.instance_.session().http().start(std::move(request), *this);
    }

    void on_response(const http::Response& response) override {
        if (events_.on_response == nullptr) return;
        std::vector<std::string> lines;
        std::vector<nar_str> headers;
        for (const http::Header& header : response.headers) {
            lines.push_back(header.name + ": " + header.value);
        }
        for (const std::string& line : lines) headers.push_back(view(line));
        const nar_http_response given{sizeof given, static_cast<uint32_t>(response.status),
                                      headers.data(), headers.size()};
        call([&] { events_.on_response(user_, number_, &given); });
    }
    void on_body(std::string_view bytes) override {
        if (events_.on_body == nullptr) return;
        call([&] { events_.on_body(user_, number_, view(bytes)); });
    }
    void on_end(const http::Error* error) override {
        // The callback may end the instance's other requests, but this one has left the list.
        const std::unique_ptr<Running> self = std::move(owner_.running_.extract(number_).mapped());
        if (events_.on_end == nullptr) return;
        nar_http_end end{};
        end.size = sizeof end;
        end.was_sent = error == nullptr || error->sent ? 1 : 0;
        if (error != nullptr) {
            end.error_code = view(std::string_view(code_of(error->failure)));
            end.error = view(error->text);
        }
        call([&] { events_.on_end(user_, number_, &end); });
    }

private:
    template <typename Call>
    void call(Call&& function) {
        // A callback that throws disables the instance, which cancels this request.
        Instance& instance = owner_.instance_;
        instance.call("the function for an HTTP request", std::forward<Call>(function));
    }

    HttpService& owner_;
    const nar_http_events events_;
    void* const user_;
    const uint64_t number_;
    std::unique_ptr<http::Exchange> exchange_;
};

HttpService::HttpService(Instance& instance) : instance_(instance) {}

HttpService::~HttpService() = default;

nar_status HttpService::start(const nar_http_request& given, const nar_http_events& events,
                              void* user, uint64_t* request, std::string& why) {
    if (running_.size() >= kMaxRequests) {
        why = "the plugin already has " + std::to_string(kMaxRequests) +
              " requests that have not ended";
        return NAR_BUSY;
    }
    http::Request made;
    made.url = given_text(given.url);
    made.body = given_text(given.body);
    made.method = given_text(given.method);
    if (made.method.empty()) made.method = made.body.empty() ? "GET" : "POST";
    if (given.headers == nullptr && given.header_count > 0) {
        why = "header_count is set, but headers is NULL";
        return NAR_INVALID_ARGUMENT;
    }
    for (uint64_t i = 0; i < given.header_count; ++i) {
        http::Header header;
        if (!read_header(given_text(given.headers[i]), header)) {
            why = "the header " + std::to_string(i + 1) + " has no colon; write \"Name: value\"";
            return NAR_INVALID_ARGUMENT;
        }
        made.headers.push_back(std::move(header));
    }
    made.times.connect_ms = time_of(given.connect_ms, made.times.connect_ms);
    made.times.first_byte_ms = time_of(given.first_byte_ms, 0);
    made.times.between_ms = time_of(given.between_ms, 0);
    made.times.total_ms = time_of(given.total_ms, 0);
    made.max_body_bytes = given.max_body_bytes != 0 ? given.max_body_bytes : kUsualBody;
    const uint64_t number = ++instance_.last_handle;
    auto running = std::make_unique<Running>(*this, events, user, number);
    running->start(std::move(made));
    running_.emplace(number, std::move(running));
    *request = number;
    return NAR_OK;
}

nar_status HttpService::cancel(uint64_t request) {
    return running_.erase(request) == 1 ? NAR_OK : NAR_NOT_FOUND;
}

void HttpService::cancel_all() { running_.clear(); }

}  // namespace narratoria::plugin
