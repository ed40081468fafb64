// SPDX-License-Identifier: Apache-2.0
#pragma once
// The writing end of a service's standard input. What the pipe does not take waits in memory; whoever
// writes bounds it by waiting(). Never raises SIGPIPE in the host. Engine thread only.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/loop.hpp"

namespace narratoria::process {

class InputPipe {
public:
    // Called from the loop, never from within write() or close(); the pipe may be destroyed in it.
    class Owner {
    public:
        virtual void on_input_drained() = 0;  // all that waited was written
        virtual void on_input_closed() = 0;   // nobody reads it any more; what waited is dropped

    protected:
        ~Owner() = default;
    };

    // Throws std::system_error when the loop cannot watch the pipe.
    InputPipe(Loop& loop, Descriptor pipe, Owner& owner);

    void write(std::string_view bytes);
    size_t waiting() const { return unsent_.size() - sent_; }
    // At once, or when what waits was written. Nothing more may be written.
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
    size_t sent_ = 0;  // of unsent_
    bool closing_ = false;
};

}  // namespace narratoria::process
