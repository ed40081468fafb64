// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine: owns the sessions and the resources that they share, which are the loop, the inbox,
// the process pool, the HTTP client and the job slots.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/engine_thread.hpp"
#include "base/guarantees.hpp"
#include "base/inbox.hpp"
#include "base/loop.hpp"
#include "engine/member.hpp"
#include "http/client.hpp"
#include "journal/writer.hpp"
#include "narratoria/engine.h"
#include "plan/job_slots.hpp"
#include "process/pool.hpp"
#include "process/process.hpp"
#include "script/limits.hpp"
#include "tool/limits.hpp"

namespace narratoria::engine {

// Timeouts in milliseconds; 0: no timeout.
struct Times {
    uint32_t try_ms = 30000;
    uint32_t plan_ms = 60000;
    uint32_t narrator_ms = 5000;
    uint32_t prompt_ms = 300000;
    uint32_t grace_ms = 2000;
    uint32_t narrator_first_ms = 0;
    uint32_t narrator_between_ms = 0;
};

struct Limits : tool::Limits {
    uint32_t history_patches = 10000;
    uint64_t patch_bytes = 8u * 1024 * 1024;
    uint64_t state_bytes = 256u * 1024 * 1024;
    uint64_t script_steps = script::Limits().steps;
    uint64_t script_calls = script::Limits().calls;
    uint32_t script_depth = script::Limits().depth;
    uint64_t script_source_bytes = script::Limits().source_bytes;
    uint64_t script_value_bytes = script::Limits().value_bytes;
    uint64_t script_memory_bytes = script::Limits().memory_bytes;
    uint64_t script_output_bytes = script::Limits().output_bytes;
    uint32_t script_time_ms = script::Limits().milliseconds;
};

// Returns the limits of scripts. "No limit" is the largest value here, and 0 in script::Limits.
inline script::Limits script_limits(const Limits& limits) {
    auto or_none = [](auto value) { return value == static_cast<decltype(value)>(-1) ? 0 : value; };
    return {.steps = or_none(limits.script_steps),
            .calls = or_none(limits.script_calls),
            .depth = or_none(limits.script_depth),
            .source_bytes = or_none(limits.script_source_bytes),
            .value_bytes = or_none(limits.script_value_bytes),
            .memory_bytes = or_none(limits.script_memory_bytes),
            .output_bytes = or_none(limits.script_output_bytes),
            .milliseconds = or_none(limits.script_time_ms)};
}

// Maximum number of tools that only wait (NAR_TOOL_WAITS) and run at the same time.
inline constexpr uint32_t kMaxWaitingTools = 1000;

struct EngineSettings {
    uint32_t jobs = 0;  // most tools at a time; 0: the cores in the affinity mask
    std::string root;   // absolute
    std::vector<std::string> environment;  // NAME=value, for tools
    std::vector<std::string> allow_paths;
    std::vector<std::string> allow_schemes;
    std::string output;  // the base of sessions' output folders; empty: the default
    uint32_t output_mode = NAR_OUTPUT_REMOVE;
    std::string store;  // the default for sessions that do not name a store; may be empty
    Times times;
    Limits limits;
    std::string supervisor;
    Guarantees guarantees;  // required of every tool
    // `session`: the id of the session that the line concerns, or empty.
    std::function<void(uint32_t level, std::string_view message, std::string_view session,
                       std::string_view code)>
        log;
    Clock* clock = nullptr;  // the loop's clock; NULL: the system clock
};

// The environment of tools: selected variables of the host's environment, overridden by `more`.
std::vector<std::string> tool_environment(const std::vector<std::string>& more);

// Used on one thread at a time, the engine thread: the creating thread, or the last one that called
// adopt_thread(). post(), wake(), on_its_thread() and the inbox are thread-safe. Destroys its
// sessions in its destructor.
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

    bool on_its_thread() const { return thread_->is_current(); }
    void adopt_thread() { thread_->adopt(); }
    const std::shared_ptr<EngineThread>& thread() const { return thread_; }
    // True in the child of a fork. The child has a copy of the memory, but the processes belong to
    // the parent.
    bool forked() const;
    bool in_callback() const { return callback_depth_ != 0; }
    uint32_t& callback_depth() { return callback_depth_; }

    // Calls a function of the host. The function may call the API, but must not drive the loop. An
    // exception is logged, and the driving call reports it.
    template <typename Call>
    void call_host(Call&& call, const char* what = "a callback of the host") {
        ++callback_depth_;
        try {
            call();
        } catch (const std::exception& exception) {
            note_thrown(what, exception.what());
        } catch (...) {
            note_thrown(what, "an exception that is not a std::exception");
        }
        --callback_depth_;
    }
    void note_thrown(const char* what, const char* text) noexcept;
    // Returns the first exception of a callback since the last call of this function, as text;
    // empty if there was none.
    std::string take_thrown() noexcept { return std::exchange(thrown_, {}); }

    // Thread-safe. Calls `function` on the engine thread, or `drop` if the engine is destroyed
    // first.
    void post(void (*function)(void*), void (*drop)(void*), void* user);
    void wake() noexcept { loop_.wake(); }

    void add(std::unique_ptr<Member> session);
    // Destroys the session: immediately, or after the running callback has returned.
    void remove(Member* session);

    const EngineSettings& settings() const { return settings_; }
    Loop& loop() { return loop_; }
    Inbox& inbox() { return inbox_; }
    process::Pool& pool() { return pool_; }
    http::Client& http() { return http_; }
    // Created on first use.
    journal::Writer& store_writer();
    plan::JobSlots& slots() { return slots_; }
    // Slots for tools that only wait. Bounded, because each tool costs memory.
    plan::JobSlots& waiting_slots() { return waiting_slots_; }
    // Logs a line. `session`: the id of the session that it concerns, or empty.
    void log(uint32_t level, std::string_view message, std::string_view session = {},
             std::string_view code = {});

private:
    // Runs the host's posts. Their number is not limited, and run_until_idle() waits for them.
    class HostPosts : public Inbox::Poster {
    public:
        explicit HostPosts(Engine& engine) : Poster(SIZE_MAX), engine_(engine) {}
        void run_post(const Inbox::Post& post) override;
        void drop_post(const Inbox::Post& post) override;

    private:
        Engine& engine_;
    };

    void on_wake();
    void keep_thrown(const char* what, const char* text) noexcept;
    template <typename Drive>
    void drive(Drive&& step);

    EngineSettings settings_;
    const std::shared_ptr<EngineThread> thread_;
    uint64_t made_under_;  // fork_count() at creation
    uint32_t callback_depth_ = 0;
    std::string thrown_;
    Loop loop_;
    Inbox inbox_;
    HostPosts host_posts_;
    std::unique_ptr<journal::Writer> store_writer_;
    process::Pool pool_;
    http::Client http_;
    plan::JobSlots slots_;
    plan::JobSlots waiting_slots_{kMaxWaitingTools};
    std::vector<std::unique_ptr<Member>> sessions_;
    std::vector<std::unique_ptr<Member>> removed_;  // destroyed after the running callback
};

}  // namespace narratoria::engine
