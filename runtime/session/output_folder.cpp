// SPDX-License-Identifier: Apache-2.0
#include "session/output_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/uuid.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kSessionPrefix = "session-";
constexpr std::string_view kKeptPrefix = "kept-session-";
constexpr time_t kKeptSeconds = 24 * 60 * 60;
// A host locks its new folder within microseconds. Without this time, the removals of other hosts
// could take each new folder before it is locked.
constexpr time_t kNewSeconds = 10;
// A process checks every kept folder when it starts its first session: 2 µs per folder.
constexpr size_t kMaxKept = 100;
constexpr size_t kMaxIdInName = 100;
// Retries of create(): another host may remove the base or the new folder between two steps.
constexpr int kMaxTries = 20;

// The host chooses the id. An id with characters that are not suitable for a file name is replaced.
std::string name_for(std::string_view session_id) {
    const bool is_plain = !session_id.empty() && session_id.size() <= kMaxIdInName &&
                          std::all_of(session_id.begin(), session_id.end(), [](char c) {
                              return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                     (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                          });
    return is_plain ? std::string(session_id) : make_uuid();
}

// Opens the base folder without following a link, and checks that only this user has access.
// `is_own`: the name is the library's, so the advice may be to change it. A folder that the host
// named may be /tmp or a home directory.
Descriptor open_base(const std::string& base, bool is_own, std::string& why) {
    const std::string give_another = is_own ? "set TMPDIR to a folder that only you may enter"
                                            : "name a folder that only this user may enter";
    Descriptor folder;
    for (int i = 0; !folder && i < kMaxTries; ++i) {
        if (::mkdir(base.c_str(), 0700) == 0) {
            // Again: a umask may have taken the user's own rights, for every later session, too.
            ::chmod(base.c_str(), 0700);
        } else if (errno != EEXIST) {
            why = base + " cannot be created: " + std::strerror(errno) + "; " + give_another;
            return {};
        }
        folder = Descriptor(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder && errno != ENOENT) break;
    }
    struct stat status {};
    if (!folder || ::fstat(folder.get(), &status) != 0) {
        why =
            errno == ELOOP || errno == ENOTDIR
                ? base + " is not a folder, or is a link; " + (is_own ? "remove it" : give_another)
                : base + " cannot be opened: " + std::strerror(errno);
        return {};
    }
    if (status.st_uid != ::geteuid()) {
        why = base + " belongs to another user; " + give_another;
        return {};
    }
    if ((status.st_mode & 077) != 0) {
        why =
            base + " is open to other users; " + (is_own ? "run: chmod 700 " + base : give_another);
        return {};
    }
    return folder;
}

bool is_same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

// Reads the base again only after N sessions, where N is the number of entries found the last time.
// The amortized cost of a session is constant, even if a host has ten thousand of them.
// Thread-safe.
void OutputFolder::remove_abandoned_sometimes(const std::string& base) {
    static std::mutex& mutex = *new std::mutex;
    static auto& sessions_left =
        *new std::map<std::string, size_t>;  // sessions until the next reading, by base
    {
        const std::lock_guard lock(mutex);
        const auto known = sessions_left.find(base);
        if (known != sessions_left.end() && known->second > 0) {
            --known->second;
            return;
        }
    }
    const size_t left = remove_abandoned(base);
    const std::lock_guard lock(mutex);
    // Erase it now, so that the map does not grow if each session has its own base.
    if (left == 0) sessions_left.erase(base);
    else sessions_left[base] = left;
}

std::string OutputFolder::default_base() {
    const char* temporary = std::getenv("TMPDIR");
    std::string base = temporary != nullptr && *temporary == '/' ? temporary : "/tmp";
    while (base.size() > 1 && base.back() == '/') base.pop_back();
    return base + "/narratoria-" + std::to_string(::geteuid());
}

std::unique_ptr<OutputFolder> OutputFolder::create(std::string base, std::string_view session_id,
                                                   bool may_be_kept, std::string& why) {
    const bool owns_base = base.empty();
    if (owns_base) base = default_base();
    remove_abandoned_sometimes(base);

    std::string name(may_be_kept ? kKeptPrefix : kSessionPrefix);
    name += name_for(session_id);
    for (int i = 0; i < kMaxTries; ++i) {
        const Descriptor folder = open_base(base, owns_base, why);
        if (!folder) return nullptr;
        if (::mkdirat(folder.get(), name.c_str(), 0700) != 0) {
            why = base + "/" + name + " cannot be created: " + std::strerror(errno);
            // EEXIST: another session with this id. ENOENT: the base has been removed.
            if (errno == EEXIST) name += "-" + make_uuid().substr(0, 8);
            else if (errno != ENOENT) return nullptr;
            continue;
        }
        ::fchmodat(folder.get(), name.c_str(), 0700, 0);
        Descriptor lock(
            ::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!lock || keep_clear_of_standard_streams(lock) != 0) {
            why = base + "/" + name + " cannot be opened: " + std::strerror(errno);
            // Another host considered it abandoned and removed it.
            if (!lock && errno == ENOENT) continue;
            ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR);
            return nullptr;
        }
        // Fails if another host's remove_abandoned() is about to remove the new folder: this host
        // was stopped before this line, or a clock was set.
        const bool is_locked = ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        struct stat opened {};
        struct stat named {};
        if (is_locked && ::fstat(lock.get(), &opened) == 0 &&
            ::fstatat(folder.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_same_file(opened, named)) {
            std::string path = base + "/" + name;
            return std::unique_ptr<OutputFolder>(
                new OutputFolder(std::move(base), std::move(path), std::move(lock), owns_base));
        }
        why = base + "/" + name + " was removed by another process";
    }
    return nullptr;
}

OutputFolder::~OutputFolder() {
    if (is_kept_) return;
    std::error_code ignored;
    // remove_all() does not follow links. remove_abandoned() removes files that a dying tool adds
    // meanwhile, and the whole folder if memory has run out here.
    try {
        std::filesystem::remove_all(path_, ignored);
    } catch (const std::bad_alloc&) {
    }
    if (owns_base_) ::rmdir(base_.c_str());
}

bool OutputFolder::holds(std::string_view file) const {
    return file.size() > path_.size() && file.substr(0, path_.size()) == path_ &&
           file[path_.size()] == '/';
}

size_t OutputFolder::remove_abandoned(const std::string& base) {
    std::string why;
    struct stat status {};
    if (::lstat(base.c_str(), &status) != 0) return 0;
    const Descriptor folder = open_base(base, true, why);
    if (!folder) return 0;
    const int listed = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 3);
    DIR* const listing = listed < 0 ? nullptr : ::fdopendir(listed);
    if (listing == nullptr) {
        if (listed >= 0) ::close(listed);
        return 0;
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    size_t left = names.size();
    std::vector<std::pair<time_t, std::string>> kept;
    const auto remove_unless_used = [&](const std::string& name) {
        const Descriptor lock(
            ::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        // A running session holds a shared lock.
        if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
        std::error_code ignored;
        std::filesystem::remove_all(base + "/" + name, ignored);
        --left;
    };
    const time_t now = std::time(nullptr);
    for (const std::string& name : names) {
        const bool may_be_kept = name.starts_with(kKeptPrefix);
        if (!may_be_kept && !name.starts_with(kSessionPrefix)) continue;
        if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const time_t age = now - status.st_mtime;
        if (may_be_kept && age < kKeptSeconds) kept.emplace_back(status.st_mtime, name);
        else if (age >= kNewSeconds) remove_unless_used(name);
    }
    if (kept.size() > kMaxKept) {
        const auto oldest = kept.end() - kMaxKept;
        std::nth_element(kept.begin(), oldest, kept.end());
        std::for_each(kept.begin(), oldest,
                      [&](const auto& each) { remove_unless_used(each.second); });
    }
    ::closedir(listing);
    return left;
}

}  // namespace narratoria::session
