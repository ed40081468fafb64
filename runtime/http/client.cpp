// SPDX-License-Identifier: Apache-2.0
#include "http/client.hpp"
#include "base/lifetime.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/transfer.hpp"

namespace narratoria::http {
namespace {

// The number of idle connections, and how long they are kept after the last exchange. libcurl does
// not notice when the server closes one, so without a limit its descriptor would stay open.
constexpr long kIdleConnections = 32;
constexpr uint64_t kIdleMs = 60'000;

}  // namespace

// The multi handle and its transfers. libcurl must not be called from its own callbacks, so
// settle() handles transfers that a listener starts or destroys in one, after libcurl has returned.
class Client::Multi final : public Transfers {
public:
    Multi(Loop& loop, process::Pool& pool) : loop_(loop), lookup_(pool), timer_(loop), idle_(loop) {
        const char* authorities = ::secure_getenv("SSL_CERT_FILE");
        if (authorities != nullptr) authorities_ = authorities;
    }
    ~Multi() {
        for (const auto* list : {&running_, &over_}) {
            for (const auto& transfer : *list) detach(*transfer);
        }
        running_.clear();
        over_.clear();
        close();
    }
    Multi(const Multi&) = delete;
    Multi& operator=(const Multi&) = delete;

    Transfer& start(Request request, Listener& listener);
    void end(Transfer& transfer) override;
    void abandon(Transfer& transfer) override;
    void forget_socket(int descriptor) override { watches_.erase(descriptor); }

    void trust(std::string authorities) { authorities_ = std::move(authorities); }
    size_t running() const { return running_.size(); }

private:
    bool open(Transfer& transfer);
    void close();
    void send(Transfer& transfer, const std::vector<std::string>& addresses);
    void add(Transfer& transfer);
    void detach(Transfer& transfer);
    std::unique_ptr<Transfer> take(Transfer& transfer);
    void mark_finished(Transfer& transfer);
    void later(void (Multi::*work)());
    void act(curl_socket_t descriptor, int events);
    void act_on_time() {
        if (std::exchange(is_due_, false)) act(CURL_SOCKET_TIMEOUT, 0);
    }
    void settle();
    int on_socket(curl_socket_t descriptor, int what);
    void on_timer(long milliseconds);

    Loop& loop_;
    const Curl* curl_ = nullptr;
    CURLM* multi_ = nullptr;
    std::string authorities_;
    std::vector<std::unique_ptr<Transfer>> running_;
    std::vector<std::unique_ptr<Transfer>> over_;
    std::vector<Transfer*> waiting_;  // to be added to the multi handle
    bool inside_ = false;             // a libcurl function is running
    bool settling_ = false;
    bool is_due_ = false;  // libcurl asked to be called immediately
    std::unordered_map<curl_socket_t, std::unique_ptr<Watch>> watches_;
    Lookup lookup_;
    Timer timer_;
    Timer idle_;
    Lifetime lifetime_;  // for later()
};

void Client::Multi::later(void (Multi::*work)()) {
    loop_.defer([this, work, life = lifetime_.watch()] {
        if (!life.ended()) (this->*work)();
    });
}

bool Client::Multi::open(Transfer& transfer) {
    if (multi_ != nullptr) return true;
    std::string reason;
    curl_ = Curl::load(reason);
    if (curl_ != nullptr) {
        multi_ = curl_->multi_init();
        if (multi_ == nullptr) reason = "out of descriptors or memory for HTTP";
    }
    if (multi_ == nullptr) {
        transfer.fail(Failure::Setup, reason);
        return false;
    }
    curl_->multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnections);
    curl_->multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_->multi_setopt(
        multi_, CURLMOPT_SOCKETFUNCTION,
        +[](CURL*, curl_socket_t descriptor, int what, void* self, void*) {
            return static_cast<Multi*>(self)->on_socket(descriptor, what);
        });
    curl_->multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_->multi_setopt(
        multi_, CURLMOPT_TIMERFUNCTION, +[](CURLM*, long milliseconds, void* self) {
            static_cast<Multi*>(self)->on_timer(milliseconds);
            return 0;
        });
    return true;
}

void Client::Multi::close() {
    if (multi_ != nullptr) curl_->multi_cleanup(std::exchange(multi_, nullptr));
    timer_.stop();
    is_due_ = false;
    watches_.clear();
}

Transfer& Client::Multi::start(Request request, Listener& listener) {
    auto made = std::make_unique<Transfer>(loop_, *this, std::move(request), listener);
    Transfer& transfer = *made;
    transfer.place = running_.size();
    running_.push_back(std::move(made));
    idle_.stop();
    if (!transfer.check() || !open(transfer)) {
        mark_finished(transfer);
        return transfer;
    }
    transfer.start_times();
    const std::string& host = transfer.url().host;
    if (is_address(host)) {
        send(transfer, {});
    } else if (const auto* addresses = lookup_.find(host)) {
        send(transfer, *addresses);
    } else {
        transfer.query = lookup_.ask(host, [this, &transfer](const std::vector<std::string>& found,
                                                             const std::string& why) {
            const auto query = std::move(transfer.query);
            if (!found.empty()) return send(transfer, found);
            transfer.fail(Failure::Lookup,
                          "the host name " + transfer.url().host + " cannot be resolved: " + why,
                          "Is it spelled correctly, and does this machine have a network?");
            mark_finished(transfer);
        });
    }
    return transfer;
}

void Client::Multi::send(Transfer& transfer, const std::vector<std::string>& addresses) {
    // Call open() again: the handle may have been closed while the name was looked up.
    if (!open(transfer) || !transfer.prepare(*curl_, addresses, authorities_)) {
        mark_finished(transfer);
    } else if (inside_) {
        waiting_.push_back(&transfer);
    } else {
        add(transfer);
    }
}

void Client::Multi::add(Transfer& transfer) {
    const CURLMcode code = curl_->multi_add_handle(multi_, transfer.easy());
    if (code == CURLM_OK) {
        transfer.is_added = true;
        return;
    }
    transfer.fail(Failure::Setup, curl_->multi_strerror(code));
    mark_finished(transfer);
}

void Client::Multi::detach(Transfer& transfer) {
    if (std::exchange(transfer.is_added, false)) {
        curl_->multi_remove_handle(multi_, transfer.easy());
    }
}

std::unique_ptr<Transfer> Client::Multi::take(Transfer& transfer) {
    std::erase(waiting_, &transfer);
    std::swap(running_[transfer.place], running_.back());
    running_[transfer.place]->place = transfer.place;
    std::unique_ptr<Transfer> taken = std::move(running_.back());
    running_.pop_back();
    return taken;
}

// Moves a transfer to over_. settle() then calls its listener from the loop.
void Client::Multi::mark_finished(Transfer& transfer) {
    if (std::exchange(transfer.is_over, true)) return;
    over_.push_back(take(transfer));
    if (!inside_ && !settling_) later(&Multi::settle);
}

void Client::Multi::end(Transfer& transfer) { mark_finished(transfer); }

void Client::Multi::abandon(Transfer& transfer) {
    if (transfer.is_over) return;
    if (inside_) return mark_finished(transfer);
    const std::unique_ptr<Transfer> gone = take(transfer);
    detach(*gone);
    if (running_.empty() && over_.empty()) later(&Multi::settle);  // starts the idle time
}

void Client::Multi::act(curl_socket_t descriptor, int events) {
    if (multi_ == nullptr) return;
    int running = 0;
    inside_ = true;
    const CURLMcode code = curl_->multi_socket_action(multi_, descriptor, events, &running);
    inside_ = false;
    if (code != CURLM_OK) {
        // The multi handle is no longer usable.
        while (!running_.empty()) {
            running_.back()->fail(Failure::Lost, curl_->multi_strerror(code));
            mark_finished(*running_.back());
        }
    }
    settle();
    if (code != CURLM_OK) close();
}

void Client::Multi::settle() {
    if (settling_) return;
    settling_ = true;
    int left = 0;
    while (const CURLMsg* message =
               multi_ != nullptr ? curl_->multi_info_read(multi_, &left) : nullptr) {
        if (message->msg != CURLMSG_DONE) continue;
        void* its_transfer = nullptr;
        curl_->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &its_transfer);
        auto& transfer = *static_cast<Transfer*>(its_transfer);
        transfer.on_result(message->data.result);
        mark_finished(transfer);
    }
    while (!over_.empty() || !waiting_.empty()) {
        for (Transfer* transfer : std::exchange(waiting_, {})) add(*transfer);
        const auto over = std::exchange(over_, {});
        for (const auto& transfer : over) detach(*transfer);
        for (const auto& transfer : over) transfer->notify_end();
    }
    settling_ = false;
    if (running_.empty() && multi_ != nullptr && !idle_.running()) {
        idle_.start(kIdleMs, [this] { close(); });
    }
}

int Client::Multi::on_socket(curl_socket_t descriptor, int what) {
    if (what == CURL_POLL_REMOVE) {
        watches_.erase(descriptor);
        return 0;
    }
    const unsigned events = ((what & CURL_POLL_IN) != 0 ? kReadable : 0U) |
                            ((what & CURL_POLL_OUT) != 0 ? kWritable : 0U);
    try {
        std::unique_ptr<Watch>& watch = watches_[descriptor];
        if (watch != nullptr) {
            watch->change(events);
            return 0;
        }
        watch = std::make_unique<Watch>(loop_);
        watch->start(
            descriptor,
            [this, descriptor, &ready = *watch] {
                act(descriptor, ((ready.ready() & kReadable) != 0 ? CURL_CSELECT_IN : 0) |
                                    ((ready.ready() & kWritable) != 0 ? CURL_CSELECT_OUT : 0));
            },
            events);
        return 0;
    } catch (const std::exception&) {
        return -1;
    }
}

void Client::Multi::on_timer(long milliseconds) {
    timer_.stop();
    is_due_ = milliseconds == 0;
    if (is_due_) {
        later(&Multi::act_on_time);
    } else if (milliseconds > 0) {
        timer_.start(static_cast<uint64_t>(milliseconds), [this] { act(CURL_SOCKET_TIMEOUT, 0); });
    }
}

Client::Client(Loop& loop, process::Pool& pool) : multi_(std::make_unique<Multi>(loop, pool)) {}

Client::~Client() = default;

std::unique_ptr<Exchange> Client::start(Request request, Listener& listener) {
    Transfer& transfer = multi_->start(std::move(request), listener);
    std::unique_ptr<Exchange> exchange(new Exchange(transfer));
    transfer.exchange = exchange.get();
    return exchange;
}

void Client::trust(std::string authorities) { multi_->trust(std::move(authorities)); }

size_t Client::running() const { return multi_->running(); }

}  // namespace narratoria::http
