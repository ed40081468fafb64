// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTTP server: a listening socket on the loopback network, whose connections are handled by
// libmicrohttpd. Everything runs on the engine's loop; there are no threads.
//
// A connection is unauthenticated until a request on it has shown the cookie. Every local process
// can connect, so unauthenticated connections are few and have little time for a request. At the
// limit, a new connection closes the oldest unauthenticated one, never an authenticated one.

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

// Handles the server's requests. Called on the engine's thread.
class RequestHandler {
public:
    // True if the request is authenticated. Called after refuse().
    virtual bool is_authenticated(const Request& request) = 0;
    // Called when the headers are complete, before the body is read. A response returned here
    // refuses the request.
    virtual std::optional<Response> refuse(const Request& request) = 0;
    virtual Response respond(const Request& request) = 0;
    // The browser has closed a connection, which may be suspended. Called in each run until
    // libmicrohttpd has closed it, too.
    virtual void on_disconnect(MHD_Connection* connection) = 0;

protected:
    ~RequestHandler() = default;
};

class Server {
public:
    // Binds the socket and listens. Port 0 selects a free port. Without an address, listens on a
    // random loopback address, or on 127.0.0.1 if the system has no other. Connections wait until
    // begin(). Throws std::runtime_error with a message for the user.
    Server(std::optional<Address> address, std::uint16_t port);
    Server(const Server&) = delete;
    ~Server();

    Address address() const noexcept { return address_; }
    std::uint16_t port() const noexcept { return port_; }

    // Starts to accept connections. `handler`, and everything that the bodies of its responses use,
    // must outlive this object.
    void begin(const plugin::Host& host, RequestHandler& handler);

    // Must be called after a connection is resumed: that does not wake libmicrohttpd's epoll
    // descriptor.
    void schedule_run();

private:
    using Clock = std::chrono::steady_clock;

    struct Functions;  // the callbacks of libmicrohttpd

    struct Peer {
        int socket;
        // Increases with each connection; the oldest one has the smallest number.
        std::uint64_t number;
        // True until the next request is complete; `deadline` applies meanwhile. libmicrohttpd's
        // own timeout restarts with each byte, so a client that trickles bytes would avoid it.
        bool is_awaiting_request;
        Clock::time_point deadline;
        unsigned nudges = 0;
        // Authenticated: a request has shown the cookie.
        bool is_authenticated = false;
        // The socket is shut down; libmicrohttpd closes it in its next run.
        bool is_ending = false;
    };

    int bind_socket(std::optional<Address> address, std::uint16_t port);
    void listen();
    void accept();
    void collect_disconnected();
    void run();
    void run_after(std::chrono::milliseconds wait);
    void add_connection(MHD_Connection* connection);
    void remove_connection(MHD_Connection* connection) noexcept;
    void set_awaiting_request(MHD_Connection* connection, bool is_awaiting_request) noexcept;
    // Marks the connection as authenticated. False at the limit, if no such connection is idle.
    bool admit(MHD_Connection* connection) noexcept;
    unsigned count(bool is_authenticated) const noexcept;
    // Shuts down the oldest idle authenticated connection, or the oldest unauthenticated one,
    // idle or not. False if there is none.
    bool end_oldest(bool is_authenticated) noexcept;
    void end(Peer& peer) noexcept;
    void close_expired();
    void close_disconnected();

    std::optional<plugin::Host> host_;
    int listening_ = -1;
    // An epoll descriptor that reports closed connections: libmicrohttpd does not watch a suspended
    // connection, and misses an end of stream that arrives together with the last bytes.
    int disconnect_epoll_ = -1;
    Address address_ = kLocalhost;
    std::uint16_t port_ = 0;
    RequestHandler* handler_ = nullptr;
    MHD_Daemon* daemon_ = nullptr;
    unsigned open_ = 0;
    std::map<MHD_Connection*, Peer> peers_;
    std::vector<MHD_Connection*> disconnected_;
    std::uint64_t next_number_ = 0;
    // A lower bound for the deadlines of awaited connections.
    Clock::time_point earliest_ = Clock::time_point::max();
    bool has_warned_ = false;
    plugin::Poll listening_poll_;
    plugin::Poll disconnect_poll_;
    plugin::Timer retry_timer_;
    plugin::Poll poll_;
    plugin::Timer timer_;
    Clock::time_point timer_at_{};
    bool has_timer_ = false;
};

}  // namespace narratoria::web
