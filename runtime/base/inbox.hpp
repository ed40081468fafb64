// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queue of messages from other threads to the engine thread. Each engine owns one inbox.
//
// It carries posted functions, log lines, and messages for tokens. A token represents work done
// elsewhere: a request to a narrator, or a tool that a plugin runs. The engine thread opens a token
// for a receiver. Any thread may then send output for it and, once, its end. Later sends return
// NAR_STALE after the end and NAR_GONE after close().
//
// deliver() makes all calls, on the engine thread and without the lock, so a callback may call the
// inbox. Cancellation does not use the inbox: it must work in a signal handler, which must not
// lock.

#include <any>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
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
    // Limits on undelivered messages. A sender over the limit gets NAR_BUSY; excess log lines are
    // counted and dropped. kMaxOutput: bytes per token, for output and diagnostics each.
    static constexpr size_t kMaxOutput = 16u * 1024 * 1024;
    static constexpr size_t kMaxLines = 1'000;
    // Output is delivered in pieces of at most this size, about one read of a pipe.
    static constexpr size_t kPiece = 64 * 1024;

    struct Post {
        void (*function)(void* user);
        void (*drop)(void* user);  // called instead if `function` never will be; may be NULL
        void* user;
    };

    // A source of posted functions; runs them on the engine thread. It must call forget_posts()
    // before its destruction.
    class Poster {
    public:
        explicit Poster(size_t max_posts) : max_posts_(max_posts) {}
        virtual ~Poster() = default;
        virtual void run_post(const Post& post) = 0;
        virtual void drop_post(const Post& post) = 0;

    private:
        friend class Inbox;
        const size_t max_posts_;
        std::deque<Post> waiting_;  // guarded by Inbox::mutex_
    };

    // Receives the messages of a token on the engine thread. It may close the token in any call. It
    // must close its tokens before its destruction.
    class Receiver {
    public:
        virtual ~Receiver() = default;
        virtual void on_output(std::string) {}
        virtual void on_diagnostics(std::string_view) {}
        // `end` contains the End type with which the token was opened, or nothing for End().
        virtual void on_ended(std::any end) = 0;
    };

    using LogFunction =
        std::function<void(uint32_t level, std::string_view line, std::string_view session)>;

    Inbox(Loop& loop, LogFunction log) : loop_(loop), log_(std::move(log)) {}
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    // ---- thread-safe

    // `session`: the id of the session that the line concerns, or empty.
    void log(uint32_t level, std::string line, std::string session = {});
    nar_status post(Poster& from, const Post& post);
    // `owner` must be the one that opened the token; otherwise NAR_GONE.
    // `owner` NULL: any owner, for a token that was opened with this End type. So in
    // send_diagnostics().
    nar_status send_output(const void* owner, uint64_t token, std::string_view bytes,
                           const std::type_info* end_type = nullptr);
    nar_status send_diagnostics(const void* owner, uint64_t token, std::string_view bytes,
                                const std::type_info* end_type = nullptr);
    // `owner` NULL: any owner. NAR_GONE if the token was opened with a different End type.
    // `last_output` precedes the end and is not limited.
    template <typename End>
    nar_status send_end(const void* owner, uint64_t token, End end,
                        std::string_view last_output = {}) {
        return send_end(owner, token, typeid(End), std::move(end), last_output);
    }
    // Like send_end() with End(), but does not allocate.
    template <typename End>
    nar_status send_empty_end(const void* owner, uint64_t token,
                              std::string_view last_output = {}) {
        return send_end(owner, token, typeid(End), {}, last_output);
    }

    // ---- engine thread only

    template <typename End>
    uint64_t open(const void* owner, Receiver& receiver) {
        return open(owner, receiver, typeid(End), false);
    }
    // The messages of this token wait, without waking the loop, until release() or deliver(token).
    template <typename End>
    uint64_t open_suspended(const void* owner, Receiver& receiver) {
        return open(owner, receiver, typeid(End), true);
    }
    void release(uint64_t token);
    void close(uint64_t token);
    void set_receiver(uint64_t token, Receiver& receiver);
    // What waits for delivery.
    struct Messages {
        std::string output;
        std::string diagnostics;
        std::any end;  // as Receiver::on_ended() gets it
    };
    // The messages of a suspended token that has ended, otherwise NULL. Valid until deliver() or
    // close().
    const Messages* ended(uint64_t token) const;
    // Closes all tokens of an owner without calling their receivers.
    void close_all(const void* owner);
    // Sends `end` for each token of an owner that has no end yet.
    void end_all(const void* owner, const std::any& end);
    // True if an end was sent, delivered or not.
    bool has_end(uint64_t token) const;

    // Finds an open token without an end, for an owner that delegates the work.
    struct Found {
        nar_status status = NAR_OK;
        Receiver* receiver = nullptr;
        bool has_output = false;  // true once any output was sent
    };
    Found find(const void* owner, uint64_t token);
    void deliver_diagnostics(uint64_t token);
    // Delivers the output sent so far immediately, for a call that must follow it. The receiver may
    // close the token during this call.
    void deliver_output(uint64_t token);

    // Delivers everything sent before the call, within the budget of the driving call. Wakes the
    // loop if something is left.
    void deliver();
    // Delivers everything sent for a suspended token.
    void deliver(uint64_t token);
    void deliver_lines();
    // Drops the posts of this poster that have not run.
    void forget_posts(Poster& from);
    // True if posts of this poster, or messages of any token, are undelivered.
    bool has_waiting(const Poster& of) const;

private:
    struct Token {
        const void* owner = nullptr;
        Receiver* receiver = nullptr;
        const std::type_info* end_type = nullptr;
        Messages messages;
        size_t delivered = 0;  // delivered bytes of the output
        bool has_end = false;  // stays true after delivery
        bool end_waits = false;
        bool has_output = false;
        bool is_suspended = false;
        bool is_ready = false;  // listed in ready_

        bool has_messages() const {
            return !messages.output.empty() || !messages.diagnostics.empty() || end_waits;
        }
    };
    struct Line {
        uint32_t level;
        std::string text;
        std::string session;
    };
    class WakeForRest;

    uint64_t open(const void* owner, Receiver& receiver, const std::type_info& end_type,
                  bool is_suspended);
    nar_status send_end(const void* owner, uint64_t token, const std::type_info& type, std::any end,
                        std::string_view last_output);
    void deliver_post();
    void deliver_ready();
    // Delivers the next piece of the token's messages. False if none is left.
    bool deliver_piece(uint64_t token);

    // These functions require the lock.
    const Token* find(uint64_t number) const;
    Token* find(uint64_t number);
    void end_starting();
    // `end_type` NULL: any.
    Token* find_open(const void* owner, uint64_t token, const std::type_info* end_type,
                     nar_status& status);
    void mark_ready(uint64_t number, Token& token);

    Loop& loop_;
    const LogFunction log_;
    mutable std::mutex mutex_;  // guards everything below; never held during a callback
    std::unordered_map<uint64_t, Token> tokens_;
    Token starting_;                // a suspended token that is not in tokens_
    uint64_t starting_number_ = 0;  // 0: none
    std::deque<uint64_t> ready_;    // tokens with undelivered messages, in the order of sending
    size_t waiting_posts_ = 0;
    // Posters with waiting posts. They take turns, one post each, so that a poster with thousands
    // of posts does not delay other posters. This matters most if driving calls have a small
    // budget.
    std::deque<Poster*> turns_;
    std::vector<Line> lines_;
    uint64_t lost_lines_ = 0;
};

}  // namespace narratoria
