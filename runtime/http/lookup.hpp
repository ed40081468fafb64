// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looks host names up without blocking. getaddrinfo() blocks, and libcurl would call it in a thread
// for each name; the library starts no threads. So getent(1), which asks everything that
// nsswitch.conf names, runs in a child process.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "process/process.hpp"

namespace narratoria::http {

// True for what needs no lookup: an address, or localhost.
bool is_address(const std::string& host);

// The names of one client. An answer is kept for a minute, and concurrent queries for a name share
// one process. Engine thread only; must outlive its queries.
class Lookup {
    class Asking;

public:
    explicit Lookup(process::Pool& pool);
    ~Lookup();
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;

    // Receives the addresses, or none and the reason.
    using OnFound = std::function<void(const std::vector<std::string>&, const std::string& reason)>;

    // Waits for an answer. The destructor gives up, also from `on_found`.
    class Query {
    public:
        ~Query();

    private:
        friend class Lookup;
        Asking* asking_ = nullptr;  // NULL: answered
        OnFound on_found_;
    };

    // The addresses of `name` if they are known, else NULL.
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
    void tell_failures();

    process::Pool& pool_;
    Timer tell_;  // answers queries whose process could not be started
    std::map<std::string, Known> known_;
    std::map<std::string, std::unique_ptr<Asking>> asking_;
};

}  // namespace narratoria::http
