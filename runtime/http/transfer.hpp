// SPDX-License-Identifier: Apache-2.0
#pragma once
// One exchange on a libcurl handle: its options, callbacks, timeouts and errors.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "http/curl.hpp"
#include "http/exchange.hpp"
#include "http/lookup.hpp"
#include "http/url.hpp"

namespace narratoria::http {

class Exchange;
class Transfer;

// The interface from a transfer to its client.
class Transfers {
public:
    // Ends a transfer that timed out, or that failed before libcurl started it.
    virtual void end(Transfer& transfer) = 0;
    // Called when the exchange was destroyed. May destroy the transfer.
    virtual void abandon(Transfer& transfer) = 0;
    // Called when libcurl is about to close a socket.
    virtual void forget_socket(int descriptor) = 0;

protected:
    ~Transfers() = default;
};

// Owned by the client. Engine thread only.
class Transfer {
public:
    Transfer(Loop& loop, Transfers& owner, Request request, Listener& listener);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    // Checks the request. On failure returns false and stores the error.
    bool check();
    // Starts the timeouts.
    void start_times();
    // Creates the handle. `addresses`: those of the host; empty if libcurl needs none. On failure
    // returns false and stores the error.
    bool prepare(const Curl& curl, const std::vector<std::string>& addresses,
                 const std::string& authorities);
    // Called when libcurl has ended the transfer. Keeps an error that was stored before.
    void on_result(CURLcode code);
    void fail(Failure failure, const std::string& what, const std::string& advice = {});

    // Calls Listener::on_end() once.
    void notify_end();

    const Url& url() const { return *url_; }
    CURL* easy() const { return easy_; }
    bool is_abandoned() const { return listener_ == nullptr; }

    // Data of the client.
    size_t place = 0;       // index in its list
    bool is_added = false;  // added to the multi handle
    bool is_over = false;   // waits for notify_end() and its destruction
    std::unique_ptr<Lookup::Query> query;
    Exchange* exchange = nullptr;

private:
    friend class Exchange;

    enum class Phase : uint8_t { Connecting, Waiting, Receiving };

    // Callbacks of libcurl.
    static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address);
    static int close_socket(void* owner, curl_socket_t descriptor);
    static int on_prerequest(void* self, char*, char*, int, int);
    static size_t take_header(char* data, size_t size, size_t count, void* self);
    static size_t take_body(char* data, size_t size, size_t count, void* self);

    template <typename Value>
    void set(CURLoption option, Value value);
    bool set_headers();
    void enter(Phase phase);
    void arm();
    void on_time();
    int on_ready_to_send();
    size_t on_header(std::string_view line);
    bool on_headers_complete();
    size_t on_body(std::string_view bytes);
    uint64_t sent_bytes() const;
    void explain(CURLcode code);

    Loop& loop_;
    Transfers& owner_;
    const Request request_;
    Listener* listener_;
    std::optional<Url> url_;
    std::string shown_;
    std::string target_;  // the URL for libcurl
    const Curl* curl_ = nullptr;
    CURL* easy_ = nullptr;
    curl_slist* headers_ = nullptr;
    curl_slist* resolve_ = nullptr;
    std::array<char, CURL_ERROR_SIZE> detail_{};
    Timer timer_;
    Phase phase_ = Phase::Connecting;
    int64_t started_ms_ = 0;
    int64_t phase_began_ms_ = 0;
    int tries_ = 0;
    int socket_error_ = 0;  // errno of the last socket that could not be created
    Response response_;
    bool responded_ = false;
    size_t header_bytes_ = 0;
    uint64_t body_bytes_ = 0;
    std::optional<uint64_t> announced_;  // Content-Length
    std::optional<Error> error_;
};

}  // namespace narratoria::http
