// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open event streams. Each is only a position in the log, so a slow or stalled browser uses no
// further memory here. Used on the engine's thread.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "web/http.hpp"
#include "web/record_log.hpp"

namespace narratoria::web {

class Streams {
public:
    // The first message of a stream. The state may be large, so all streams share it.
    struct FirstMessage {
        std::string head;
        std::shared_ptr<const std::string> state;  // may be null
        std::string tail;
    };

    // Calls `resumed` after it has resumed connections. `log` must outlive this object.
    Streams(const plugin::Host& host, const RecordLog& log, std::function<void()> resumed);
    Streams(const Streams&) = delete;
    ~Streams();

    // The response to a request for the records after number `after`; `first` precedes them. 503 if
    // too many streams are open.
    Response open(const Request& request, std::uint64_t after, FirstMessage first);

    // Must be called when there are new records. Resumes the waiting streams together, at most once
    // per 16 ms.
    void wake();

    // Must be called when the browser has closed the connection. Ends its stream if it is waiting.
    void on_disconnect(MHD_Connection* connection);

    // Must be called before the server stops: libmicrohttpd must not be stopped while a connection
    // is suspended.
    void end();

private:
    class Stream;

    void resume_all(bool is_alive_due);
    void say_alive();

    const plugin::Host host_;
    const RecordLog& log_;
    const std::function<void()> resumed_;
    std::vector<Stream*> waiting_;
    std::size_t open_ = 0;
    bool has_ended_ = false;
    bool is_throttled_ = false;
    plugin::Timer throttle_timer_;
    plugin::Timer alive_;
};

}  // namespace narratoria::web
