// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HTTP client of an engine, on libcurl's multi interface. docs/architecture.md lists what it
// does and does not do.

#include <memory>

#include "base/loop.hpp"
#include "http/exchange.hpp"
#include "process/pool.hpp"
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
    Transfer* transfer_;  // NULL: the exchange has ended
};

// Reuses connections between exchanges; with HTTP/2 (over TLS) concurrent exchanges share one. Does
// not follow redirects, use a proxy or the environment's proxy settings, keep cookies, or
// decompress. Sends a request again only if a reused connection broke before any part of it was
// sent. Starts no threads and raises no signals. Engine thread only.
class Client {
public:
    // `pool` runs the processes that resolve host names. Both arguments must outlive the client.
    Client(Loop& loop, process::Pool& pool);
    // Cancels running exchanges. Must not be called from a listener.
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Never fails: errors go to the listener.
    std::unique_ptr<Exchange> start(Request request, Listener& listener);

    // Sets the PEM file of trusted authorities for new connections; empty: those of the system. The
    // initial value is that of the environment variable SSL_CERT_FILE, as for OpenSSL and Python.
    void trust(std::string authorities);

    size_t running() const;

private:
    friend class Exchange;
    friend class Transfer;
    class Multi;
    std::unique_ptr<Multi> multi_;
};

}  // namespace narratoria::http
