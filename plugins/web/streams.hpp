// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open event streams. Each is a position in the log: a browser that is slow, or has stalled,
// costs no more than that.

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
    // What a stream begins with. The state may be large, and is one for all streams.
    struct First {
        std::string head;
        std::shared_ptr<const std::string> state;  // may be none
        std::string tail;
    };

    // `resumed` is called when connections go on that waited. The log lives longer.
    Streams(const plugin::Host& host, const RecordLog& log, std::function<void()> resumed);
    Streams(const Streams&) = delete;
    ~Streams();

    // What answers a request for the records behind `after`; `first` goes before them. 503 if there
    // are too many streams.
    Response open(const Request& request, std::uint64_t after, First first);

    // There are new records: those that wait go on, together, and not too often.
    void wake();

    // The browser behind a connection has gone: its stream ends, if it waits.
    void end_of(MHD_Connection* connection);

    // Before the server ends: it may not end a connection that waits.
    void end();

private:
    class Stream;

    void resume_all(bool with_comment);
    void comment();

    const plugin::Host host_;
    const RecordLog& log_;
    const std::function<void()> resumed_;
    std::vector<Stream*> waiting_;
    std::size_t open_ = 0;
    bool has_ended_ = false;
    bool rests_ = false;
    plugin::Timer rest_;
    plugin::Timer comment_;
};

}  // namespace narratoria::web
