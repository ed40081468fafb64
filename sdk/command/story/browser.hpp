// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens the desktop's browser at an address that contains a secret.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "io/file.hpp"

namespace narratoria::command::story {

class Browser {
public:
    Browser() = default;
    Browser(const Browser&) = delete;
    // Removes the file. xdg-open and the browser keep running.
    ~Browser();

    // Opens the address with xdg-open, without waiting for it; its output is discarded. xdg-open
    // gets a file that redirects to the address, because every user of the machine can read the
    // arguments of a process. Failures are reported on standard error.
    void open(std::string_view address);

    // Readable when xdg-open has exited and reap() must be called; -1: not running.
    int descriptor() const noexcept { return ended_.get(); }
    // Reaps xdg-open and reports its failure.
    void reap();

private:
    std::string make_file(std::string_view address);

    std::string file_;
    pid_t process_ = -1;
    Descriptor ended_;
};

}  // namespace narratoria::command::story
