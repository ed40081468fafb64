// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resolves host names without blocking. getaddrinfo() blocks, and libcurl would call it in a thread
// for each name, but the library starts no threads. So getent(1), which obeys nsswitch.conf, runs
// in a child process.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "process/pool.hpp"
#include "process/process.hpp"

namespace narratoria::http {

// True for a host that needs no lookup: an address, or localhost.
bool is_address(const std::string& host);

// The name cache of one client. Caches an answer for a minute. Concurrent queries for a name share
// one process. Engine thread only; must outlive its queries.
class Lookup {
    class Asking;

public:
    explicit Lookup(process::Pool& pool);
    ~Lookup();
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;

    // Receives the addresses, or no address and the reason.
    using OnFound = std::function<void(const std::vector<std::string>&, const std::string& reason)>;

    // A pending query. The destructor cancels it; `on_found` may destroy it.
    class Query {
    public:
        ~Query();

    private:
        friend class Lookup;
        Asking* asking_ = nullptr;  // NULL: answered
        OnFound on_found_;
    };

    // The cached addresses of `name`, or NULL.
    const std::vector<std::string>* find(const std::string& name) const;
    // `on_found` is called later, from the loop.
    std::unique_ptr<Query> ask(const std::string& name, OnFound on_found);

private:
    struct Known {
        std::vector<std::string> addresses;
        int64_t until_ms = 0;
    };

    void answer(const std::string& name, const std::vector<std::string>& addresses,
                const std::string& reason);
    void report_failures();

    process::Pool& pool_;
    Timer tell_;  // answers queries if their process could not be started
    std::map<std::string, Known> known_;
    std::map<std::string, std::unique_ptr<Asking>> asking_;
};

}  // namespace narratoria::http
