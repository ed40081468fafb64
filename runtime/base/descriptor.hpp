// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <utility>

namespace narratoria {

// Owns a file descriptor and closes it. Movable, not copyable.
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

// The two ends of a pipe. Never 0, 1 or 2: a host that closed its standard streams may still write
// to these numbers.
struct Pipe {
    Descriptor read;
    Descriptor write;
};

// Returns 0 or errno. Both ends are close-on-exec.
int make_pipe(Pipe& pipe);

// Moves a descriptor above 2. Returns 0 or errno; on failure the descriptor is unchanged.
int keep_clear_of_standard_streams(Descriptor& descriptor);

// Creates an unlinked file in TMPDIR. Returns an empty Descriptor with errno set on failure.
Descriptor unlinked_file();

// Occupies the unused numbers among 0, 1 and 2 while it exists, so that no descriptor opened during
// that time gets one. A host that closed its standard streams may still write to them, and libuv
// aborts on such a descriptor.
class StandardStreamsGuard {
public:
    StandardStreamsGuard();

private:
    Descriptor taken_[3];
};

}  // namespace narratoria
