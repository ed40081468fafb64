// SPDX-License-Identifier: Apache-2.0
#pragma once
// What other threads send to the engine thread. One inbox per engine.
//
// Three things arrive: posted functions, log lines, and what belongs to a token. A token stands for
// work that is done elsewhere: a question to a narrator, a tool that a plugin runs. The engine
// thread opens it for a receiver; any thread may then send output for it and, once, its end. After
// the end further sends answer NAR_STALE, after close() NAR_GONE.
//
// Everything is delivered by deliver() on the engine thread, outside of the lock. Cancellation does
// not come this way: it must work in a signal handler, which may not take a lock.

#include <any>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "base/loop.hpp"
#include "narratoria/status.h"

namespace narratoria {

class Inbox {
public:
    // What waits for the engine thread is bounded. A sender of more gets NAR_BUSY; log lines beyond
    // the limit are counted and dropped.
    static constexpr size_t kMaxOutput = 16u * 1024 * 1024;  // of one token, in bytes
    static constexpr size_t kMaxLines = 1'000;
    // Output is delivered in pieces as large as what a read of a pipe brings.
    static constexpr size_t kPiece = 64 * 1024;

    struct Post {
        void (*function)(void* user);
        void (*drop)(void* user);  // called instead when the function will not be; may be NULL
        void* user;
    };

    // Posts functions, and is asked to call them on the engine thread. It must call forget_posts
    // before it goes.
    class Poster {
    public:
        explicit Poster(size_t max_posts) : max_posts_(max_posts) {}
        virtual ~Poster() = default;
        virtual void run_post(const Post& post) = 0;
        virtual void drop_post(const Post& post) = 0;

    private:
        friend class Inbox;
        const size_t max_posts_;
        size_t waiting_ = 0;  // guarded by the inbox's mutex
    };

    // Gets what is sent for a token, on the engine thread. Each call may close the token. It must
    // close its tokens before it goes.
    class Receiver {
    public:
        virtual ~Receiver() = default;
        virtual void on_output(std::string) {}
        virtual void on_diagnostics(std::string_view) {}
        virtual void on_ended(std::any end) = 0;  // holds the End that the token was opened with
    };

    using LogFunction = std::function<void(uint32_t level, std::string_view line)>;

    Inbox(Loop& loop, LogFunction log) : loop_(loop), log_(std::move(log)) {}
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    // ---- from any thread

    void log(uint32_t level, std::string line);
    nar_status post(Poster& from, const Post& post);
    // `owner` is who opened the token; another one's token is NAR_GONE.
    nar_status send_output(const void* owner, uint64_t token, std::string_view bytes);
    nar_status send_diagnostics(const void* owner, uint64_t token, std::string_view bytes);
    // `owner` NULL: whoever opened it. A token that was opened with another type of end is NAR_GONE.
    nar_status send_end(const void* owner, uint64_t token, std::any end);

    // ---- on the engine thread

    template <typename End>
    uint64_t open(const void* owner, Receiver& receiver) {
        return open(owner, receiver, typeid(End));
    }
    void close(uint64_t token);
    // Closes all tokens of an owner, without a word to their receivers.
    void close_all(const void* owner);
    // Sends this end for all tokens of an owner that have none.
    void end_all(const void* owner, const std::any& end);
    // An end was sent, whether or not it was delivered.
    bool has_end(uint64_t token) const;

    // An open token without an end, for an owner who hands the work over to somebody else.
    struct Found {
        nar_status status = NAR_OK;
        Receiver* receiver = nullptr;
        bool has_output = false;  // some was sent, ever
    };
    Found find(const void* owner, uint64_t token);
    void deliver_diagnostics(uint64_t token);

    // Delivers what is there now, as far as the budget of the driving call goes; wakes the loop when
    // something is left.
    void deliver();
    void deliver_lines();
    // Drops what this poster sent and was not run.
    void forget_posts(Poster& from);
    // Posts of this poster, or an end or output of any token, wait to be delivered.
    bool has_waiting(const Poster& of) const;

private:
    struct Token {
        const void* owner;
        Receiver* receiver;
        const std::type_info* end_type;
        std::string output;
        size_t delivered = 0;  // of the output
        std::string diagnostics;
        std::any end;
        bool has_end = false;  // stays true when the end was delivered
        bool has_output = false;
        bool is_ready = false;  // stands in ready_
    };
    struct WaitingPost {
        Poster* from;
        Post post;
    };
    struct Line {
        uint32_t level;
        std::string text;
    };
    class WakeForRest;

    uint64_t open(const void* owner, Receiver& receiver, const std::type_info& end_type);
    void deliver_post();
    void deliver_token();

    // With the lock held.
    Token* find_open(const void* owner, uint64_t token, nar_status& status);
    void mark_ready(uint64_t number, Token& token);

    Loop& loop_;
    const LogFunction log_;
    mutable std::mutex mutex_;  // over all that follows; never held while something is called
    std::unordered_map<uint64_t, Token> tokens_;
    std::deque<uint64_t> ready_;  // tokens with something to deliver, in the order of sending
    std::deque<WaitingPost> posts_;
    std::vector<Line> lines_;
    uint64_t lost_lines_ = 0;
};

}  // namespace narratoria
