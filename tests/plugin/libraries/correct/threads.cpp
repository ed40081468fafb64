// SPDX-License-Identifier: Apache-2.0
// Tools on 16 threads of the instance, each with its own arena of the allocator, that end attempts
// and are joined in the destructor.

#include <narratoria/plugin.hpp>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace plugin = narratoria::plugin;

namespace {

// Threads inherit the mask: the host's signals must not reach them.
class WithoutSignals {
public:
    WithoutSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

class Threads final : public plugin::Tools {
public:
    static constexpr plugin::ToolDescription kTools[] = {
        {"think", "Thinks on a thread",
         R"({"type":"object","required":["question"],)"
         R"("properties":{"question":{"type":"string"}}})"}};

    Threads() {
        const WithoutSignals during_start;
        for (int one = 0; one < 16; ++one) {
            threads_.emplace_back([this] { work(); });
        }
    }
    ~Threads() {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        for (std::thread& one : threads_) one.join();
    }

    void invoke(std::string_view, const plugin::InvocationRequest&,
                plugin::Invocation invocation) override {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(invocation));
        changed_.notify_one();
    }

private:
    void work() {
        std::vector<std::string> pieces;
        for (std::size_t size = 16; size < 65536; size *= 2) pieces.emplace_back(size, 'x');
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            const plugin::Invocation invocation = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            if (invocation.is_cancelled()) continue;
            invocation.event(R"({"version":"0","type":"log","level":"info","message":"…"})");
            invocation.done(true, std::string(1000, 'y'));
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<plugin::Invocation> waiting_;
    bool is_over_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

NARRATORIA_PLUGIN(Threads, "test.threads", "Threads", "1.0.0", "narratoria.tool/1");
