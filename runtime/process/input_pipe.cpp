// SPDX-License-Identifier: Apache-2.0
#include "process/input_pipe.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace narratoria::process {
namespace {

// write(2) without SIGPIPE. The kernel raises SIGPIPE for the calling thread only, so it is enough
// to block it here for the duration of the call. The host's handler and mask stay unchanged.
ssize_t write_without_signal(int descriptor, const char* data, size_t size) {
    sigset_t pipe_signal, pending, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t written = ::write(descriptor, data, size);
    const int error = errno;
    // A SIGPIPE that was pending before the call belongs to the host and stays pending.
    if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        const timespec at_once{};
        while (sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return written;
}

}  // namespace

InputPipe::InputPipe(Loop& loop, Descriptor pipe, Owner& owner)
    : owner_(owner), pipe_(std::move(pipe)), watch_(loop) {
    ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
    watch_.start(
        pipe_.get(), [this] { on_ready(); }, kClosed);
}

void InputPipe::write(std::string_view bytes) {
    if (!is_open()) return;
    const bool waits = waiting() > 0;
    if (sent_ > unsent_.size() / 2) {
        unsent_.erase(0, sent_);
        sent_ = 0;
    }
    unsent_ += bytes;
    // Errors are reported by the watch, from the loop: write() must not call the owner.
    if (!waits) flush();
    if (waiting() > 0) watch_.change(kClosed | kWritable);
}

void InputPipe::close() {
    closing_ = true;
    if (waiting() == 0) shut();
}

// Returns false if the read end is closed.
bool InputPipe::flush() {
    while (waiting() > 0) {
        const ssize_t written =
            write_without_signal(pipe_.get(), unsent_.data() + sent_, waiting());
        if (written >= 0) {
            sent_ += static_cast<size_t>(written);
        } else if (errno != EINTR) {
            return errno == EAGAIN;
        }
    }
    // Frees the memory: the buffer must not keep the size of the largest message.
    unsent_ = std::string();
    sent_ = 0;
    return true;
}

void InputPipe::on_ready() {
    const bool has_waited = waiting() > 0;
    if (!has_waited || !flush()) {
        // With an empty buffer the watch waits for errors only, so the read end was closed.
        const bool was_open = is_open();
        shut();
        if (was_open) owner_.on_input_closed();
        return;
    }
    if (waiting() > 0) return;
    watch_.change(kClosed);
    if (closing_) shut();
    owner_.on_input_drained();
}

void InputPipe::shut() {
    watch_.stop();
    pipe_.close();
    unsent_ = std::string();
    sent_ = 0;
}

}  // namespace narratoria::process
