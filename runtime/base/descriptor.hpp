// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <utility>

namespace narratoria {

// A file descriptor that closes itself.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

private:
    int number_ = -1;
};

// The two ends of a pipe. Never 0, 1 or 2: a host that closed its standard streams may yet write
// to them.
struct Pipe {
    Descriptor read;
    Descriptor write;
};

// 0, or errno. The ends are closed on exec.
int make_pipe(Pipe& pipe);

// Moves a descriptor above the standard streams; 0 or errno.
int keep_clear_of_standard_streams(Descriptor& descriptor);

// A file without a name in TMPDIR, or nothing, with errno set.
Descriptor unlinked_file();

// While it lives, a descriptor that is opened is none of the standard streams, also where the host
// closed them: it may yet write to them, and libuv ends the process when it is given one.
class StandardStreamsTaken {
public:
    StandardStreamsTaken();

private:
    Descriptor taken_[3];
};

}  // namespace narratoria
