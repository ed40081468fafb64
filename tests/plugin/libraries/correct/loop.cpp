// SPDX-License-Identifier: Apache-2.0
// Timers, posts and polls on the host's loop, and an epoll instance of its own, which the host
// watches.

#include <narratoria/plugin.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>

namespace plugin = narratoria::plugin;
using namespace std::chrono_literals;

namespace {

class Loop final : public plugin::EventSink, public plugin::UiHandler {
public:
    explicit Loop(const plugin::Host& host) : host_(host) {
        for (const int one : {event_, clock_}) {
            epoll_event wanted{};
            wanted.events = EPOLLIN;
            wanted.data.fd = one;
            epoll_ctl(epoll_, EPOLL_CTL_ADD, one, &wanted);
        }
        host_.post([this] { start(); });
    }
    ~Loop() {
        poll_.stop();
        for (const int one : {epoll_, event_, clock_}) close(one);
    }

    void event(const plugin::Event&) override {
        const std::uint64_t one = 1;
        static_cast<void>(!write(event_, &one, sizeof one));
    }
    plugin::HandlerResult handle(const plugin::UiEvent&) override {
        const itimerspec soon{{0, 0}, {0, 1'000'000}};
        timerfd_settime(clock_, 0, &soon, nullptr);
        return plugin::HandlerResult::Handled;
    }

private:
    void start() {
        timer_ = plugin::Timer(host_, 2ms, [this] {
            if (++rounds_ < 20) timer_.restart(2ms);
        });
        poll_ = plugin::Poll(host_, epoll_, [this] {
            epoll_event ready[2];
            for (int left = epoll_wait(epoll_, ready, 2, 0); left > 0; --left) {
                std::uint64_t count;
                static_cast<void>(!read(ready[left - 1].data.fd, &count, sizeof count));
            }
        });
    }

    const plugin::Host host_;
    const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    const int event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const int clock_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int rounds_ = 0;
    plugin::Timer timer_;
    plugin::Poll poll_;
};

}  // namespace

NARRATORIA_PLUGIN(Loop, "test.loop", "Loop", "1.0.0", "narratoria.event_sink/1",
                  "narratoria.ui_handler/1");
