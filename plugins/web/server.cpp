// SPDX-License-Identifier: Apache-2.0
#include "web/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace narratoria::web {
namespace {

constexpr unsigned kMaxUnauthenticated = 64;
constexpr unsigned kMaxAuthenticated = 256;
// The limit between two turns of libmicrohttpd. It lets each connection be read at least once
// before newer ones push it out.
constexpr unsigned kMaxAccepted = kMaxUnauthenticated / 2;
// Includes connections that are shut down but not closed by libmicrohttpd yet.
constexpr unsigned kMaxOpen = kMaxAuthenticated + kMaxUnauthenticated + 2 * kMaxAccepted;
// Room for 60 cookies of 4 KiB that other servers on this address have set; libmicrohttpd stores
// them twice. Not larger, because a stalled stream fills all of it.
constexpr std::size_t kConnectionMemory = 640 * 1024;
// Time for a complete request, without and with authentication.
constexpr std::chrono::seconds kUnauthenticatedTimeout{5};
constexpr std::chrono::seconds kRequestTimeout{30};
constexpr std::chrono::milliseconds kRetryWithoutDescriptors{100};
// More than the number of pieces in which a body of the largest size is read.
constexpr unsigned kMaxNudges = 200;

std::runtime_error cannot_listen(Address address, std::uint16_t port, int error) {
    const std::string where =
        port == 0 ? to_text(address) : "port " + std::to_string(port) + " of " + to_text(address);
    if (error == EADDRINUSE) {
        return std::runtime_error(
            where + " is in use by another program; choose a different port, or 0 for a free one");
    }
    if (error == EACCES) {
        return std::runtime_error(where +
                                  " is reserved for system programs; choose a port from 1024, or 0 "
                                  "for a free one");
    }
    if (error == EADDRNOTAVAIL) {
        return std::runtime_error("this machine has no address " + to_text(address) +
                                  "; omit the address, or choose 127.0.0.1");
    }
    return std::runtime_error("the page cannot listen on " + where + ": " +
                              std::error_code(error, std::generic_category()).message());
}

// Refuses ambiguous requests, which could hide a second request in their body (request smuggling),
// and bodies that are too large. A browser sends exactly one Content-Length with a body, so it is
// not affected.
std::optional<Response> refuse_ambiguous(const Request& request, bool is_authenticated) {
    if (request.has_invalid_header_name()) {
        return Response::problem(400, "BAD_HEADER",
                                 "a header name has a character that HTTP does not allow");
    }
    const auto lengths = request.headers("Content-Length");
    if (!request.headers("Transfer-Encoding").empty()) {
        return Response::problem(411, "LENGTH_REQUIRED",
                                 "Transfer-Encoding is not supported; send Content-Length");
    }
    if (lengths.empty()) return std::nullopt;
    const std::string_view text = lengths.front();
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error == std::errc::result_out_of_range ||
        length > (is_authenticated ? kLargestBody : kMaxUnauthenticatedBody)) {
        return Response::problem(
            413, "TOO_LARGE",
            is_authenticated ? "the body is larger than 1 MiB"
                             : "the body is larger than 4 KiB, the limit without the cookie");
    }
    if (lengths.size() > 1 || error != std::errc() || end != text.data() + text.size()) {
        return Response::problem(400, "BAD_LENGTH", "Content-Length must be one whole number");
    }
    return std::nullopt;
}

int digit(char letter) noexcept {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
}

// Decodes %XX in place, except %00: libmicrohttpd passes C strings, so a decoded NUL would cut the
// path short and turn it into a different one.
std::size_t unescape(void*, MHD_Connection*, char* text) noexcept {
    char* end = text;
    for (const char* at = text; *at != '\0';) {
        const int high = *at == '%' ? digit(at[1]) : -1;
        const int low = high >= 0 ? digit(at[2]) : -1;
        const bool is_decoded = low >= 0 && high + low > 0;
        *end++ = is_decoded ? static_cast<char>(high * 16 + low) : *at;
        at += is_decoded ? 3 : 1;
    }
    *end = '\0';
    return static_cast<std::size_t>(end - text);
}

MHD_Result queue(const Request& request, const Response& response) {
    return MHD_queue_response(request.connection(), response.status(), response.response());
}

}  // namespace

struct Server::Functions {
    static MHD_Result request(void* user, MHD_Connection* connection, const char* path,
                              const char* method, const char*, const char* body,
                              std::size_t* body_size, void** state) noexcept {
        auto& self = *static_cast<Server*>(user);
        try {
            if (*state == nullptr) {
                auto made = std::make_unique<Request>(connection, method, path);
                const Request& request = *made;
                *state = made.release();
                std::optional<Response> refusal = self.handler_->refuse(request);
                if (!refusal) {
                    const bool is_authenticated = self.handler_->is_authenticated(request);
                    refusal = refuse_ambiguous(request, is_authenticated);
                    if (is_authenticated && !self.admit(connection)) {
                        refusal = Response::problem(503, "TOO_MANY_CONNECTIONS",
                                                    "too many requests are open; try again later");
                    }
                }
                if (!refusal) return MHD_YES;
                // Close, so that a body that follows is not read as the next request.
                refusal->set("Connection", "close");
                self.set_awaiting_request(connection, false);
                return queue(request, *refusal);
            }
            auto& request = *static_cast<Request*>(*state);
            if (*body_size > 0) {
                if (request.body().size() + *body_size > kLargestBody) return MHD_NO;
                request.append_to_body({body, *body_size});
                *body_size = 0;
                return MHD_YES;
            }
            self.set_awaiting_request(connection, false);
            return queue(request, self.handler_->respond(request));
        } catch (...) {
            // Memory ran out: the connection is closed.
            return MHD_NO;
        }
    }

    static void request_ended(void* user, MHD_Connection* connection, void** state,
                              MHD_RequestTerminationCode) noexcept {
        delete static_cast<Request*>(*state);
        *state = nullptr;
        static_cast<Server*>(user)->set_awaiting_request(connection, true);
    }

    static void connection_changed(void* user, MHD_Connection* connection, void**,
                                   MHD_ConnectionNotificationCode what) noexcept {
        auto& self = *static_cast<Server*>(user);
        if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
            self.remove_connection(connection);
            return;
        }
        ++self.open_;
        try {
            self.add_connection(connection);
        } catch (...) {
            // Out of memory. The connection works, but without our deadline and end detection.
        }
    }
};

Server::Server(std::optional<Address> address, std::uint16_t port) {
    try {
        disconnect_epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        if (disconnect_epoll_ < 0) {
            throw std::runtime_error("the page cannot be served: " +
                                     std::error_code(errno, std::generic_category()).message());
        }
        listening_ = bind_socket(address, port);
        daemon_ = MHD_start_daemon(
            MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, nullptr,
            nullptr, &Functions::request, this, MHD_OPTION_CONNECTION_LIMIT, kMaxOpen,
            MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kRequestTimeout.count()),
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory, MHD_OPTION_STRICT_FOR_CLIENT, 1,
            MHD_OPTION_UNESCAPE_CALLBACK, &unescape, nullptr, MHD_OPTION_NOTIFY_COMPLETED,
            &Functions::request_ended, this, MHD_OPTION_NOTIFY_CONNECTION,
            &Functions::connection_changed, this, MHD_OPTION_END);
        if (daemon_ == nullptr) {
            throw std::runtime_error("the page cannot be served: libmicrohttpd did not start");
        }
    } catch (...) {
        if (listening_ >= 0) ::close(listening_);
        if (disconnect_epoll_ >= 0) ::close(disconnect_epoll_);
        throw;
    }
}

int Server::bind_socket(std::optional<Address> address, std::uint16_t port) {
    int error = 0;
    address_ = address.value_or(kLocalhost);
    std::vector<Address> choices{address_};
    // Linux routes all of 127.0.0.0/8 to the loopback device; other systems may have only
    // 127.0.0.1.
    if (!address) choices.insert(choices.begin(), random_loopback());
    for (const Address choice : choices) {
        const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0) throw cannot_listen(choice, port, errno);
        // Lets the next session use the same port while old connections are in TIME_WAIT.
        const int yes = 1;
        ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_port = htons(port);
        name.sin_addr.s_addr = htonl(choice);
        socklen_t length = sizeof name;
        auto* general = reinterpret_cast<sockaddr*>(&name);
        if (::bind(made, general, length) == 0 && ::listen(made, SOMAXCONN) == 0 &&
            ::getsockname(made, general, &length) == 0) {
            address_ = choice;
            port_ = ntohs(name.sin_port);
            return made;
        }
        error = errno;
        ::close(made);
    }
    throw cannot_listen(choices.back(), port, error);
}

Server::~Server() {
    MHD_stop_daemon(daemon_);
    ::close(listening_);
    ::close(disconnect_epoll_);
}

void Server::begin(const plugin::Host& host, RequestHandler& handler) {
    host_ = host;
    handler_ = &handler;
    const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == nullptr) throw std::runtime_error("libmicrohttpd has no epoll descriptor");
    timer_ = plugin::Timer(host, kRequestTimeout, [this] {
        has_timer_ = false;
        run();
    });
    timer_.stop();
    poll_ = plugin::Poll(host, info->epoll_fd, [this] { run(); });
    disconnect_poll_ = plugin::Poll(host, disconnect_epoll_, [this] {
        collect_disconnected();
        run();
    });
    listen();
}

// We accept connections ourselves: libmicrohttpd stops watching the listening socket at its limit
// and resumes only in a run that nothing triggers, and it spins when the process has no free
// descriptors.
void Server::listen() {
    if (listening_poll_.is_running() || retry_timer_.is_running() || open_ >= kMaxOpen) return;
    listening_poll_ = plugin::Poll(*host_, listening_, [this] { accept(); });
}

void Server::accept() {
    unsigned unauthenticated = count(false);
    for (unsigned accepted = 0; accepted < kMaxAccepted && open_ < kMaxOpen; ++accepted) {
        sockaddr_in address{};
        socklen_t length = sizeof address;
        auto* general = reinterpret_cast<sockaddr*>(&address);
        const int socket = ::accept4(listening_, general, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0) {
            if (unauthenticated < kMaxUnauthenticated) ++unauthenticated;
            else end_oldest(false);
            // Closes the socket on failure.
            MHD_add_connection(daemon_, socket, general, length);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            const std::string why = std::error_code(errno, std::generic_category()).message();
            listening_poll_.stop();
            retry_timer_ = plugin::Timer(*host_, kRetryWithoutDescriptors, [this] { listen(); });
            if (!std::exchange(has_warned_, true)) {
                host_->log(plugin::Level::Warning,
                           "new connections must wait until resources are free: " + why);
            }
            break;
        }
        // Any other error concerns only that connection.
        if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    }
    if (open_ >= kMaxOpen) listening_poll_.stop();
    run();
}

void Server::add_connection(MHD_Connection* connection) {
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    const Clock::time_point deadline = Clock::now() + kUnauthenticatedTimeout;
    peers_[connection] = Peer{info->connect_fd, next_number_++, true, deadline};
    earliest_ = std::min(earliest_, deadline);
    epoll_event event{};
    event.events = EPOLLRDHUP | EPOLLONESHOT;
    event.data.ptr = connection;
    ::epoll_ctl(disconnect_epoll_, EPOLL_CTL_ADD, info->connect_fd, &event);
}

void Server::remove_connection(MHD_Connection* connection) noexcept {
    --open_;
    std::erase(disconnected_, connection);
    const auto peer = peers_.find(connection);
    if (peer == peers_.end()) return;
    // Closing the socket is not enough: a child process may hold a copy of it between fork and
    // exec.
    ::epoll_ctl(disconnect_epoll_, EPOLL_CTL_DEL, peer->second.socket, nullptr);
    peers_.erase(peer);
}

void Server::set_awaiting_request(MHD_Connection* connection, bool is_awaiting_request) noexcept {
    const auto peer = peers_.find(connection);
    if (peer == peers_.end()) return;
    peer->second.is_awaiting_request = is_awaiting_request;
    if (!is_awaiting_request) return;
    peer->second.deadline =
        Clock::now() + (peer->second.is_authenticated ? kRequestTimeout : kUnauthenticatedTimeout);
    earliest_ = std::min(earliest_, peer->second.deadline);
}

bool Server::admit(MHD_Connection* connection) noexcept {
    const auto peer = peers_.find(connection);
    // If add_connection() ran out of memory, the connection has no entry and is not counted.
    if (peer == peers_.end() || peer->second.is_authenticated) return true;
    if (count(true) >= kMaxAuthenticated && !end_oldest(true)) return false;
    peer->second.is_authenticated = true;
    // The longer time of an authenticated request applies from now.
    peer->second.deadline = Clock::now() + kRequestTimeout;
    return true;
}

unsigned Server::count(bool is_authenticated) const noexcept {
    return static_cast<unsigned>(std::count_if(peers_.begin(), peers_.end(), [&](const auto& one) {
        return one.second.is_authenticated == is_authenticated && !one.second.is_ending;
    }));
}

bool Server::end_oldest(bool is_authenticated) noexcept {
    Peer* oldest = nullptr;
    for (auto& [connection, peer] : peers_) {
        if (peer.is_authenticated != is_authenticated || peer.is_ending) continue;
        // Never interrupt a response to an authenticated request.
        if (is_authenticated && !peer.is_awaiting_request) continue;
        if (oldest == nullptr || peer.number < oldest->number) oldest = &peer;
    }
    if (oldest == nullptr) return false;
    end(*oldest);
    return true;
}

void Server::end(Peer& peer) noexcept {
    peer.is_ending = true;
    // libmicrohttpd reads the end of the stream in its next run, and closes the connection.
    ::shutdown(peer.socket, SHUT_RDWR);
}

void Server::collect_disconnected() {
    epoll_event events[64];
    disconnected_.reserve(peers_.size());
    int count = 0;
    do {
        count = ::epoll_wait(disconnect_epoll_, events, 64, 0);
        for (int at = 0; at < count; ++at) {
            auto* connection = static_cast<MHD_Connection*>(events[at].data.ptr);
            if (peers_.contains(connection)) disconnected_.push_back(connection);
        }
    } while (count == 64);
}

void Server::run() {
    MHD_run(daemon_);
    close_expired();
    close_disconnected();
    listen();
    MHD_UNSIGNED_LONG_LONG wanted = 0;
    if (MHD_get_timeout(daemon_, &wanted) == MHD_YES) {
        run_after(std::chrono::milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(
            wanted, std::chrono::milliseconds(kRequestTimeout).count())));
    }
    if (earliest_ == Clock::time_point::max()) return;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(earliest_ - Clock::now());
    run_after(std::max(wait, std::chrono::milliseconds(0)));
}

void Server::schedule_run() { run_after(std::chrono::milliseconds(0)); }

void Server::run_after(std::chrono::milliseconds wait) {
    const Clock::time_point at = Clock::now() + wait;
    // Keep an earlier timer: an extra run costs less than a new timer for each run.
    if (has_timer_ && timer_at_ <= at) return;
    timer_.restart(wait);
    timer_at_ = at;
    has_timer_ = true;
}

void Server::close_expired() {
    const Clock::time_point now = Clock::now();
    if (now < earliest_) return;
    earliest_ = Clock::time_point::max();
    for (auto& [connection, peer] : peers_) {
        if (!peer.is_awaiting_request || peer.is_ending) continue;
        if (now >= peer.deadline) end(peer);
        else earliest_ = std::min(earliest_, peer.deadline);
    }
}

void Server::close_disconnected() {
    for (MHD_Connection* connection : disconnected_) {
        Peer& peer = peers_.at(connection);
        if (!peer.is_awaiting_request) {
            handler_->on_disconnect(connection);
        } else if (peer.nudges++ < kMaxNudges) {
            // Wakes libmicrohttpd once more, so that it notices the end of the stream. Bytes that
            // arrived before can still be read.
            ::shutdown(peer.socket, SHUT_RD);
        }
    }
}

}  // namespace narratoria::web
