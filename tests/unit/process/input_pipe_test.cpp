// SPDX-License-Identifier: Apache-2.0
#include "process/input_pipe.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

namespace narratoria::process {
namespace {

class InputPipeTest : public testing::Test, public InputPipe::Owner {
protected:
    void SetUp() override {
        ASSERT_EQ(make_pipe(ends), 0);
        pipe = std::make_unique<InputPipe>(loop, std::move(ends.write), *this);
    }
    void on_input_drained() override { ++drained; }
    void on_input_closed() override {
        ++closed;
        if (destroys) pipe.reset();
    }
    void run() {
        for (int round = 0; round < 3; ++round) loop.run_for(0);
    }
    size_t read(size_t most) {
        std::string bytes(most, '\0');
        const ssize_t got = ::read(ends.read.get(), bytes.data(), most);
        return got > 0 ? static_cast<size_t>(got) : 0;
    }

    Loop loop;
    Pipe ends;
    std::unique_ptr<InputPipe> pipe;
    int drained = 0;
    int closed = 0;
    bool destroys = false;
};

TEST_F(InputPipeTest, BuffersBytesUntilPipeIsRead) {
    pipe->write(std::string(200'000, 'x'));
    EXPECT_GT(pipe->waiting(), 0U);
    size_t got = 0;
    while (drained == 0) {
        got += read(30'000);
        run();
    }
    while (got < 200'000) got += read(200'000);
    EXPECT_EQ(pipe->waiting(), 0U);
    run();
    EXPECT_EQ(drained, 1);
    EXPECT_EQ(closed, 0);
}

TEST_F(InputPipeTest, CloseWritesBufferedBytesFirst) {
    pipe->write(std::string(100'000, 'x'));
    pipe->close();
    EXPECT_FALSE(pipe->is_open());
    pipe->write("too late");
    size_t got = 0;
    while (drained == 0) {
        got += read(50'000);
        run();
    }
    for (size_t more = 0; (more = read(100'000)) > 0;) got += more;
    EXPECT_EQ(got, 100'000U) << "followed by the end of the file";
    EXPECT_EQ(closed, 0);
}

TEST_F(InputPipeTest, ReportsClosedReadEndOnce) {
    for (const size_t size : {size_t{0}, size_t{100'000}}) {
        SetUp();
        closed = 0;
        pipe->write(std::string(size, 'x'));
        ends.read.close();
        pipe->write("more");  // SIGPIPE would terminate this program
        EXPECT_EQ(closed, 0) << "not from within write()";
        run();
        EXPECT_EQ(closed, 1);
        EXPECT_FALSE(pipe->is_open());
        EXPECT_EQ(pipe->waiting(), 0U);
    }
}

TEST_F(InputPipeTest, OwnerMayDestroyPipeInCallback) {
    destroys = true;
    ends.read.close();
    run();
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(pipe, nullptr);
}

TEST_F(InputPipeTest, KeepsPendingSigpipeOfHost) {
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    raise(SIGPIPE);
    ends.read.close();
    pipe->write("x");
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
    const timespec at_once{};
    EXPECT_EQ(sigtimedwait(&pipe_signal, nullptr, &at_once), SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace narratoria::process
