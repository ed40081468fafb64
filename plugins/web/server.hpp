// SPDX-License-Identifier: Apache-2.0
#pragma once
// HTTP on the engine's loop: a listening socket of this machine alone, and libmicrohttpd behind it,
// driven from outside, without a thread.

#include <microhttpd.h>

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "web/http.hpp"

namespace narratoria::web {

// What is served.
class Site {
public:
    // Asked when a request's head is there, before its body is read: an answer here ends it.
    virtual std::optional<Answer> refuse(const Request& request) = 0;
    virtual Answer answer(const Request& request) = 0;

protected:
    ~Site() = default;
};

class Server {
public:
    // Listens; 0: at a free port. What comes waits until begin. Throws a sentence for people.
    explicit Server(std::uint16_t port);
    Server(const Server&) = delete;
    ~Server();

    std::uint16_t port() const noexcept { return port_; }

    // Answers from now on. `site` and whatever its answers' bodies use outlive this object.
    void begin(const plugin::Host& host, Site& site);

    // A connection was resumed: libmicrohttpd does not tell its epoll descriptor of that.
    void turn_soon();

private:
    using Clock = std::chrono::steady_clock;

    struct Functions;  // what libmicrohttpd calls

    void turn();
    void turn_after(std::chrono::milliseconds wait);
    void is_waited_for(MHD_Connection* connection) noexcept;
    void end_dawdlers();

    int listening_ = -1;
    std::uint16_t port_ = 0;
    Site* site_ = nullptr;
    MHD_Daemon* daemon_ = nullptr;
    bool is_full_ = false;
    // Connections whose next request is not here yet, with the time when they have dawdled.
    // libmicrohttpd ends those that are silent; these are for a browser that sends a byte at times.
    std::map<MHD_Connection*, Clock::time_point> unasked_;
    Clock::time_point next_look_at_dawdlers_{};
    plugin::Poll poll_;
    plugin::Timer timer_;
    Clock::time_point timer_at_{};
    bool has_timer_ = false;
};

}  // namespace narratoria::web
