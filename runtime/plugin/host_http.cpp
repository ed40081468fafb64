// SPDX-License-Identifier: Apache-2.0
// The service of narratoria/host_http.h.
#include <string>

#include "base/given_struct.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

nar_status http_start(const nar_host* host, const nar_http_request* given,
                      const nar_http_events* events, void* user, uint64_t* request,
                      nar_failure* failure) {
    if (given == nullptr || request == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "http.start", [&](Instance& instance) -> nar_status {
        if (instance.disabled()) return NAR_GONE;
        nar_http_request what;
        nar_http_events callbacks;
        nar_status status = NAR_INVALID_ARGUMENT;
        std::string why = read_struct(given, what);
        if (!why.empty()) why.insert(0, "nar_http_request ");
        else if (why = read_struct(events, callbacks); !why.empty())
            why.insert(0, "nar_http_events ");
        else status = instance.requests.start(what, callbacks, user, request, why);
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status http_cancel(const nar_host* host, uint64_t request) {
    return on_engine_thread(host, "http.cancel",
                            [&](Instance& instance) { return instance.requests.cancel(request); });
}

}  // namespace

const nar_host_http http_service{sizeof(nar_host_http), 0, http_start, http_cancel};

}  // namespace narratoria::plugin
