// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/descriptor.hpp"

namespace narratoria {
namespace {

std::string size_text(size_t bytes) {
    constexpr size_t kMiB = size_t{1} << 20;
    return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + " MiB"
                             : std::to_string(bytes / 1024) + " KiB";
}

}  // namespace

FileReading read_regular_file(const std::string& path, const std::string& shown, size_t limit,
                              std::string& text, std::string& why) {
    const auto failed = [&](const std::string& what) {
        why = shown + " " + what;
        return FileReading::Failed;
    };
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) {
        if (errno == ENOENT) return FileReading::Missing;
        return failed(std::string("cannot be opened: ") + std::strerror(errno));
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        return failed(std::string("cannot be read: ") + std::strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) return failed("is a folder, not a file");
    if (!S_ISREG(status.st_mode)) return failed("is not a regular file");
    text.clear();
    // Not on the stack: hosts may drive the engine on a thread with 64 KiB.
    constexpr size_t kBlock = 64 * 1024;
    const auto buffer = std::make_unique_for_overwrite<char[]>(kBlock);
    for (;;) {
        const ssize_t got = ::read(file.get(), buffer.get(), kBlock);
        if (got == 0) return FileReading::Read;
        if (got < 0) {
            if (errno == EINTR) continue;
            return failed(std::string("cannot be read: ") + std::strerror(errno));
        }
        text.append(buffer.get(), static_cast<size_t>(got));
        if (text.size() > limit) {
            return failed("is larger than the limit of " + size_text(limit));
        }
    }
}

}  // namespace narratoria
