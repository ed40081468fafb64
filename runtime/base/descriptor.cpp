// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace narratoria {

int keep_clear_of_standard_streams(Descriptor& descriptor) {
    if (descriptor.get() > 2) return 0;
    Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3));
    if (!moved) return errno;
    descriptor = std::move(moved);
    return 0;
}

StandardStreamsGuard::StandardStreamsGuard() {
    for (Descriptor& each : taken_) {
        each = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
        if (each.get() > 2) each.close();
        if (!each) break;
    }
}

int make_pipe(Pipe& pipe) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    pipe.read = Descriptor(ends[0]);
    pipe.write = Descriptor(ends[1]);
    if (const int error = keep_clear_of_standard_streams(pipe.read)) return error;
    return keep_clear_of_standard_streams(pipe.write);
}

Descriptor unlinked_file() {
    const char* folder = std::getenv("TMPDIR");
    if (folder == nullptr || *folder == '\0') folder = "/tmp";
    const StandardStreamsGuard taken;
    Descriptor file(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file) return file;
    // Some file systems do not support O_TMPFILE.
    std::string name = std::string(folder) + "/narratoria-XXXXXX";
    file = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
    return file;
}

}  // namespace narratoria
