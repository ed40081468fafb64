// SPDX-License-Identifier: Apache-2.0
#pragma once
// HTTP requests of a plugin (narratoria/host_http.h). Do not include this header directly: include
// narratoria/plugin.hpp.

#include "narratoria/exceptions.hpp"
#include "narratoria/host_http.h"
#include "narratoria/plugin_host.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::plugin {

// What to request. A time that is not set means no limit.
struct HttpRequest {
    std::string url;                        // http:// or https://
    std::string method = {};                // empty: GET without a body, POST with one
    std::vector<std::string> headers = {};  // "Name: value"
    std::string body = {};
    // Until the request can be sent.
    std::optional<std::chrono::milliseconds> connect_time = std::chrono::seconds(10);
    std::optional<std::chrono::milliseconds> first_byte_time = {};  // from then to the response
    std::optional<std::chrono::milliseconds> between_time = {};     // between two of its pieces
    std::optional<std::chrono::milliseconds> total_time = {};
    std::uint64_t max_body_bytes = 16 * 1024 * 1024;  // of the response
};

// Valid during the call.
class HttpResponse {
public:
    explicit HttpResponse(const nar_http_response& response) noexcept : response_(&response) {}

    std::uint32_t status() const noexcept { return response_->status; }
    // "Name: value", in the order of the server.
    std::vector<std::string_view> headers() const {
        std::vector<std::string_view> all;
        for (std::uint64_t at = 0; at < response_->header_count; ++at) {
            all.push_back(detail::to_view(response_->headers[at]));
        }
        return all;
    }
    const nar_http_response& raw() const noexcept { return *response_; }

private:
    const nar_http_response* response_;
};

struct HttpEnd {
    std::string error_code;  // HTTP_TIMEOUT, …; empty: the response is complete
    std::string error;       // the message for `error_code`
    bool was_sent = false;   // the server may have acted on the request
};

// Called on the engine thread, never from within a function of Http; each may be empty. Their
// exceptions are logged. They may replace or destroy the Http.
struct HttpEvents {
    std::function<void(const HttpResponse&)> on_response;  // before the body
    std::function<void(std::string_view)> on_body;         // pieces, split at any byte
    std::function<void(const HttpEnd&)> on_end;            // always the last call
};

// A running request. When this object is destroyed, the request is cancelled, and no further
// callbacks are called.
//
// Engine thread only, and not in the constructor of the plugin's class. Failures throw Error.
class Http {
public:
    // No request.
    Http() = default;
    Http(const Host& host, const HttpRequest& request, HttpEvents events)
        : running_(std::make_shared<Running>(host.core_, std::move(events))) {
        const auto& functions = running_->core->template require<nar_host_http>();
        std::vector<nar_str> headers;
        for (const std::string& each : request.headers) headers.push_back(detail::to_c(each));
        nar_http_request given{};
        given.size = sizeof given;
        given.method = detail::to_c(request.method);
        given.url = detail::to_c(request.url);
        given.headers = headers.data();
        given.header_count = headers.size();
        given.body = detail::to_c(request.body);
        given.connect_ms = milliseconds(request.connect_time);
        given.first_byte_ms = milliseconds(request.first_byte_time);
        given.between_ms = milliseconds(request.between_time);
        given.total_ms = milliseconds(request.total_time);
        given.max_body_bytes = request.max_body_bytes;
        nar_failure failure{};
        failure.size = sizeof failure;
        const nar_status status = functions.start(running_->core->host(), &given, &kEvents,
                                                  running_.get(), &running_->handle, &failure);
        if (status != NAR_OK && failure.message[0] != '\0') {
            NARRATORIA_THROW(Error(status, failure.code, failure.message, {}));
        }
        running_->core->template check<nar_host_http>(status, "starting an HTTP request");
    }
    Http(Http&&) noexcept = default;
    Http& operator=(Http&& other) noexcept {
        cancel();
        running_ = std::move(other.running_);
        return *this;
    }
    ~Http() { cancel(); }

    bool is_running() const noexcept { return running_ && running_->handle != 0; }

    // No further callbacks are called.
    void cancel() noexcept {
        // The host has cancelled the requests of an instance that has ended.
        if (is_running() && running_->core->is_open()) {
            running_->core->template find<nar_host_http>()->cancel(
                running_->core->host(), std::exchange(running_->handle, 0));
        }
        running_.reset();
    }

private:
    // Its address stays the same while the Http moves. A running call keeps it alive, so that its
    // functions may destroy the Http.
    struct Running : std::enable_shared_from_this<Running> {
        Running(std::shared_ptr<detail::Core> owner, HttpEvents functions)
            : core(std::move(owner)), events(std::move(functions)) {}

        std::shared_ptr<detail::Core> core;
        HttpEvents events;
        std::uint64_t handle = 0;
    };

    static std::uint32_t milliseconds(const std::optional<std::chrono::milliseconds>& time) {
        if (!time) return NAR_NONE;
        // 0 would select the default.
        return static_cast<std::uint32_t>(std::min<std::int64_t>(
            std::max<std::int64_t>(time->count(), 1), std::int64_t{NAR_NONE} - 1));
    }

    template <class Call>
    static void call(void* user, const char* what, Call&& function) noexcept {
        const auto running = static_cast<Running*>(user)->shared_from_this();
        detail::guard(*running->core, what, [&] { function(*running); });
    }
    static void responded(void* user, std::uint64_t, const nar_http_response* response) noexcept {
        call(user, "an HTTP request's on_response", [&](Running& running) {
            if (running.events.on_response) running.events.on_response(HttpResponse(*response));
        });
    }
    static void received(void* user, std::uint64_t, nar_str bytes) noexcept {
        call(user, "an HTTP request's on_body", [&](Running& running) {
            if (running.events.on_body) running.events.on_body(detail::to_view(bytes));
        });
    }
    static void ended(void* user, std::uint64_t, const nar_http_end* end) noexcept {
        call(user, "an HTTP request's on_end", [&](Running& running) {
            running.handle = 0;
            if (!running.events.on_end) return;
            running.events.on_end({std::string(detail::to_view(end->error_code)),
                                   std::string(detail::to_view(end->error)), end->was_sent != 0});
        });
    }
    static constexpr nar_http_events kEvents{sizeof(nar_http_events), 0, &responded, &received,
                                             &ended};

    std::shared_ptr<Running> running_;
};

}  // namespace narratoria::plugin
