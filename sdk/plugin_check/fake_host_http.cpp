// SPDX-License-Identifier: Apache-2.0
// The fake host's HTTP extension (narratoria/host_http.h). The check reaches no server: in a later
// round of the loop a request gets a small response or fails, by turns.
#include <cstring>
#include <memory>
#include <mutex>

#include "narratoria/host_http.h"
#include "plugin_check/fake_host.hpp"
#include "plugin_check/tokens.hpp"

namespace narratoria::command::plugin_check {
namespace {

void respond(const nar_http_events& events, void* user, std::uint64_t request) {
    nar_http_end end{sizeof end, 1, {}, {}};
    if (request % 2 == 0) {
        end = {sizeof end, 0, NAR_STR("HTTP_CONNECT"), NAR_STR("a check reaches no server")};
    } else {
        const nar_str headers[] = {NAR_STR("Content-Type: application/json")};
        const nar_http_response response{sizeof response, 200, headers, std::size(headers)};
        if (events.on_response != nullptr) events.on_response(user, request, &response);
        if (events.on_body != nullptr) events.on_body(user, request, NAR_STR("{}"));
    }
    if (events.on_end != nullptr) events.on_end(user, request, &end);
}

}  // namespace

nar_status PluginCheckHost::http_start(const nar_host* host, const nar_http_request* given,
                                       const nar_http_events* events, void* user,
                                       std::uint64_t* request, nar_failure* failure) {
    nar_status status;
    PluginCheckHost* self = entered(host, "http.start", kInActive, true, &status);
    if (self == nullptr) return status;
    const bool is_complete = given != nullptr && given->size >= sizeof *given &&
                             request != nullptr &&
                             (events == nullptr || events->size >= sizeof *events) &&
                             (given->headers != nullptr || given->header_count == 0) &&
                             given->reserved == 0 && (events == nullptr || events->reserved == 0);
    bool has_headers = is_complete;
    for (std::uint64_t at = 0; has_headers && at < given->header_count; ++at) {
        has_headers = to_view(given->headers[at]).find(':') != std::string_view::npos;
    }
    if (!has_headers) {
        self->report_.add_finding("P34",
                                  "http.start: a struct is NULL, its size or a reserved field is "
                                  "wrong, or a header has no colon");
        write_reason(failure, "an argument is missing or out of range");
        return NAR_INVALID_ARGUMENT;
    }
    struct Request {
        PluginCheckHost* host;
        nar_http_events events;
        void* user;
        std::uint64_t number;
    };
    auto made = std::make_unique<Request>(Request{self, {}, user, fresh_token()});
    if (events != nullptr) std::memcpy(&made->events, events, sizeof made->events);
    *request = made->number;
    {
        const std::lock_guard lock(self->mutex_);
        self->requested_.insert(made->number);
        self->posts_.push_back(
            {[](void* its) {
                 const std::unique_ptr<Request> ended(static_cast<Request*>(its));
                 {
                     const std::lock_guard guard(ended->host->mutex_);
                     if (ended->host->requested_.erase(ended->number) == 0) return;  // cancelled
                 }
                 respond(ended->events, ended->user, ended->number);
             },
             [](void* its) { delete static_cast<Request*>(its); }, made.release(),
             self->chain_ + 1});
    }
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::http_cancel(const nar_host* host, std::uint64_t request) {
    nar_status status;
    PluginCheckHost* self = entered(host, "http.cancel", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    return self->requested_.erase(request) == 1 ? NAR_OK : NAR_NOT_FOUND;
}

}  // namespace narratoria::command::plugin_check
