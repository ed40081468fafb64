// SPDX-License-Identifier: Apache-2.0
// The fake host's loop: posts, timers and polls (narratoria/host_loop.h).
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "plugin_check/fake_host.hpp"
#include "plugin_check/process_state.hpp"
#include "plugin_check/tokens.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Longest chain of 0 ms timers and posts that start each other. Legitimate split work is shorter.
constexpr unsigned kMaxChain = 250;
// Consecutive rounds with a ready descriptor that count as one link of a chain: the writer may be a
// thread or process that writes for a while.
constexpr unsigned kRoundsForAChain = 64;
// A chain of this length is followed for kChainSeconds beyond the loop's time.
constexpr unsigned kSuspiciousChain = 16;
constexpr double kChainSeconds = 2;

// Convert between NAR_POLL_… and the flags of poll(2).
short to_poll(std::uint32_t events) {
    return static_cast<short>(((events & NAR_POLL_READABLE) != 0 ? POLLIN | POLLRDHUP : 0) |
                              ((events & NAR_POLL_WRITABLE) != 0 ? POLLOUT : 0));
}
std::uint32_t from_poll(short revents, std::uint32_t events) {
    if ((revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return events;
    return ((revents & (POLLIN | POLLRDHUP)) != 0 ? events & NAR_POLL_READABLE : 0) |
           ((revents & POLLOUT) != 0 ? events & NAR_POLL_WRITABLE : 0);
}

}  // namespace

void PluginCheckHost::stop_loop() {
    processes_.end_all();
    std::deque<Post> dropped;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, one] : polls_) is_still_open(one);
        timers_.clear();
        polls_.clear();
        dropped.swap(posts_);
    }
    for (const Post& post : dropped) {
        if (post.drop == nullptr) continue;
        call("the drop function of a post", "drop", [&] { post.drop(post.user); });
    }
}

bool PluginCheckHost::run_loop(double seconds, const std::function<bool()>& is_enough) {
    const Clock::time_point began = Clock::now();
    for (;;) {
        report_.extend_deadline();
        if (is_enough()) {
            chain_ = 0;
            return true;
        }
        double left = seconds - seconds_since(began);
        if (left <= 0) {
            // Follow a suspicious chain until it ends or exceeds the limit.
            if (chain_ < kSuspiciousChain || chain_ > kMaxChain || left < -kChainSeconds) {
                chain_ = 0;
                return false;
            }
            left = 0;
        }

        std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}};
        std::vector<std::uint64_t> names{0};
        double wait = std::min(left, 0.05);
        {
            const std::lock_guard lock(mutex_);
            for (auto& [token, one] : invocations_) one.unread = 0;
            for (const auto& [name, one] : polls_) {
                // poll(2) ignores a negative descriptor.
                waiting.push_back({one.events != 0 ? one.descriptor : -1, to_poll(one.events), 0});
                names.push_back(name);
            }
            for (const auto& [name, timer] : timers_) {
                wait = std::min(wait, -seconds_since(timer.due));
            }
            if (!posts_.empty()) wait = 0;
        }
        const std::size_t poll_count = waiting.size();
        processes_.add_to(waiting);
        if (waiting.size() == 1 && wait > 0 && nothing_can_happen()) return false;
        poll(waiting.data(), waiting.size(), wait <= 0 ? 0 : static_cast<int>(wait * 1000) + 1);
        std::uint64_t count = 0;
        static_cast<void>(!read(wake_.get(), &count, sizeof count));

        std::deque<Post> posts;
        std::vector<Timer> due;
        {
            const std::lock_guard lock(mutex_);
            posts.swap(posts_);
            for (auto at = timers_.begin(); at != timers_.end();) {
                if (seconds_since(at->second.due) < 0) {
                    ++at;
                    continue;
                }
                due.push_back(at->second);
                at = timers_.erase(at);
            }
        }
        ChainLength longest = 0;
        for (const Post& post : posts) {
            longest = std::max(longest, post.chain);
            run_chained(post.chain, "a posted function", [&] { post.function(post.user); });
        }
        for (const Timer& timer : due) {
            longest = std::max(longest, timer.chain);
            run_chained(timer.chain, "a timer's on_time", [&] { timer.on_time(timer.user); });
        }
        chain_ = 0;
        processes_.run(
            [this](const char* name, const std::function<void()>& ask) { call(name, name, ask); });
        for (std::size_t index = 1; index < poll_count; ++index) {
            std::unique_lock lock(mutex_);
            const auto found = polls_.find(names[index]);
            if (found == polls_.end()) continue;  // a callback above has stopped it
            if (waiting[index].revents == 0) {
                found->second.ready_rounds = 0;
                continue;
            }
            const ChainLength chain = ++found->second.ready_rounds / kRoundsForAChain;
            longest = std::max(longest, chain);
            if (chain > kMaxChain) {
                report_.add_finding("P43",
                                    fmt::format("a descriptor that it polls is always ready, {} "
                                                "times without a pause: the host's loop never "
                                                "rests",
                                                kMaxChain * kRoundsForAChain));
            }
            const Poll one = found->second;
            if (!is_still_open(one)) {
                polls_.erase(found);
                continue;
            }
            lock.unlock();
            const std::uint32_t ready = from_poll(waiting[index].revents, one.events);
            if (ready == 0) continue;
            call("a poll's on_ready", "a poll's on_ready", [&] { one.on_ready(one.user, ready); });
        }
        chain_ = longest;
    }
}

// True if nothing is pending and no thread could start something, so that waiting is useless.
bool PluginCheckHost::nothing_can_happen() const {
    const std::lock_guard lock(mutex_);
    return timers_.empty() && polls_.empty() && posts_.empty() && processes_.is_empty() &&
           running_threads().size() == 1;
}

void PluginCheckHost::run_chained(ChainLength chain, const char* name,
                                  const std::function<void()>& ask) {
    chain_ = chain;
    if (chain > kMaxChain) {
        report_.add_finding("P43",
                            fmt::format("{} starts itself again each time, {} times without a "
                                        "pause: the host's loop never becomes idle",
                                        name, kMaxChain));
    }
    call(name, name, ask);
}

bool PluginCheckHost::is_still_open(const Poll& poll) {
    struct stat now {};
    if (fstat(poll.descriptor, &now) == 0 && now.st_dev == poll.device &&
        now.st_ino == poll.inode) {
        return true;
    }
    report_.add_finding("P44", fmt::format("descriptor {} was closed while it was polled; call "
                                           "poll.stop before close",
                                           poll.descriptor));
    return false;
}

nar_status PluginCheckHost::post_post(const nar_host* host, void (*function)(void*),
                                      void (*drop)(void*), void* user) {
    nar_status status;
    PluginCheckHost* self = entered(host, "post", kInInit | kInActive, false, &status);
    if (self == nullptr) return status;
    if (function == nullptr) {
        self->report_.add_finding("P34", "post: the function is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    {
        const std::lock_guard lock(self->mutex_);
        if (self->life_ != Life::Active && self->life_ != Life::Init) return NAR_GONE;
        const ChainLength chain = self->is_engine_thread() ? self->chain_ + 1 : 0;
        self->posts_.push_back({function, drop, user, chain});
    }
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::timer_start(const nar_host* host, std::uint32_t milliseconds,
                                        void (*on_time)(void*), void* user, std::uint64_t* timer) {
    nar_status status;
    PluginCheckHost* self = entered(host, "timer.start", kInActive, true, &status);
    if (self == nullptr) return status;
    if (on_time == nullptr || timer == nullptr) {
        self->report_.add_finding("P34", "timer.start: on_time or timer is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    *timer = fresh_token();
    self->timers_[*timer] = {Clock::now() + std::chrono::milliseconds(milliseconds), on_time, user,
                             milliseconds == 0 ? self->chain_ + 1 : 0};
    return NAR_OK;
}

nar_status PluginCheckHost::timer_stop(const nar_host* host, std::uint64_t timer) {
    nar_status status;
    PluginCheckHost* self = entered(host, "timer.stop", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    return self->timers_.erase(timer) > 0 ? NAR_OK : NAR_NOT_FOUND;
}

nar_status PluginCheckHost::poll_start(const nar_host* host, std::int32_t descriptor,
                                       std::uint32_t events, void (*on_ready)(void*, std::uint32_t),
                                       void* user, std::uint64_t* poll) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.start", kInActive, true, &status);
    if (self == nullptr) return status;
    struct stat information {};
    if (on_ready == nullptr || poll == nullptr || fstat(descriptor, &information) != 0) {
        self->report_.add_finding(
            "P34", "poll.start: the function or poll is NULL, or the descriptor is invalid");
        return NAR_INVALID_ARGUMENT;
    }
    if ((events & ~(NAR_POLL_READABLE | NAR_POLL_WRITABLE)) != 0) {
        self->report_.add_finding("P34", "poll.start: events has bits that are not defined");
        return NAR_INVALID_ARGUMENT;
    }
    if (S_ISREG(information.st_mode)) return NAR_IO;
    const std::lock_guard lock(self->mutex_);
    *poll = fresh_token();
    self->polls_[*poll] = {descriptor, information.st_dev, information.st_ino,
                           events,     on_ready,           user};
    return NAR_OK;
}

nar_status PluginCheckHost::poll_change(const nar_host* host, std::uint64_t poll,
                                        std::uint32_t events) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.change", kInActive, true, &status);
    if (self == nullptr) return status;
    if ((events & ~(NAR_POLL_READABLE | NAR_POLL_WRITABLE)) != 0) {
        self->report_.add_finding("P34", "poll.change: events has bits that are not defined");
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    const auto found = self->polls_.find(poll);
    if (found == self->polls_.end()) return NAR_NOT_FOUND;
    found->second.events = events;
    return NAR_OK;
}

nar_status PluginCheckHost::poll_stop(const nar_host* host, std::uint64_t poll) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.stop", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->polls_.find(poll);
    if (found == self->polls_.end()) return NAR_NOT_FOUND;
    self->is_still_open(found->second);
    self->polls_.erase(found);
    return NAR_OK;
}

}  // namespace narratoria::command::plugin_check
