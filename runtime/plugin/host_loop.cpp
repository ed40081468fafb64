// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/host_loop.h.
#include <sys/stat.h>
#include <system_error>

#include <memory>
#include <utility>

#include "base/foreign_watch.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

nar_status post(const nar_host* host, void (*function)(void*), void (*drop)(void*), void* user) {
    if (function == nullptr) return NAR_INVALID_ARGUMENT;
    return from_any_thread(host, [&](Instance& instance) -> nar_status {
        // Posting from init is allowed, so that a plugin can start its own work. The function runs
        // once the instance is active.
        const bool is_early = instance.phase() == Instance::Phase::Init;
        if (!is_active(instance) && !is_early) return NAR_GONE;
        return instance.inbox().post(instance, {function, drop, user});
    });
}

nar_status timer_start(const nar_host* host, uint32_t milliseconds, void (*on_time)(void*),
                       void* user, uint64_t* timer) {
    if (on_time == nullptr || timer == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "timer.start", [&](Instance& instance) {
        const uint64_t number = ++instance.last_handle;
        auto made = std::make_unique<Timer>(instance.session().loop());
        // Add one millisecond, because the loop's cached time may be stale: a timer must not fire
        // early.
        made->start(milliseconds == 0 ? 0 : uint64_t{milliseconds} + 1,
                    [&instance, number, on_time, user] {
                        const std::unique_ptr<Timer> gone = std::move(instance.timers[number]);
                        instance.timers.erase(number);
                        instance.call("a timer's function", [&] { on_time(user); });
                    });
        instance.timers.emplace(number, std::move(made));
        *timer = number;
        return NAR_OK;
    });
}

nar_status timer_stop(const nar_host* host, uint64_t timer) {
    return on_engine_thread(host, "timer.stop", [&](Instance& instance) {
        return instance.timers.erase(timer) == 1 ? NAR_OK : NAR_NOT_FOUND;
    });
}

static_assert(NAR_POLL_READABLE == kReadable && NAR_POLL_WRITABLE == kWritable);
constexpr uint32_t kPollEvents = NAR_POLL_READABLE | NAR_POLL_WRITABLE;

nar_status poll_start(const nar_host* host, int32_t descriptor, uint32_t events,
                      void (*on_ready)(void*, uint32_t), void* user, uint64_t* poll) {
    if (on_ready == nullptr || poll == nullptr || (events & ~kPollEvents) != 0) {
        return NAR_INVALID_ARGUMENT;
    }
    return on_engine_thread(host, "poll.start", [&](Instance& instance) -> nar_status {
        struct stat status {};
        if (::fstat(descriptor, &status) != 0) return NAR_INVALID_ARGUMENT;
        if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return NAR_IO;
        for (const auto& [other, watch] : instance.polls) {
            const bool has_it = watch->running() && watch->descriptor() == descriptor;
            if (has_it && !watch->is_lost()) return NAR_IO;
        }
        const uint64_t number = ++instance.last_handle;
        auto made = std::make_unique<ForeignWatch>(instance.session().loop());
        try {
            made->start(
                descriptor,
                [&instance, number, on_ready, user] {
                    ForeignWatch& watch = *instance.polls.at(number);
                    // A disabled plugin never reads the descriptor, which would stay ready and keep the
                    // loop busy.
                    if (instance.disabled()) return watch.stop();
                    instance.call("a poll's function", [&] { on_ready(user, watch.ready()); });
                },
                [&instance, descriptor, on_ready, user] {
                    instance.report("the descriptor " + std::to_string(descriptor) +
                                    " was closed before poll.stop; its poll has ended");
                    instance.call("a poll's function", [&] { on_ready(user, NAR_POLL_LOST); });
                },
                events);
        } catch (const std::system_error&) {
            return NAR_IO;  // the descriptor cannot be polled
        }
        instance.polls.emplace(number, std::move(made));
        *poll = number;
        return NAR_OK;
    });
}

nar_status poll_change(const nar_host* host, uint64_t poll, uint32_t events) {
    if ((events & ~kPollEvents) != 0) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "poll.change", [&](Instance& instance) {
        // Polls of a disabled instance do not run.
        const auto found = instance.polls.find(poll);
        if (found == instance.polls.end()) return NAR_NOT_FOUND;
        if (!found->second->running()) return found->second->lost() ? NAR_IO : NAR_NOT_FOUND;
        found->second->change(events);
        return NAR_OK;
    });
}

nar_status poll_stop(const nar_host* host, uint64_t poll) {
    return on_engine_thread(host, "poll.stop", [&](Instance& instance) -> nar_status {
        const auto found = instance.polls.find(poll);
        if (found == instance.polls.end()) return NAR_NOT_FOUND;
        const bool was_lost = found->second->lost();
        found->second->stop();
        // Destroyed later, because its own callback may be running.
        std::shared_ptr<ForeignWatch> stopped(std::move(found->second));
        instance.polls.erase(found);
        instance.session().loop().defer([stopped] {});
        return was_lost ? NAR_IO : NAR_OK;
    });
}

}  // namespace

const nar_host_post post_service{sizeof(nar_host_post), 0, post};
const nar_host_timer timer_service{sizeof(nar_host_timer), 0, timer_start, timer_stop};
const nar_host_poll poll_service{sizeof(nar_host_poll), 0, poll_start, poll_change, poll_stop};

}  // namespace narratoria::plugin
