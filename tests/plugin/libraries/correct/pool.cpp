// SPDX-License-Identifier: Apache-2.0
// A narrator whose threads are shared by all instances. The last instance joins them.

#include <narratoria/plugin.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace plugin = narratoria::plugin;

namespace {

class Pool {
public:
    static std::shared_ptr<Pool> get() {
        static std::mutex mutex;
        static std::weak_ptr<Pool> shared;
        const std::lock_guard lock(mutex);
        std::shared_ptr<Pool> pool = shared.lock();
        if (!pool) shared = pool = std::make_shared<Pool>();
        return pool;
    }

    Pool() {
        for (int one = 0; one < 4; ++one) threads_.emplace_back([this] { work(); });
    }
    ~Pool() {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        for (std::thread& one : threads_) one.join();
    }
    void add(std::function<void()> task) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        changed_.notify_one();
    }

private:
    void work() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool is_over_ = false;
    std::vector<std::thread> threads_;
};

class Sage final : public plugin::Narrator {
public:
    void generate(std::string_view, plugin::Reply reply) override {
        pool_->add([reply = std::move(reply)] {
            if (reply.is_wanted()) {
                reply.plan(R"({"requestId":"plan-1","narrative":"It rains.","tools":[]})");
            }
        });
    }

private:
    const std::shared_ptr<Pool> pool_ = Pool::get();
};

}  // namespace

NARRATORIA_PLUGIN(Sage, "test.pool", "Pool", "1.0.0", "narratoria.narrator/1");
