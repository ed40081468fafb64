// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timers and descriptors on the engine's loop. Not for direct use: include narratoria/plugin.hpp.

#include "narratoria/exceptions.hpp"
#include "narratoria/plugin_host.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

namespace narratoria::plugin {

// The conditions that a Poll waits for.
enum class Ready : std::uint32_t {
    Nothing = 0,  // until the next change
    Readable = NAR_POLL_READABLE,
    Writable = NAR_POLL_WRITABLE,
    Either = NAR_POLL_READABLE | NAR_POLL_WRITABLE,
    Lost = NAR_POLL_LOST  // only reported: the descriptor was closed, and the Poll has ended
};
constexpr bool is_readable(Ready ready) noexcept {
    return (static_cast<std::uint32_t>(ready) & NAR_POLL_READABLE) != 0;
}
constexpr bool is_writable(Ready ready) noexcept {
    return (static_cast<std::uint32_t>(ready) & NAR_POLL_WRITABLE) != 0;
}

namespace detail {

// A function that the loop will call. Its address stays the same while the Timer or Poll moves. A
// running call keeps it alive, so that the function may destroy its own Timer or Poll.
template <class Functions>
struct Waiting : std::enable_shared_from_this<Waiting<Functions>> {
    Waiting(std::shared_ptr<Core> owner, std::function<void()> called)
        : core(std::move(owner)), function(std::move(called)) {}
    Waiting(std::shared_ptr<Core> owner, std::function<void(Ready)> called)
        : core(std::move(owner)), on_ready(std::move(called)) {}

    void stop() noexcept {
        const std::uint64_t started = std::exchange(id, 0);
        // If the instance has ended, the host has already removed its timers and polls.
        if (started == 0 || !core->is_open()) return;
        core->find<Functions>()->stop(core->host(), started);
    }

    std::shared_ptr<Core> core;
    std::function<void()> function;
    std::function<void(Ready)> on_ready;
    std::uint64_t id = 0;
};

}  // namespace detail

// Calls a function on the engine thread, once, after a delay. It does not keep a turn
// running. After this object is destroyed or the instance has ended, the function is not called.
// Its exceptions are logged. It may restart, replace or destroy its own Timer.
//
// Engine thread only, and not in the constructor of the plugin's class. Failures throw Error.
class Timer {
public:
    // A timer without a function, which never fires.
    Timer() = default;
    Timer(const Host& host, std::chrono::milliseconds after, std::function<void()> on_time)
        : waiting_(std::make_shared<Waiting>(host.core_, std::move(on_time))) {
        restart(after);
    }
    Timer(Timer&&) noexcept = default;
    Timer& operator=(Timer&& other) noexcept {
        stop();
        waiting_ = std::move(other.waiting_);
        return *this;
    }
    ~Timer() { stop(); }

    // Restarts the delay, even after the timer has fired.
    void restart(std::chrono::milliseconds after) {
        if (!waiting_) return;
        waiting_->stop();
        const auto& functions = waiting_->core->template require<nar_host_timer>();
        constexpr std::int64_t longest = std::numeric_limits<std::uint32_t>::max();
        const auto wanted = std::clamp<std::int64_t>(after.count(), 0, longest);
        waiting_->core->template check<nar_host_timer>(
            functions.start(waiting_->core->host(), static_cast<std::uint32_t>(wanted), &run,
                            waiting_.get(), &waiting_->id),
            "starting a timer");
    }
    void stop() noexcept {
        if (waiting_) waiting_->stop();
    }
    bool is_running() const noexcept { return waiting_ && waiting_->id != 0; }

private:
    using Waiting = detail::Waiting<nar_host_timer>;

    static void run(void* user) noexcept {
        const auto waiting = static_cast<Waiting*>(user)->shared_from_this();
        waiting->id = 0;
        detail::guard(*waiting->core, "a timer's function", [&] { waiting->function(); });
    }

    std::shared_ptr<Waiting> waiting_;
};

// Calls a function on the engine thread whenever a descriptor is ready: readable or closed by the
// other end, or writable. Spurious calls are possible, so read and write without blocking. An error
// condition makes all requested conditions ready. The caller owns the descriptor and keeps it open
// until this object is stopped or destroyed. Regular files are refused. The function may stop,
// replace or destroy its own Poll; its exceptions are logged.
//
// Engine thread only, and not in the constructor of the plugin's class. Failures throw Error.
class Poll {
public:
    // A poll without a descriptor.
    Poll() = default;
    // Calls `on_readable` when the descriptor is readable.
    Poll(const Host& host, int descriptor, std::function<void()> on_readable)
        : Poll(host, descriptor, Ready::Readable,
               [on_readable = std::move(on_readable)](Ready ready) {
                   // A lost descriptor may be one of somebody else by now.
                   if (ready != Ready::Lost) on_readable();
               }) {}
    // Calls `on_ready` with the ready conditions of `wanted`.
    Poll(const Host& host, int descriptor, Ready wanted, std::function<void(Ready)> on_ready)
        : waiting_(std::make_shared<Waiting>(host.core_, std::move(on_ready))) {
        const auto& functions = waiting_->core->template require<nar_host_poll>();
        waiting_->core->template check<nar_host_poll>(
            functions.start(waiting_->core->host(), descriptor, static_cast<std::uint32_t>(wanted),
                            &run, waiting_.get(), &waiting_->id),
            "watching a descriptor");
    }
    Poll(Poll&&) noexcept = default;
    Poll& operator=(Poll&& other) noexcept {
        stop();
        waiting_ = std::move(other.waiting_);
        return *this;
    }
    ~Poll() { stop(); }

    // Changes the conditions, if the Poll is running.
    void change(Ready wanted) {
        if (!is_running()) return;
        const auto& functions = waiting_->core->template require<nar_host_poll>();
        waiting_->core->template check<nar_host_poll>(
            functions.change(waiting_->core->host(), waiting_->id,
                             static_cast<std::uint32_t>(wanted)),
            "changing the conditions to watch a descriptor for");
    }
    void stop() noexcept {
        if (waiting_) waiting_->stop();
    }
    bool is_running() const noexcept { return waiting_ && waiting_->id != 0; }

private:
    using Waiting = detail::Waiting<nar_host_poll>;

    static void run(void* user, std::uint32_t events) noexcept {
        const auto waiting = static_cast<Waiting*>(user)->shared_from_this();
        detail::guard(*waiting->core, "a descriptor's function",
                      [&] { waiting->on_ready(static_cast<Ready>(events)); });
    }

    std::shared_ptr<Waiting> waiting_;
};

}  // namespace narratoria::plugin
