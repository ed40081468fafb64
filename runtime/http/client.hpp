// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTTP client of an engine, on libcurl's multi interface. docs/architecture.md says what it does
// and does not do.

#include <memory>

#include "base/loop.hpp"
#include "http/exchange.hpp"
#include "process/process.hpp"

namespace narratoria::http {

class Transfer;

// A running exchange. The destructor cancels it: no listener call follows, the stream (HTTP/2) or
// the connection (HTTP/1) is closed.
class Exchange {
public:
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

private:
    friend class Client;
    friend class Transfer;
    explicit Exchange(Transfer& transfer) : transfer_(&transfer) {}
    Transfer* transfer_;  // NULL: over
};

// Keeps connections alive between exchanges, and shares one between exchanges with HTTP/2 (over
// TLS). Never follows redirects, never uses a proxy or the environment's proxy settings, keeps no
// cookies, does not decompress. A request is sent again only if its connection was an old one and
// nothing of the request had been sent. Starts no threads and raises no signals. Engine thread only.
class Client {
public:
    // `pool` runs the lookups of names. Both must outlive the client.
    Client(Loop& loop, process::Pool& pool);
    // Cancels what runs. Must not be called from a listener.
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Never fails: errors go to the listener.
    std::unique_ptr<Exchange> start(Request request, Listener& listener);

    // The PEM file of the authorities to trust instead of the system's; empty: the system's. Starts
    // as the environment variable SSL_CERT_FILE says, which OpenSSL and Python heed, too. For
    // connections that are made from now on.
    void trust(std::string authorities);

    size_t running() const;

private:
    friend class Exchange;
    friend class Transfer;
    class Multi;
    std::unique_ptr<Multi> multi_;
};

}  // namespace narratoria::http
