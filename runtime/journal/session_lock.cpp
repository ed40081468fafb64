// SPDX-License-Identifier: Apache-2.0
#include "journal/session_lock.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "journal/sqlite.hpp"

namespace narratoria::journal {
namespace {

struct flock byte_of(int64_t session) {
    struct flock byte {};
    byte.l_type = F_WRLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = session;
    byte.l_len = 1;
    return byte;
}

}  // namespace

bool is_session_locked(const std::string& store, int64_t session) {
    const Descriptor file(::open((store + "-lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct flock byte = byte_of(session);
    return file && ::fcntl(file.get(), F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}

Descriptor lock_session(const std::string& store, int64_t session) {
    const std::string path = store + "-lock";
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) {
        throw StoreError("STORE_IO", "the lock file \"" + path + "\" of the store " +
                                         "cannot be opened: " + std::strerror(errno));
    }
    struct flock byte = byte_of(session);
    if (::fcntl(file.get(), F_OFD_SETLK, &byte) != 0) {
        if (errno == EAGAIN || errno == EACCES) return Descriptor();
        throw StoreError("STORE_IO",
                         "the file \"" + path + "\" cannot be locked: " + std::strerror(errno));
    }
    return file;
}

}  // namespace narratoria::journal
