// SPDX-License-Identifier: Apache-2.0
// narratoria.poll/1 of the real host: readability, writability, changes, closed and refused peers.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "narratoria/host_loop.h"
#include "plugin/host.hpp"

namespace narratoria::test {
namespace {

struct Ready {
    int calls = 0;
    uint32_t all = 0;
    uint32_t last = 0;
    std::function<void()> on_call;
};

void take(void* user, uint32_t events) {
    auto& ready = *static_cast<Ready*>(user);
    ++ready.calls;
    ready.all |= events;
    ready.last = events;
    if (ready.on_call) ready.on_call();
}

class PollTest : public PluginHostTest {
protected:
    void SetUp() override {
        open_engine();
        open_session();
        host = session->extend("test", NAR_EXTENSION_EVENT_SINK, idle_sink(), nullptr);
        poll = service<nar_host_poll>(host, NAR_HOST_POLL);
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    }
    void TearDown() override {
        close();
        ::close(pair[0]);
        if (pair[1] >= 0) ::close(pair[1]);
    }

    const nar_host_timer* timer() const { return service<nar_host_timer>(host, NAR_HOST_TIMER); }
    nar_status watch(uint32_t events, Ready& ready) {
        return poll->start(host, pair[0], events, take, &ready, &number);
    }
    void run(int rounds = 3) {
        for (int i = 0; i < rounds; ++i) engine->run_for(std::chrono::microseconds(0));
    }
    void fill() {
        const std::string bytes(65536, 'x');
        while (::send(pair[0], bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
        }
    }
    void drain() {
        char bytes[65536];
        while (::read(pair[1], bytes, sizeof bytes) > 0) {
        }
    }

    const nar_host* host = nullptr;
    const nar_host_poll* poll = nullptr;
    uint64_t number = 0;
    int pair[2] = {-1, -1};
};

TEST_F(PollTest, ReadabilityIsReportedUntilRead) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 0);
    ASSERT_EQ(::write(pair[1], "x", 1), 1);
    run();
    EXPECT_GE(ready.calls, 2) << "polling is level-triggered";
    EXPECT_EQ(ready.all, NAR_POLL_READABLE);
    char byte;
    ASSERT_EQ(::read(pair[0], &byte, 1), 1);
    const int before = ready.calls;
    run();
    EXPECT_EQ(ready.calls, before);
}

TEST_F(PollTest, WritabilityIsReportedWhileThereIsRoom) {
    Ready ready;
    fill();
    ASSERT_EQ(watch(NAR_POLL_WRITABLE, ready), NAR_OK);
    ASSERT_EQ(::write(pair[1], "x", 1), 1);
    run();
    EXPECT_EQ(ready.calls, 0) << "the socket is full, and reading was not requested";
    drain();
    run();
    EXPECT_GE(ready.calls, 2);
    EXPECT_EQ(ready.all, NAR_POLL_WRITABLE);
}

TEST_F(PollTest, BothEventsAreReportedTogetherAndAlone) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE | NAR_POLL_WRITABLE, ready), NAR_OK);
    run();
    EXPECT_EQ(ready.last, NAR_POLL_WRITABLE);
    ASSERT_EQ(::write(pair[1], "x", 1), 1);
    run();
    EXPECT_EQ(ready.last, NAR_POLL_READABLE | NAR_POLL_WRITABLE);
    fill();
    run();
    EXPECT_EQ(ready.last, NAR_POLL_READABLE);
}

TEST_F(PollTest, EventsCanBeChangedEvenInTheCallback) {
    Ready ready;
    ASSERT_EQ(watch(0, ready), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 0);
    ready.on_call = [&] { EXPECT_EQ(poll->change(host, number, 0), NAR_OK); };
    EXPECT_EQ(poll->change(host, number, NAR_POLL_WRITABLE), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(poll->change(host, number, NAR_POLL_READABLE), NAR_OK);
    ASSERT_EQ(::write(pair[1], "x", 1), 1);
    run();
    EXPECT_EQ(ready.calls, 2);
    EXPECT_EQ(ready.last, NAR_POLL_READABLE);
}

TEST_F(PollTest, WatchWithoutEventsIsNotLost) {
    Ready ready;
    // Simulates a library that does not set FD_CLOEXEC: all descriptor flags are 0.
    ASSERT_EQ(::fcntl(pair[0], F_SETFD, 0), 0);
    ASSERT_EQ(watch(0, ready), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 0) << ready.all;
    EXPECT_EQ(poll->change(host, number, NAR_POLL_WRITABLE), NAR_OK);
    run();
    EXPECT_EQ(ready.all, NAR_POLL_WRITABLE);
}

TEST_F(PollTest, WatchStoppedInItsCallbackIsNotCalledAgain) {
    Ready ready;
    ready.on_call = [&] { EXPECT_EQ(poll->stop(host, number), NAR_OK); };
    ASSERT_EQ(watch(NAR_POLL_WRITABLE, ready), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(poll->stop(host, number), NAR_NOT_FOUND);
    EXPECT_EQ(poll->change(host, number, NAR_POLL_READABLE), NAR_NOT_FOUND);
}

TEST_F(PollTest, WatchOfADisabledPluginIsNotFound) {
    Ready ready;
    ready.on_call = [] { throw 42; };
    ASSERT_EQ(watch(NAR_POLL_WRITABLE, ready), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 1) << "a disabled plugin is not called";
    EXPECT_EQ(poll->change(host, number, NAR_POLL_READABLE), NAR_NOT_FOUND);
}

TEST_F(PollTest, ClosedPeerIsReadable) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    ::close(std::exchange(pair[1], -1));
    run();
    EXPECT_GE(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_READABLE);
}

TEST_F(PollTest, HalfClosedPeerDoesNotWakeAWaitingWriter) {
    Ready ready;
    fill();
    ASSERT_EQ(watch(NAR_POLL_WRITABLE, ready), NAR_OK);
    ASSERT_EQ(::shutdown(pair[1], SHUT_WR), 0);
    run();
    EXPECT_EQ(ready.calls, 0);
    drain();
    run();
    EXPECT_GE(ready.calls, 1);
}

TEST_F(PollTest, ClosedPeerIsReportedToAWriter) {
    Ready ready;
    fill();
    ASSERT_EQ(watch(NAR_POLL_WRITABLE, ready), NAR_OK);
    ::close(std::exchange(pair[1], -1));
    run();
    EXPECT_GE(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_WRITABLE);
}

TEST_F(PollTest, RefusedConnectionReportsAllRequestedEvents) {
    // A bound port without a listener.
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ::connect(client, reinterpret_cast<sockaddr*>(&address), size);
    Ready ready;
    ASSERT_EQ(poll->start(host, client, NAR_POLL_WRITABLE, take, &ready, &number), NAR_OK);
    EXPECT_TRUE(until([&] { return ready.calls >= 2; })) << "polling is level-triggered";
    EXPECT_EQ(ready.last, NAR_POLL_WRITABLE);
    EXPECT_EQ(poll->stop(host, number), NAR_OK);
    ::close(client);
    ::close(taken);
}

TEST_F(PollTest, ReadDatagramErrorDoesNotEndTheWatch) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int other = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(other, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::getsockname(other, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const int client = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
    sockaddr_in own{};
    ASSERT_EQ(::getsockname(client, reinterpret_cast<sockaddr*>(&own), &size), 0);
    ::close(other);

    std::string heard;
    int errors = 0;
    Ready ready;
    ready.on_call = [&] {
        char bytes[16];
        const ssize_t got = ::recv(client, bytes, sizeof bytes, 0);
        if (got < 0) ++errors;
        else heard.append(bytes, static_cast<size_t>(got));
    };
    ASSERT_EQ(poll->start(host, client, NAR_POLL_READABLE, take, &ready, &number), NAR_OK);
    ASSERT_EQ(::send(client, "x", 1, 0), 1);  // which no socket receives
    ASSERT_TRUE(until([&] { return errors >= 1; }));
    const int again = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(again, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::sendto(again, "late", 4, 0, reinterpret_cast<sockaddr*>(&own), sizeof own), 4);
    EXPECT_TRUE(until([&] { return heard == "late"; }));
    EXPECT_EQ(poll->stop(host, number), NAR_OK);
    ::close(client);
    ::close(again);
}

TEST_F(PollTest, UnpollableDescriptorIsRefused) {
    Ready ready;
    EXPECT_EQ(watch(8, ready), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(poll->start(host, -1, NAR_POLL_READABLE, take, &ready, &number),
              NAR_INVALID_ARGUMENT);
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(poll->start(host, file, NAR_POLL_READABLE, take, &ready, &number), NAR_IO);
    ::close(file);
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    EXPECT_EQ(poll->change(host, number, 8), NAR_INVALID_ARGUMENT);
}

// A descriptor is closed while it is polled, where libuv alone would abort the process.
TEST_F(PollTest, EndsWhenItsDescriptorIsClosed) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    ::close(pair[0]);
    run();
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_LOST);
    EXPECT_EQ(poll->change(host, number, NAR_POLL_WRITABLE), NAR_IO);
    EXPECT_EQ(poll->stop(host, number), NAR_IO);
    EXPECT_EQ(poll->stop(host, number), NAR_NOT_FOUND);
    run();
    EXPECT_EQ(ready.calls, 1);
    pair[0] = ::dup(pair[1]);
}

TEST_F(PollTest, EndsWhenItsDescriptorIsClosedBetweenTwoChanges) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    run();
    ::close(pair[0]);
    EXPECT_EQ(poll->change(host, number, NAR_POLL_WRITABLE), NAR_OK);
    EXPECT_EQ(poll->change(host, number, 0), NAR_OK);
    EXPECT_EQ(poll->change(host, number, NAR_POLL_READABLE | NAR_POLL_WRITABLE), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_LOST);
    EXPECT_EQ(poll->stop(host, number), NAR_IO);
    pair[0] = ::dup(pair[1]);
}

TEST_F(PollTest, EndsWhenItsNumberBelongsToAnotherFile) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    run();
    // The other file is readable at once, which must not be reported.
    int other[2];
    ASSERT_EQ(::pipe2(other, O_CLOEXEC), 0);
    ASSERT_EQ(::write(other[1], "x", 1), 1);
    ASSERT_EQ(::dup2(other[0], pair[0]), pair[0]);
    run();
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_LOST);
    // A new poll reports it.
    Ready again;
    uint64_t second = 0;
    ASSERT_EQ(poll->start(host, pair[0], NAR_POLL_READABLE, take, &again, &second), NAR_OK);
    EXPECT_TRUE(until([&] { return again.calls > 0; }));
    EXPECT_EQ(again.last, NAR_POLL_READABLE);
    EXPECT_EQ(poll->stop(host, second), NAR_OK);
    EXPECT_EQ(poll->stop(host, number), NAR_IO);
    ::close(other[0]);
    ::close(other[1]);
}

// Even before the loop has noticed that the earlier poll is lost.
TEST_F(PollTest, ReusedNumberCanBePolledAtOnce) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    int other[2];
    ASSERT_EQ(::pipe2(other, O_CLOEXEC), 0);
    ASSERT_EQ(::dup2(other[0], pair[0]), pair[0]);
    Ready again;
    uint64_t second = 0;
    ASSERT_EQ(poll->start(host, pair[0], NAR_POLL_READABLE, take, &again, &second), NAR_OK);
    EXPECT_EQ(poll->start(host, pair[0], NAR_POLL_READABLE, take, &again, &second), NAR_IO)
        << "this plugin already polls the new file";
    ASSERT_EQ(::write(other[1], "x", 1), 1);
    EXPECT_TRUE(until([&] { return again.calls > 0; }));
    EXPECT_EQ(again.last, NAR_POLL_READABLE);
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_LOST);
    EXPECT_EQ(poll->stop(host, number), NAR_IO);
    EXPECT_EQ(poll->stop(host, second), NAR_OK);
    ::close(other[0]);
    ::close(other[1]);
}

// Even if the first poll waited for no event, and for files that share one inode.
TEST_F(PollTest, ReusedNumberOfAnIdleWatchCanBePolledAtOnce) {
    Ready ready;
    const int first = ::eventfd(0, EFD_CLOEXEC);
    ASSERT_EQ(poll->start(host, first, 0, take, &ready, &number), NAR_OK);
    run();
    EXPECT_EQ(ready.calls, 0);
    ASSERT_EQ(::close(first), 0);
    ASSERT_EQ(::eventfd(1, EFD_CLOEXEC), first);
    Ready again;
    uint64_t second = 0;
    ASSERT_EQ(poll->start(host, first, NAR_POLL_READABLE, take, &again, &second), NAR_OK);
    EXPECT_TRUE(until([&] { return again.calls > 0; }));
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_LOST);
    EXPECT_EQ(poll->stop(host, number), NAR_IO);
    EXPECT_EQ(poll->stop(host, second), NAR_OK);
    ::close(first);
}

// A duplicate of the descriptor keeps the kernel's registration alive.
TEST_F(PollTest, EndsWhenOnlyACopyOfItsDescriptorIsOpen) {
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    run();
    const int copy = ::dup(pair[0]);
    ::close(pair[0]);
    ASSERT_EQ(::send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
    run();
    EXPECT_EQ(ready.calls, 1);
    EXPECT_EQ(ready.last, NAR_POLL_LOST);
    EXPECT_EQ(poll->stop(host, number), NAR_IO);
    pair[0] = copy;
}

// A 0 ms timer that restarts itself.
struct Again {
    const nar_host* host;
    const nar_host_timer* timer;
    int calls = 0;
};

void start_again(void* user) {
    auto& again = *static_cast<Again*>(user);
    ++again.calls;
    uint64_t number = 0;
    again.timer->start(again.host, 0, start_again, user, &number);
}

TEST_F(PollTest, SelfRestartingTimerRunsOncePerCall) {
    Again again{host, timer()};
    start_again(&again);
    again.calls = 0;
    Ready ready;
    ASSERT_EQ(watch(NAR_POLL_READABLE, ready), NAR_OK);
    for (const int budget : {0, 500, 100000}) {
        const int before = again.calls;
        engine->run_for(std::chrono::microseconds(budget));
        EXPECT_EQ(again.calls, before + 1) << budget;
    }
    EXPECT_EQ(engine->timeout(), std::chrono::milliseconds(0)) << "the next timer is due";
    // Other watches still get their turn.
    ASSERT_EQ(::send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
    run();
    EXPECT_GT(ready.calls, 0);
    EXPECT_EQ(poll->stop(host, number), NAR_OK);
}

TEST_F(PollTest, SelfRestartingTimerDoesNotBlockAPlan) {
    Again again{host, timer()};
    start_again(&again);
    Result result;
    session->execute(R"({"requestId":"p","tools":[{"toolId":"t","toolPath":"/bin/true"}]})", "",
                     [&](Result ended) { result = std::move(ended); });
    engine->run_until_idle();
    EXPECT_TRUE(static_cast<bool>(result));
    EXPECT_GT(again.calls, 0);
}

}  // namespace
}  // namespace narratoria::test
