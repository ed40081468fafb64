// SPDX-License-Identifier: Apache-2.0
#include "web/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace narratoria::web {
namespace {

constexpr unsigned kMostConnections = 320;
constexpr std::size_t kConnectionMemory = 64 * 1024;
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::seconds kDawdlersEvery{1};

std::runtime_error cannot_listen(std::uint16_t port, int error) {
    const std::string where =
        port == 0 ? "127.0.0.1" : "port " + std::to_string(port) + " of 127.0.0.1";
    if (error == EADDRINUSE) {
        return std::runtime_error(
            where + " is taken by another program: choose another port, or 0 for any that is free");
    }
    if (error == EACCES) {
        return std::runtime_error(where +
                                  " is for the system's own programs: choose one from 1024, or 0 "
                                  "for any that is free");
    }
    return std::runtime_error("the page cannot listen at " + where + ": " +
                              std::error_code(error, std::generic_category()).message());
}

// What could be read in two ways, so that a second request hides in the body of the first. A browser
// sends none of it: it knows how long its body is, and says so once.
std::optional<Answer> refuse_doubtful(const Request& request) {
    if (request.has_odd_header()) {
        return Answer::problem(400, "BAD_HEADER", "a header's name has a letter that HTTP forbids");
    }
    const auto lengths = request.headers("Content-Length");
    if (!request.headers("Transfer-Encoding").empty()) {
        return Answer::problem(411, "LENGTH_REQUIRED", "a body comes with its Content-Length");
    }
    if (lengths.empty()) return std::nullopt;
    const std::string_view text = lengths.front();
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error == std::errc::result_out_of_range || length > kLargestBody) {
        return Answer::problem(413, "TOO_LARGE", "a body has at most 1 MiB");
    }
    if (lengths.size() > 1 || error != std::errc() || end != text.data() + text.size()) {
        return Answer::problem(400, "BAD_LENGTH", "Content-Length is one whole number");
    }
    return std::nullopt;
}

MHD_Result queue(const Request& request, const Answer& answer) {
    return MHD_queue_response(request.connection(), answer.status(), answer.response());
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
                std::optional<Answer> refusal = self.site_->refuse(request);
                if (!refusal) refusal = refuse_doubtful(request);
                if (!refusal) return MHD_YES;
                // The body that may follow is never read as the next request.
                refusal->set("Connection", "close");
                self.unasked_.erase(connection);
                return queue(request, *refusal);
            }
            auto& request = *static_cast<Request*>(*state);
            if (*body_size > 0) {
                if (request.body().size() + *body_size > kLargestBody) return MHD_NO;
                request.append_to_body({body, *body_size});
                *body_size = 0;
                return MHD_YES;
            }
            self.unasked_.erase(connection);
            return queue(request, self.site_->answer(request));
        } catch (...) {
            // Memory ran out: the connection is closed.
            return MHD_NO;
        }
    }

    static void request_ended(void* user, MHD_Connection* connection, void** state,
                              MHD_RequestTerminationCode) noexcept {
        delete static_cast<Request*>(*state);
        *state = nullptr;
        static_cast<Server*>(user)->is_waited_for(connection);
    }

    static void connection_changed(void* user, MHD_Connection* connection, void**,
                                   MHD_ConnectionNotificationCode what) noexcept {
        auto& self = *static_cast<Server*>(user);
        if (what == MHD_CONNECTION_NOTIFY_CLOSED) self.unasked_.erase(connection);
        else self.is_waited_for(connection);
    }
};

void Server::is_waited_for(MHD_Connection* connection) noexcept {
    try {
        unasked_[connection] = Clock::now() + kPatience;
    } catch (...) {
        // Then it may be slow.
    }
}

Server::Server(std::uint16_t port) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening_ < 0) throw cannot_listen(port, errno);
    // The next session may listen at the same port while old connections are still ending.
    const int yes = 1;
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* general = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listening_, general, length) != 0 || ::listen(listening_, SOMAXCONN) != 0 ||
        ::getsockname(listening_, general, &length) != 0) {
        const int error = errno;
        ::close(listening_);
        throw cannot_listen(port, error);
    }
    port_ = ntohs(address.sin_port);
}

Server::~Server() {
    // Closes the listening socket, too.
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
    else ::close(listening_);
}

void Server::begin(const plugin::Host& host, Site& site) {
    site_ = &site;
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, port_, nullptr, nullptr, &Functions::request,
        this, MHD_OPTION_LISTEN_SOCKET, listening_, MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
        MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kPatience.count()),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_COMPLETED, &Functions::request_ended, this, MHD_OPTION_NOTIFY_CONNECTION,
        &Functions::connection_changed, this, MHD_OPTION_END);
    if (daemon_ == nullptr) {
        throw std::runtime_error("the page cannot be served: libmicrohttpd did not start");
    }
    const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    timer_ = plugin::Timer(host, kPatience, [this] {
        has_timer_ = false;
        turn();
    });
    timer_.stop();
    poll_ = plugin::Poll(host, info->epoll_fd, [this] { turn(); });
}

void Server::turn() {
    MHD_run(daemon_);
    end_dawdlers();
    // When it has taken as many as it may it looks away from the listening socket, and looks there
    // again in the next turn after one has gone; nothing but us would begin that turn.
    const bool was_full = is_full_;
    const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    is_full_ = info->num_connections >= kMostConnections;
    if (was_full && !is_full_) turn_soon();
    MHD_UNSIGNED_LONG_LONG wanted = 0;
    if (MHD_get_timeout(daemon_, &wanted) == MHD_YES) {
        turn_after(std::chrono::milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(
            wanted, std::chrono::milliseconds(kPatience).count())));
    }
}

void Server::turn_soon() { turn_after(std::chrono::milliseconds(0)); }

void Server::turn_after(std::chrono::milliseconds wait) {
    const Clock::time_point at = Clock::now() + wait;
    // One that comes earlier than it must costs less than a new one with each turn.
    if (has_timer_ && timer_at_ <= at) return;
    timer_.restart(wait);
    timer_at_ = at;
    has_timer_ = true;
}

void Server::end_dawdlers() {
    const Clock::time_point now = Clock::now();
    if (now < next_look_at_dawdlers_) return;
    next_look_at_dawdlers_ = now + kDawdlersEvery;
    for (const auto& [connection, deadline] : unasked_) {
        if (now < deadline) continue;
        // libmicrohttpd sees the end of it in its next turn.
        const MHD_ConnectionInfo* info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != nullptr) ::shutdown(info->connect_fd, SHUT_RDWR);
    }
}

}  // namespace narratoria::web
