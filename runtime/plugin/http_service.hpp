// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTTP requests of one plugin instance (narratoria.http/1).

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "narratoria/host_http.h"

namespace narratoria::plugin {

class Instance;

// Owns each request until its on_end was called or it is cancelled. Engine thread only.
class HttpService {
public:
    explicit HttpService(Instance& instance);
    ~HttpService();

    // `given` and `events` must be complete structs of this version. On failure, sets `why`.
    nar_status start(const nar_http_request& given, const nar_http_events& events, void* user,
                     uint64_t* request, std::string& why);
    nar_status cancel(uint64_t request);
    // No further callback is called.
    void cancel_all();

private:
    class Running;

    Instance& instance_;
    std::map<uint64_t, std::unique_ptr<Running>> running_;
};

}  // namespace narratoria::plugin
