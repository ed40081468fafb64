// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the sessions of one engine share: the loop, the supervisors, the job slots, and the way in
// from other threads.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/inbox.hpp"
#include "base/loop.hpp"
#include "engine/member.hpp"
#include "narratoria/engine.h"
#include "plan/job_slots.hpp"
#include "process/process.hpp"
#include "tool/limits.hpp"

namespace narratoria::engine {

// Milliseconds; 0: none.
struct Times {
    uint32_t try_ms = 30000;
    uint32_t plan_ms = 60000;
    uint32_t narrator_ms = 5000;
    uint32_t prompt_ms = 300000;
    uint32_t grace_ms = 2000;
};

struct Limits : tool::Limits {
    uint32_t history_patches = 10000;
};

struct EngineSettings {
    uint32_t jobs = 0;                     // 0: the cores of the affinity mask
    std::string root;                      // absolute
    std::vector<std::string> environment;  // NAME=value, what tools get
    std::vector<std::string> allow_paths;
    Times times;
    Limits limits;
    std::string supervisor;
    std::function<void(uint32_t level, std::string_view message)> log;
    Clock* clock = nullptr;  // of the loop; NULL: the machine's
};

// The tools' environment: a few variables of the host's, with `more` over them.
std::vector<std::string> tool_environment(const std::vector<std::string>& more);
void set_variable(std::vector<std::string>& environment, const std::string& variable);

class Engine {
public:
    explicit Engine(EngineSettings settings);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void run_until_idle();
    void run_once();
    void run_for(uint64_t microseconds);
    bool busy() const;

    bool on_its_thread() const { return pthread_equal(thread_.load(), pthread_self()) != 0; }
    void adopt_thread() { thread_.store(pthread_self()); }
    // After a fork the child has our memory but none of our processes.
    bool forked() const;
    bool in_callback() const { return callback_depth_ != 0; }
    uint32_t& callback_depth() { return callback_depth_; }

    // Calls something of the host's: it may come back in, but not drive the loop. What it throws is
    // dropped, and logged.
    template <typename Call>
    void call_host(Call&& call, const char* what = "a callback of the host") {
        ++callback_depth_;
        try {
            call();
        } catch (...) {
            log(NAR_LOG_ERROR, std::string(what) + " threw an exception, which was dropped");
        }
        --callback_depth_;
    }

    // From any thread: calls `function` on the engine thread, or `drop` when that can no longer be.
    void post(void (*function)(void*), void (*drop)(void*), void* user);
    void wake() noexcept { loop_.wake(); }

    void add(std::unique_ptr<Member> session);
    // At once, or when the callback that is running has returned.
    void remove(Member* session);

    const EngineSettings& settings() const { return settings_; }
    Loop& loop() { return loop_; }
    Inbox& inbox() { return inbox_; }
    process::Pool& pool() { return pool_; }
    plan::JobSlots& slots() { return slots_; }
    void log(uint32_t level, std::string_view message);

private:
    // What the host posts. There is no limit to it, and run_until_idle waits for it.
    class HostPosts : public Inbox::Poster {
    public:
        explicit HostPosts(Engine& engine) : Poster(SIZE_MAX), engine_(engine) {}
        void run_post(const Inbox::Post& post) override;
        void drop_post(const Inbox::Post& post) override;

    private:
        Engine& engine_;
    };

    void on_wake();
    template <typename Drive>
    void drive(Drive&& step);

    EngineSettings settings_;
    std::atomic<pthread_t> thread_;
    uint64_t made_under_;  // fork_count() then
    uint32_t callback_depth_ = 0;
    Loop loop_;
    Inbox inbox_;
    HostPosts host_posts_;
    process::Pool pool_;
    plan::JobSlots slots_;
    std::vector<std::unique_ptr<Member>> sessions_;
    std::vector<std::unique_ptr<Member>> removed_;  // wait for a callback to return
};

}  // namespace narratoria::engine
