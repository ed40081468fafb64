// SPDX-License-Identifier: Apache-2.0
#include "base/loop.hpp"

#include <fcntl.h>

#include <cerrno>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/json/tape.hpp"

namespace narratoria {
namespace {

void check(int status, const char* what) {
    if (status < 0) {
        // libuv's error codes are negated errno values.
        throw std::system_error(-status, std::generic_category(),
                                std::string("the event loop cannot ") + what);
    }
}

// Throws if there are too few descriptors for a loop: libuv would abort while it creates the first
// loop of a process.
void make_sure_of_descriptors() {
    constexpr int kNeeded = 8;
    Descriptor each[kNeeded];
    for (Descriptor& descriptor : each) {
        descriptor = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
        if (!descriptor) check(-errno, "be created");
    }
}

}  // namespace

struct Timer::Handle {
    uv_timer_t timer;
    Loop* loop;
    Timer* owner;
    std::function<void()> on_time;
    std::list<Timer*> place{owner};  // holds the node while it is not in Loop::due_
    std::list<Timer*>::iterator node = place.begin();
};

struct Watch::Handle {
    uv_poll_t poll;
    Watch* owner;
    std::function<void()> on_ready;
    std::list<Watch*> place{owner};  // holds the node while it is not in Loop::postponed_
    std::list<Watch*>::iterator node = place.begin();
};

Loop::Loop(Clock* clock) : clock_(clock), buffer_(new char[kRead + json::kPadding]()) {
    make_sure_of_descriptors();
    const StandardStreamsGuard taken;
    check(uv_loop_init(&loop_), "be created");
    wake_.data = this;
    idle_.data = this;
    check_.data = this;
    const int status = uv_async_init(&loop_, &wake_, [](uv_async_t* handle) {
        auto* self = static_cast<Loop*>(handle->data);
        self->guard([self] {
            if (self->on_wake_) self->on_wake_();
        });
    });
    if (status < 0) {
        uv_loop_close(&loop_);
        check(status, "be created");
    }
    uv_idle_init(&loop_, &idle_);
    uv_check_init(&loop_, &check_);
}

Loop::~Loop() {
    deferred_.clear();
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&idle_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&check_), nullptr);
    // All timers and watches are stopped by now. This runs their close callbacks.
    while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) {
    }
    uv_loop_close(&loop_);
}

void Loop::rethrow() {
    if (!thrown_) return;
    std::exception_ptr thrown;
    std::swap(thrown, thrown_);
    std::rethrow_exception(thrown);
}

void Loop::run_once() {
    deadline_ns_ = 0;
    ran_timers_ = false;
    uv_run(&loop_, UV_RUN_ONCE);
    run_due();
    check_foreign();
    rethrow();
}

void Loop::run_for(uint64_t microseconds) {
    deadline_ns_ = microseconds == 0 ? 0 : uv_hrtime() + microseconds * 1000;
    ran_timers_ = false;
    if (has_budget()) {
        // Deferred tasks or postponed reads alone could use up every budget, so they alternate in
        // going first.
        reading_is_first_ = !reading_is_first_;
        if (reading_is_first_) run_postponed();
        run_deferred();
        run_postponed();
    }
    uint64_t before;
    do {
        before = handled_;
        uv_run(&loop_, UV_RUN_NOWAIT);
        run_due();
        check_foreign();
    } while (deadline_ns_ != 0 && handled_ != before && !thrown_ && !time_is_up());
    deadline_ns_ = 0;
    rethrow();
}

bool Loop::time_is_up() const { return deadline_ns_ != 0 && uv_hrtime() >= deadline_ns_; }

// An active idle handle keeps the loop from blocking.
void Loop::keep_awake() {
    if (uv_is_active(reinterpret_cast<uv_handle_t*>(&idle_))) return;
    uv_idle_start(&idle_,
                  [](uv_idle_t* handle) { static_cast<Loop*>(handle->data)->run_deferred(); });
    uv_check_start(&check_,
                   [](uv_check_t* handle) { static_cast<Loop*>(handle->data)->run_due(); });
}

void Loop::rest() {
    if (!deferred_.empty() || !due_.empty()) return;
    uv_idle_stop(&idle_);
    uv_check_stop(&check_);
}

void Loop::defer(std::function<void()> task) {
    deferred_.push_back(std::move(task));
    keep_awake();
}

// Runs expired timers. libuv would run a timer that restarts itself with 0 ms endlessly in one
// iteration, so its callbacks only add timers to due_. They run after the reads of the iteration: a
// host that was stopped, or did not drive the loop, receives arrived data before a timeout.
void Loop::run_due() {
    if (ran_timers_ || due_.empty()) return;
    ran_timers_ = true;
    // Run at least one, so that timers make progress even if the budget is always used up.
    size_t left = due_.size();
    do {
        Timer* const timer = due_.front();
        timer->due_ = false;
        timer->handle_->place.splice(timer->handle_->place.begin(), due_, due_.begin());
        timer->fire();
    } while (--left > 0 && !due_.empty() && !time_is_up());
    rest();
}

void Loop::run_deferred() {
    // Tasks that these tasks defer wait for the next iteration, so that reads get their turn.
    for (size_t left = deferred_.size(); left > 0 && !time_is_up(); --left) {
        std::function<void()> task = std::move(deferred_.front());
        deferred_.pop_front();
        guard(task);
    }
    rest();
}

void Loop::run_postponed() {
    for (size_t left = postponed_.size(); left > 0 && !postponed_.empty() && !time_is_up();
         --left) {
        Watch* watch = postponed_.front();
        watch->postponed_ = false;
        watch->handle_->place.splice(watch->handle_->place.begin(), postponed_, postponed_.begin());
        watch->on_ready();
    }
}

void Loop::wake() noexcept { uv_async_send(&wake_); }

int Loop::timeout() {
    uv_update_time(&loop_);
    return uv_backend_timeout(&loop_);
}

void Timer::start(uint64_t milliseconds, std::function<void()> on_time) {
    stop();
    if (Clock* const clock = loop_.clock_) {
        clock_timer_ = clock->start(milliseconds, [this, on_time = std::move(on_time)] {
            clock_timer_ = 0;
            loop_.guard(on_time);
        });
        return;
    }
    handle_ = new Handle{{}, &loop_, this, std::move(on_time)};
    uv_timer_init(loop_.uv(), &handle_->timer);
    handle_->timer.data = handle_;
    // Update libuv's time, which it caches during callbacks: the delay must start now.
    uv_update_time(loop_.uv());
    uv_timer_start(
        &handle_->timer,
        [](uv_timer_t* timer) {
            auto* handle = static_cast<Handle*>(timer->data);
            handle->owner->due_ = true;
            handle->loop->due_.splice(handle->loop->due_.end(), handle->place);
            handle->loop->keep_awake();
        },
        milliseconds, 0);
}

void Timer::fire() {
    const std::function<void()> callback = std::move(handle_->on_time);
    Loop& loop = loop_;
    stop();
    loop.guard(callback);
}

void Timer::stop() {
    if (clock_timer_ != 0) loop_.clock_->stop(std::exchange(clock_timer_, 0));
    if (handle_ == nullptr) return;
    if (std::exchange(due_, false)) {
        handle_->place.splice(handle_->place.begin(), loop_.due_, handle_->node);
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&handle_->timer),
             [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
    handle_ = nullptr;
}

void Watch::start(int descriptor, std::function<void()> on_ready, unsigned events) {
    stop();
    std::unique_ptr<Handle> handle(new Handle{{}, this, std::move(on_ready)});
    check(uv_poll_init(loop_.uv(), &handle->poll, descriptor), "watch a descriptor");
    handle_ = handle.release();
    handle_->poll.data = handle_;
    events_ = events;
    listen();
}

void Watch::change(unsigned events) {
    if (events == events_) return;
    events_ = events;
    listen();
}

void Watch::listen() {
    if (events_ == 0) {
        uv_poll_stop(&handle_->poll);
        return;
    }
    // UV_DISCONNECT is level-triggered and stays set after the other side has closed. A watch for
    // kWritable only does not ask for it, because it would fire forever; such a writer gets EPIPE.
    const int wanted = ((events_ & kReadable) != 0 ? UV_READABLE | UV_DISCONNECT : 0) |
                       ((events_ & kWritable) != 0 ? UV_WRITABLE : 0) |
                       ((events_ & kClosed) != 0 ? UV_DISCONNECT : 0);
    uv_poll_start(&handle_->poll, wanted, [](uv_poll_t* poll, int status, int events) {
        Watch* watch = static_cast<Handle*>(poll->data)->owner;
        if (status < 0) {
            // On an error condition libuv has stopped the handle. Some errors are transient, such
            // as those of datagram sockets, so listen again.
            watch->ready_ = watch->events_;
            watch->listen();
        } else {
            watch->ready_ = ((events & (UV_READABLE | UV_DISCONNECT)) != 0 ? kReadable : 0U) |
                            ((events & UV_WRITABLE) != 0 ? kWritable : 0U) |
                            ((events & UV_DISCONNECT) != 0 ? kClosed : 0U);
        }
        if (!watch->loop_.time_is_up()) {
            watch->on_ready();
        } else if (!watch->postponed_) {
            watch->postponed_ = true;
            watch->loop_.postponed_.splice(watch->loop_.postponed_.end(), watch->handle_->place);
        }
    });
}

void Watch::on_ready() {
    // The watched events may have changed since this event was postponed.
    ready_ &= events_;
    if (ready_ == 0) return;
    // The callback may destroy the watch, so use only the handle: uv_close() frees it later.
    Handle* handle = handle_;
    loop_.guard(handle->on_ready);
}

void Watch::stop() {
    if (handle_ == nullptr) return;
    if (postponed_) {
        postponed_ = false;
        handle_->place.splice(handle_->place.begin(), loop_.postponed_, handle_->node);
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&handle_->poll),
             [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
    handle_ = nullptr;
}

}  // namespace narratoria
