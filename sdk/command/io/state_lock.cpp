// SPDX-License-Identifier: Apache-2.0
#include "io/state_lock.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "io/message.hpp"

namespace narratoria::command {
namespace {

// Polling interval: flock has no timeout.
constexpr std::chrono::milliseconds kPause{20};

// The process that holds a flock on this file, from /proc/locks:
// "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF". Empty if it is not listed.
std::string holder_of(int file) {
    struct stat status {};
    if (fstat(file, &status) != 0) return {};
    const std::string wanted =
        fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
        std::istringstream words(line);
        std::string number, kind, advisory, access, process, place;
        if (!(words >> number >> kind)) continue;
        if (kind == "->") continue;  // a waiter
        if (words >> advisory >> access >> process >> place && kind == "FLOCK" && place == wanted) {
            return process;
        }
    }
    return {};
}

}  // namespace

StateLock::StateLock(const std::string& path, std::uint64_t wait_ms)
    : target_(final_target(path, "state")), shown_(display_path(path)) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
    bool told = false;
    for (;;) {
        if (!open_file()) continue;
        if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
            if (is_current()) break;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) {
            throw Refused(fmt::format("cannot lock the state file {}: {}", shown_, reason(errno)));
        }
        const std::string process = holder_of(file_.get());
        const std::string who = process.empty() ? std::string("another run")
                                                : fmt::format("another run (process {})", process);
        if (std::chrono::steady_clock::now() >= deadline) {
            throw Refused(fmt::format(
                "{} uses the state file {}; wait for it to end (--state-wait SECONDS), or give a "
                "different file",
                who, shown_));
        }
        if (!told) complain(fmt::format("waiting for {}, which uses {}", who, shown_));
        told = true;
        std::this_thread::sleep_for(kPause);
    }
    if (created_ && is_empty() && !write_all(file_.get(), "{}\n")) {
        const int error = errno;
        unlink(target_.c_str());
        throw Refused(fmt::format("cannot write the state to {}: {}", shown_, reason(error)));
    }
}

StateLock::~StateLock() {
    // Before the lock is released, so that a waiter sees that the locked file has no name.
    if (created_ && is_current()) unlink(target_.c_str());
}

// False if the file was created or removed in the meantime.
bool StateLock::open_file() {
    created_ = false;
    file_ = Descriptor(open(target_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (file_) return true;
    if (errno == ENOENT) {
        if (create_locked()) return true;
        if (errno == EEXIST) return false;
        file_ = Descriptor(open(target_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        created_ = static_cast<bool>(file_);
        if (created_) return true;
        if (errno == EEXIST) return false;
    }
    throw Refused(fmt::format("cannot open the state file {}: {}", shown_, reason(errno)));
}

// Creates the file, writes its content and locks it before it gets a name, so that no other run
// finds it empty or unlocked. False with errno set; EEXIST if another process has created the file.
// Fails on file systems without O_TMPFILE.
bool StateLock::create_locked() {
    const std::size_t slash = target_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
    Descriptor made(open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666));
    if (!made || flock(made.get(), LOCK_EX | LOCK_NB) != 0 || !write_all(made.get(), "{}\n")) {
        return false;
    }
    const std::string unnamed = fmt::format("/proc/self/fd/{}", made.get());
    if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        return false;
    }
    file_ = std::move(made);
    created_ = true;
    return true;
}

bool StateLock::is_empty() const {
    struct stat status {};
    return fstat(file_.get(), &status) == 0 && status.st_size == 0;
}

bool StateLock::is_current() const {
    struct stat ours {};
    struct stat named {};
    return fstat(file_.get(), &ours) == 0 && stat(target_.c_str(), &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

}  // namespace narratoria::command
