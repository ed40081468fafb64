// SPDX-License-Identifier: Apache-2.0
#pragma once
// HTTP on the engine's loop: a listening socket of this machine alone, and libmicrohttpd behind it,
// driven from outside, without a thread.
//
// A connection is a stranger's until a request on it has shown the cookie. Every local process can
// connect, so strangers are few, have little time for a request, and go first: a new connection
// closes the oldest stranger's. They cannot take the place of those who were let in.

#include <microhttpd.h>

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "web/address.hpp"
#include "web/http.hpp"

namespace narratoria::web {

// What is served.
class Site {
public:
    // Whether who asks was let in. Asked after refuse.
    virtual bool is_known(const Request& request) = 0;
    // Asked when a request's head is there, before its body is read: an answer here ends it.
    virtual std::optional<Response> refuse(const Request& request) = 0;
    virtual Response answer(const Request& request) = 0;
    // The browser behind a connection that may be suspended has gone; told in each turn until the
    // connection is closed.
    virtual void browser_gone(MHD_Connection* connection) = 0;

protected:
    ~Site() = default;
};

class Server {
public:
    // Listens. Port 0: a free one. No address: a random one of the loopback network, or 127.0.0.1
    // where the system has no other. What comes waits until begin. Throws a sentence for people.
    Server(std::optional<Address> address, std::uint16_t port);
    Server(const Server&) = delete;
    ~Server();

    Address address() const noexcept { return address_; }
    std::uint16_t port() const noexcept { return port_; }

    // Answers from now on. `site` and whatever its answers' bodies use outlive this object.
    void begin(const plugin::Host& host, Site& site);

    // A connection was resumed: libmicrohttpd does not tell its epoll descriptor of that.
    void turn_soon();

private:
    using Clock = std::chrono::steady_clock;

    struct Functions;  // what libmicrohttpd calls

    struct Peer {
        int socket;
        // Grows with each connection: the oldest has the smallest.
        std::uint64_t number;
        // Its next request is not here yet; when it has dawdled for too long. libmicrohttpd ends
        // those that are silent; this is for a browser that sends a byte at times.
        bool is_awaited;
        Clock::time_point deadline;
        unsigned nudges = 0;
        // It has shown the cookie.
        bool is_known = false;
        // Shut down; libmicrohttpd closes it in its next turn.
        bool is_ending = false;
    };

    int bind_socket(std::optional<Address> address, std::uint16_t port);
    void listen();
    void accept();
    void note_gone();
    void turn();
    void turn_after(std::chrono::milliseconds wait);
    void came(MHD_Connection* connection);
    void left(MHD_Connection* connection) noexcept;
    void awaits(MHD_Connection* connection, bool is_awaited) noexcept;
    // False: there are too many, and none of them is idle.
    bool admit(MHD_Connection* connection) noexcept;
    unsigned count(bool is_known) const noexcept;
    // Shuts down the oldest connection of that kind that waits for a request, or, of a stranger,
    // the oldest of all.
    bool end_oldest(bool is_known) noexcept;
    void end(Peer& peer) noexcept;
    void end_dawdlers();
    void end_gone();

    std::optional<plugin::Host> host_;
    int listening_ = -1;
    // An epoll descriptor of our own that tells which browsers have gone: libmicrohttpd does not look
    // at a suspended connection, and overlooks an end that comes together with the last bytes.
    int leaving_ = -1;
    Address address_ = kLocalhost;
    std::uint16_t port_ = 0;
    Site* site_ = nullptr;
    MHD_Daemon* daemon_ = nullptr;
    unsigned open_ = 0;
    std::map<MHD_Connection*, Peer> peers_;
    std::vector<MHD_Connection*> gone_;
    std::uint64_t next_number_ = 0;
    // No awaited connection has an earlier deadline.
    Clock::time_point earliest_ = Clock::time_point::max();
    bool has_warned_ = false;
    plugin::Poll listening_poll_;
    plugin::Poll leaving_poll_;
    plugin::Timer rest_;
    plugin::Poll poll_;
    plugin::Timer timer_;
    Clock::time_point timer_at_{};
    bool has_timer_ = false;
};

}  // namespace narratoria::web
