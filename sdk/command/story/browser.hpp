// SPDX-License-Identifier: Apache-2.0
#pragma once
// The desktop's browser, opened at an address that has a secret in it.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "io/file.hpp"

namespace narratoria::command::story {

class Browser {
public:
    Browser() = default;
    Browser(const Browser&) = delete;
    // Removes the file; what was started goes on.
    ~Browser();

    // Opens the address with xdg-open, without waiting for it; its output is discarded. It gets a file
    // that redirects to the address, because every user of the machine can read the arguments of a
    // process. Failures are reported on standard error.
    void open(std::string_view address);

    // Readable when it has to be looked after; -1: never.
    int descriptor() const noexcept { return ended_.get(); }
    // Takes notice of xdg-open's end.
    void look_after();

private:
    std::string make_file(std::string_view address);

    std::string file_;
    pid_t process_ = -1;
    Descriptor ended_;
};

}  // namespace narratoria::command::story
