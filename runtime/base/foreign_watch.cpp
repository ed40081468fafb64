// SPDX-License-Identifier: Apache-2.0
#include "base/foreign_watch.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace narratoria {
namespace {

// Without events, keep the registration: EPOLLONESHOT then reports EPOLLERR and EPOLLHUP, which
// cannot be masked, at most once.
uint32_t wanted_of(unsigned events) {
    if (events == 0) return EPOLLONESHOT;
    return ((events & kReadable) != 0 ? EPOLLIN | EPOLLRDHUP : 0U) |
           ((events & kWritable) != 0 ? EPOLLOUT : 0U);
}

}  // namespace

void ForeignWatch::start(int descriptor, std::function<void()> on_ready,
                         std::function<void()> on_lost, unsigned events) {
    stop();
    epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    int error = epoll_ ? keep_clear_of_standard_streams(epoll_) : errno;
    number_ = descriptor;
    registered_ = failed_ = lost_ = false;
    // Register it once even without events, to find out if it can be watched.
    if (error == 0) error = register_events(kReadable);
    if (error == 0) error = register_events(events);
    if (error != 0) {
        epoll_.close();
        throw std::system_error(error, std::generic_category(),
                                "the event loop cannot watch a descriptor");
    }
    on_ready_ = std::move(on_ready);
    on_lost_ = std::move(on_lost);
    watch_.start(epoll_.get(), [this] { on_event(); });
    loop_.foreign_.push_back(this);
}

// Returns 0 or errno.
int ForeignWatch::register_events(unsigned events) {
    events_ = events;
    epoll_event event{};
    event.events = wanted_of(events);
    const int operation = registered_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (::epoll_ctl(epoll_.get(), operation, number_, &event) != 0) return errno;
    registered_ = true;
    return 0;
}

void ForeignWatch::change(unsigned events) {
    if (events == events_ || !running()) return;
    // Report a failure after the iteration, because the caller may not expect a callback here.
    if (register_events(events) != 0) failed_ = true;
}

// The kernel identifies a registration by number and file. Changing it fails with EBADF if the
// descriptor is closed, and with ENOENT if the number belongs to a different file, which could be
// registered instead.
bool ForeignWatch::is_lost() const {
    if (failed_) return true;
    epoll_event event{};
    event.events = wanted_of(events_);
    if (events_ != 0) return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, number_, &event) != 0;
    // Without events, test with ADD: a change (MOD) would report an error condition again.
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, number_, &event) != 0) return errno != EEXIST;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, number_, &event);
    return true;
}

void ForeignWatch::on_event() {
    // A duplicate of a closed descriptor may keep its registration alive.
    if (is_lost()) return lose();
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, 0) != 1) return;
    const auto has = [&](uint32_t bits) { return (event.events & bits) != 0; };
    ready_ =
        (has(EPOLLIN | EPOLLRDHUP | EPOLLHUP) ? kReadable : 0U) | (has(EPOLLOUT) ? kWritable : 0U);
    // An error condition, or the other side has closed while only writability is watched.
    if (has(EPOLLERR) || (ready_ & events_) == 0) ready_ = events_;
    ready_ &= events_;
    if (ready_ == 0) return;
    // The watch may be destroyed in the callback.
    const std::function<void()> on_ready = on_ready_;
    on_ready();
}

void ForeignWatch::lose() {
    const std::function<void()> on_lost = on_lost_;
    stop();
    lost_ = true;
    on_lost();
}

void ForeignWatch::stop() {
    if (!running()) return;
    watch_.stop();
    // Close it now: libuv removes a stopped poll immediately.
    epoll_.close();
    std::erase(loop_.foreign_, this);
}

void Loop::check_foreign() {
    // Search from the start each time, because a call may change the list.
    for (;;) {
        const auto lost = std::find_if(foreign_.begin(), foreign_.end(),
                                       [](ForeignWatch* each) { return each->is_lost(); });
        if (lost == foreign_.end()) return;
        ForeignWatch* const watch = *lost;
        guard([watch] { watch->lose(); });
    }
}

}  // namespace narratoria
