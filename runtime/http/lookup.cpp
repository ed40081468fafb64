// SPDX-License-Identifier: Apache-2.0
#include "http/lookup.hpp"

#include <arpa/inet.h>
#include <sys/wait.h>

#include <algorithm>

#include "process/find_program.hpp"

namespace narratoria::http {
namespace {

constexpr int64_t kKeptMs = 60'000;
constexpr size_t kMaxOutput = 64 * 1024;
constexpr size_t kMaxAddresses = 16;
constexpr int kNotFound = 2;  // exit status of getent

const std::vector<std::string>& environment() {
    static const std::vector<std::string> variables{"PATH=/usr/bin:/bin:/usr/local/bin",
                                                    "LC_ALL=C"};
    return variables;
}

bool parses(const std::string& host) {
    in6_addr address;
    return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Returns the distinct first words of the lines of `getent ahosts`.
std::vector<std::string> addresses_in(std::string_view output) {
    std::vector<std::string> found;
    while (!output.empty() && found.size() < kMaxAddresses) {
        const size_t end = std::min(output.find('\n'), output.size());
        const std::string_view line = output.substr(0, end);
        output.remove_prefix(std::min(end + 1, output.size()));
        std::string address(line.substr(0, line.find_first_of(" \t")));
        if (!parses(address)) continue;  // also drops fe80::1%eth0, which libcurl does not accept
        if (std::find(found.begin(), found.end(), address) == found.end()) {
            found.push_back(std::move(address));
        }
    }
    return found;
}

}  // namespace

bool is_address(const std::string& host) {
    // libcurl resolves localhost and names below it by itself, as RFC 6761 requires.
    return host == "localhost" || host.ends_with(".localhost") || parses(host);
}

// A process that resolves a name, and the queries that wait for it.
class Lookup::Asking : public process::Listener {
public:
    Asking(Lookup& lookup, std::string name) : lookup_(lookup), name_(std::move(name)) {}

    void start() {
        std::string reason;
        process::Command command;
        command.path = process::find_program("getent", environment(), reason);
        if (command.path.empty()) {
            failure_ = "getent, which resolves host names, is not installed: " + reason;
            return;
        }
        command.folder = "/";
        command.arguments = {"getent", "ahosts", name_};
        command.environment = &environment();
        process::StartFailure failure;
        process_ = lookup_.pool_.start(command, *this, failure);
        if (process_ == nullptr) failure_ = failure.message;
    }

    void on_output(char* data, size_t size) override {
        output_.append(data, std::min(size, kMaxOutput - output_.size()));
    }
    void on_diagnostics(std::string_view) override {}
    void on_exit(const process::Exit& exit) override {
        std::string reason;
        std::vector<std::string> addresses;
        if (!exit.started) reason = exit.start_failure;
        else if (exit.supervisor_lost) reason = "the supervisor of getent was lost";
        else if (WIFEXITED(exit.wait_status) && WEXITSTATUS(exit.wait_status) == 0)
            addresses = addresses_in(output_);
        else if (!WIFEXITED(exit.wait_status) || WEXITSTATUS(exit.wait_status) != kNotFound)
            reason = "getent failed";
        if (addresses.empty() && reason.empty()) reason = "no address is known for this name";
        lookup_.answer(name_, addresses, reason);  // destroys this object
    }

    void join(Query& query) {
        query.asking_ = this;
        waiting_.push_back(&query);
    }
    // If this was the last query, destroys this object, which ends the process.
    void leave(Query& query) {
        std::erase(waiting_, &query);
        if (waiting_.empty() && !answered_) lookup_.asking_.erase(std::string(name_));
    }
    // A callback may destroy other queries, which then call leave().
    void tell(const std::vector<std::string>& addresses, const std::string& reason) {
        answered_ = true;
        while (!waiting_.empty()) {
            Query* const query = waiting_.back();
            waiting_.pop_back();
            query->asking_ = nullptr;
            const OnFound on_found = std::move(query->on_found_);
            lookup_.pool_.loop().guard([&] { on_found(addresses, reason); });
        }
    }

    const std::string& failure() const { return failure_; }

private:
    Lookup& lookup_;
    const std::string name_;
    std::string output_;
    std::string failure_;
    bool answered_ = false;
    std::vector<Query*> waiting_;
    std::unique_ptr<process::Process> process_;
};

Lookup::Lookup(process::Pool& pool) : pool_(pool), tell_(pool.loop()) {}

Lookup::~Lookup() = default;

Lookup::Query::~Query() {
    if (asking_ != nullptr) asking_->leave(*this);
}

const std::vector<std::string>* Lookup::find(const std::string& name) const {
    const auto found = known_.find(name);
    if (found == known_.end() || found->second.until_ms <= pool_.loop().steady_ms()) return nullptr;
    return &found->second.addresses;
}

std::unique_ptr<Lookup::Query> Lookup::ask(const std::string& name, OnFound on_found) {
    auto query = std::make_unique<Query>();
    query->on_found_ = std::move(on_found);
    std::unique_ptr<Asking>& asking = asking_[name];
    if (asking == nullptr) {
        asking = std::make_unique<Asking>(*this, name);
        asking->start();
    }
    asking->join(*query);
    if (!asking->failure().empty()) tell_.start(0, [this] { report_failures(); });
    return query;
}

void Lookup::report_failures() {
    for (;;) {
        const auto failed = std::find_if(asking_.begin(), asking_.end(), [](const auto& each) {
            return !each.second->failure().empty();
        });
        if (failed == asking_.end()) return;
        const std::string reason = failed->second->failure();
        answer(failed->first, {}, reason);
    }
}

void Lookup::answer(const std::string& name, const std::vector<std::string>& addresses,
                    const std::string& reason) {
    const auto found = asking_.find(name);
    if (!addresses.empty()) {
        known_.insert_or_assign(name, Known{addresses, pool_.loop().steady_ms() + kKeptMs});
    }
    const std::unique_ptr<Asking> asking = std::move(found->second);
    asking_.erase(found);
    asking->tell(addresses, reason);
}

}  // namespace narratoria::http
