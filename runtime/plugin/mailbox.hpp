// SPDX-License-Identifier: Apache-2.0
#pragma once
// What plugins say from any thread, kept until the engine thread takes it: log lines, posted
// functions, and the output of the tools that they run.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "narratoria/invocation.h"
#include "plugin/session_access.hpp"

namespace narratoria::plugin {

class Instance;

// How a tool that a plugin ran came to its end; see nar_invocation_end.
struct InvocationEnd {
    int32_t exit_status = 0;
    std::string error_code;
    std::string error;
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
};

// Whoever waits for such a tool; each call on the engine thread, and may close the token.
class InvocationListener {
public:
    virtual ~InvocationListener() = default;
    virtual void on_output(std::string bytes) = 0;
    virtual void on_diagnostics(std::string_view bytes) = 0;
    virtual void on_ended(InvocationEnd end) = 0;
    virtual nar_status on_run(std::vector<std::string> arguments) = 0;
};

// A number for a question or an invocation, never used twice in a process.
uint64_t new_token();

class Mailbox {
public:
    // What waits for the engine thread is bounded; who says more is asked to wait, and log lines
    // beyond it are counted.
    static constexpr size_t kMaxOutput = 16u * 1024 * 1024;  // of one invocation
    static constexpr size_t kMaxPosts = 100'000;
    static constexpr size_t kMaxLines = 1'000;
    // As much as a read of a pipe brings.
    static constexpr size_t kPiece = 64 * 1024;

    explicit Mailbox(SessionAccess& session) : session_(session) {}

    // ---- from any thread
    void log(uint32_t level, std::string line);
    void disable(Instance* instance, std::string reason);
    nar_status post(Instance* from, void (*function)(void*), void (*drop)(void*), void* user);
    nar_status output(const Instance* from, uint64_t token, std::string_view bytes);
    nar_status diagnostics(const Instance* from, uint64_t token, std::string_view bytes);
    nar_status ended(const Instance* from, uint64_t token, InvocationEnd end);
    bool has_mail() const { return has_mail_.load(std::memory_order_acquire); }

    // ---- on the engine thread
    uint64_t open(const Instance* by, InvocationListener& listener);
    void close(uint64_t token);
    // Its plugin has said that it ended, although that was not delivered yet.
    bool has_ended(uint64_t token);
    nar_status run(const Instance* from, uint64_t token, std::vector<std::string> arguments);
    // What is there now, as far as the budget of the driving call goes; the rest in the next one.
    void deliver();
    void deliver_lines();
    // All that this instance runs has ended like this.
    void end_all_of(const Instance* instance, const InvocationEnd& end);
    // Nothing of this instance is delivered any more; what it posted is dropped.
    void forget(Instance* instance);

private:
    struct Invocation {
        const Instance* instance = nullptr;
        InvocationListener* listener = nullptr;
        std::string output;
        size_t delivered = 0;  // of the output
        std::string diagnostics;
        InvocationEnd end;
        bool has_ended = false;
        bool has_output = false;  // ever
        bool marked = false;      // stands in marked_
    };
    struct Posted {
        Instance* from;
        void (*function)(void*);
        void (*drop)(void*);
        void* user;
    };
    struct Line {
        uint32_t level;
        std::string text;
        Instance* to_disable;
    };

    void run_posted(const Posted& posted);
    void deliver_to(uint64_t token);

    // With the lock held.
    Invocation* find(const Instance* from, uint64_t token, nar_status& status);
    void mark(uint64_t token, Invocation& invocation);
    void notify();

    SessionAccess& session_;
    std::mutex mutex_;
    std::unordered_map<uint64_t, Invocation> invocations_;
    std::vector<uint64_t> marked_;  // those with something to deliver
    std::vector<Posted> posted_;
    std::vector<Line> lines_;
    uint64_t lost_lines_ = 0;
    std::atomic<bool> has_mail_{false};
};

}  // namespace narratoria::plugin
