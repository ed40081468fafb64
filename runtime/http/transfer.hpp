// SPDX-License-Identifier: Apache-2.0
#pragma once
// One exchange on a handle of libcurl: its options, what libcurl calls back, its times, its errors.

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

// What a transfer needs of the client.
class Transfers {
public:
    // The times of `transfer` have passed, or it failed before libcurl began. Ends it.
    virtual void end(Transfer& transfer) = 0;
    // The exchange was destroyed. May destroy the transfer.
    virtual void abandon(Transfer& transfer) = 0;
    // libcurl is about to close a socket.
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

    // Checks the request. False: it fails, with the error kept.
    bool check();
    // Starts the times.
    void start_times();
    // Makes the handle. `addresses`: of the host, empty if libcurl needs none. False: it fails.
    bool prepare(const Curl& curl, const std::vector<std::string>& addresses,
                 const std::string& authorities);
    // After libcurl has ended it. An error that was kept before stands.
    void on_result(CURLcode code);
    void fail(Failure failure, const std::string& what, const std::string& advice = {});

    // Tells the listener, once.
    void tell_end();

    const Url& url() const { return *url_; }
    CURL* easy() const { return easy_; }
    bool is_abandoned() const { return listener_ == nullptr; }

    // Kept for the client.
    size_t place = 0;       // in its list
    bool is_added = false;  // to the multi handle
    bool is_over = false;   // waits to be told and destroyed
    std::unique_ptr<Lookup::Query> query;
    Exchange* exchange = nullptr;

private:
    friend class Exchange;

    enum class Phase : uint8_t { Connecting, Waiting, Receiving };

    // What libcurl calls.
    static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address);
    static int close_socket(void* owner, curl_socket_t descriptor);
    static int take_leave_to_send(void* self, char*, char*, int, int);
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
    std::string target_;  // the URL as libcurl gets it
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
    int socket_error_ = 0;  // errno of the last socket that could not be made
    Response response_;
    bool responded_ = false;
    size_t header_bytes_ = 0;
    uint64_t body_bytes_ = 0;
    std::optional<uint64_t> announced_;  // Content-Length
    std::optional<Error> error_;
};

}  // namespace narratoria::http
