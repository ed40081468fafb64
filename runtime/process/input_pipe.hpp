// SPDX-License-Identifier: Apache-2.0
#pragma once
// The write end of a service's standard input. Buffers bytes that the pipe does not accept; the
// caller bounds the buffer by checking waiting(). Never raises SIGPIPE in the host. Engine thread
// only. The loop and the owner must outlive it.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/loop.hpp"

namespace narratoria::process {

class InputPipe {
public:
    // Called from the loop, never from within write() or close(). The pipe may be destroyed in any
    // call.
    class Owner {
    public:
        virtual void on_input_drained() = 0;  // everything buffered has been written
        virtual void on_input_closed() = 0;   // the read end is closed; buffered bytes are dropped

    protected:
        ~Owner() = default;
    };

    // Throws std::system_error if the loop cannot watch the pipe.
    InputPipe(Loop& loop, Descriptor pipe, Owner& owner);

    void write(std::string_view bytes);
    size_t waiting() const { return unsent_.size() - sent_; }
    // Closes the pipe as soon as the buffer is empty. No write() may follow.
    void close();
    bool is_open() const { return pipe_ && !closing_; }

private:
    bool flush();
    void on_ready();
    void shut();

    Owner& owner_;
    Descriptor pipe_;
    Watch watch_;
    std::string unsent_;
    size_t sent_ = 0;  // number of bytes of unsent_ that have been written
    bool closing_ = false;
};

}  // namespace narratoria::process
