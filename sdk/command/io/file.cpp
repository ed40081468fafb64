// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "io/interruption.hpp"
#include "io/message.hpp"

namespace narratoria::command {
namespace {

// Temporary files with a name, which a signal handler removes before it exits. Used only on file
// systems without O_TMPFILE. A command replaces at most three files.
struct VisibleFile {
    std::atomic<int> folder{-1};
    char name[64] = {};
};
VisibleFile visible_files[4];

void remember_visible(int folder, const std::string& name) {
    for (VisibleFile& file : visible_files) {
        if (file.folder.load() >= 0 || name.size() >= sizeof file.name) continue;
        std::memcpy(file.name, name.c_str(), name.size() + 1);
        file.folder.store(folder);
        return;
    }
}

void forget_visible(int folder, const std::string& name) {
    for (VisibleFile& file : visible_files) {
        if (file.folder.load() == folder && name == file.name) file.folder.store(-1);
    }
}

// Four times the default limit of a state. A longer document must be the wrong file.
constexpr std::size_t kLongestDocument = std::size_t{1} << 30;

std::string read_all(int descriptor, const std::string& path, std::string_view what) {
    std::string text;
    struct stat status {};
    std::size_t size = 0;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size = static_cast<std::size_t>(status.st_size);
        if (size <= kLongestDocument) text.reserve(size + 1);
    }
    std::size_t used = 0;
    for (;;) {
        if (std::max(size, used) > kLongestDocument) {
            throw Refused(fmt::format("the {} in {} is larger than 1 GiB; give a different file",
                                      what, display_path(path)));
        }
        if (text.size() - used < 64 * 1024) text.resize(used + 256 * 1024);
        const ssize_t got = read(descriptor, text.data() + used, text.size() - used);
        if (got == 0) break;
        if (got > 0) {
            used += static_cast<std::size_t>(got);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) {
            pollfd waiting{descriptor, POLLIN, 0};
            poll(&waiting, 1, -1);
            continue;
        }
        const int error = errno;
        if (error == EISDIR) {
            throw Refused(
                fmt::format("{} is a folder; give the path of the {}", display_path(path), what));
        }
        if (error == EBADF && path == "-") {
            throw Refused(fmt::format(
                "standard input is closed; give the {} as a file, or through a pipe", what));
        }
        throw Refused(
            fmt::format("cannot read the {} from {}: {}", what, display_path(path), reason(error)));
    }
    text.resize(used);
    return text;
}

// Names of standard input. Opening one by name fails for a socket, and would make /dev the folder
// of the document.
bool is_standard_input(const std::string& path) {
    return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

// The target of a symbolic link (one hop), or nothing if `path` is not a link.
std::optional<std::string> target_of_link(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) return std::nullopt;
    const std::string to(target, static_cast<std::size_t>(length));
    const std::size_t slash = path.rfind('/');
    if (to.starts_with('/') || slash == std::string::npos) return to;
    return path.substr(0, slash + 1) + to;
}

// The number in a path like /dev/fd/3.
std::optional<int> descriptor_in(const std::string& path) {
    constexpr std::string_view kStreams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    for (int number = 0; number <= STDERR_FILENO; ++number) {
        if (path == kStreams[number]) return number;
    }
    for (const std::string& folder : {std::string("/dev/fd/"), std::string("/proc/self/fd/"),
                                      fmt::format("/proc/{}/fd/", getpid())}) {
        if (!path.starts_with(folder)) continue;
        int number = -1;
        const char* const end = path.data() + path.size();
        const auto [read, failure] = std::from_chars(path.data() + folder.size(), end, number);
        if (failure == std::errc() && read == end && number >= 0) return number;
    }
    return std::nullopt;
}

// For a path that leads to an inherited descriptor, returns a duplicate of it: opening it by name
// would start at the beginning of the file. Empty for other paths.
Descriptor open_given(std::string path, std::string_view what) {
    const std::string shown = display_path(path);
    for (int links = 0; links < 40; ++links) {
        if (const std::optional<int> number = descriptor_in(path)) {
            // The command's own descriptors have FD_CLOEXEC; inherited ones do not.
            const int flags = fcntl(*number, F_GETFD);
            const bool is_own = *number > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) != 0;
            const int mode = fcntl(*number, F_GETFL);
            if (is_own || mode < 0 || (mode & O_ACCMODE) == O_RDONLY) {
                throw Refused(
                    fmt::format("cannot write the {} to {}: {}", what, shown, reason(EBADF)));
            }
            return Descriptor(fcntl(*number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        }
        std::optional<std::string> next = target_of_link(path);
        if (!next) break;
        path = *std::move(next);
    }
    return Descriptor();
}

// Opens a file that may be a FIFO. Prints a message before it waits for the FIFO's reader.
Descriptor open_output(const std::string& path, int flags, std::string_view what) {
    struct stat status {};
    const bool is_fifo = stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    if (!is_fifo) return Descriptor(open(path.c_str(), flags));
    Descriptor file(open(path.c_str(), flags | O_NONBLOCK));
    if (file) {
        fcntl(file.get(), F_SETFL, flags & O_APPEND);
        return file;
    }
    if (errno != ENXIO) return file;
    complain(fmt::format(
        "waiting for a reader of {}, the pipe for the {}; read it in another terminal: cat {}",
        display_path(path), what, shell_word(path)));
    return Descriptor(open(path.c_str(), flags));
}

std::string follow_links(std::string path, std::string_view what) {
    for (int links = 0; links < 40; ++links) {
        std::optional<std::string> next = target_of_link(path);
        if (!next) return path;
        path = *std::move(next);
    }
    throw Refused(fmt::format("cannot write the {} to {}: its symbolic links form a loop", what,
                              display_path(path)));
}

struct FilePlace {
    std::string folder;
    std::string base;
};

FilePlace place_of(const std::string& path, std::string_view what) {
    const std::size_t slash = path.rfind('/');
    if (path.empty()) {
        throw Refused(fmt::format("the name of the file for the {} is empty; give a file", what));
    }
    FilePlace place{slash == std::string::npos ? "." : path.substr(0, slash + 1),
                    slash == std::string::npos ? path : path.substr(slash + 1)};
    if (place.base.empty() || place.base == "." || place.base == "..") {
        throw Refused(
            fmt::format("{} is a folder; give a file for the {}", display_path(path), what));
    }
    return place;
}

std::string identity_of(const struct stat& status) {
    return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::string in_real_folder(const std::string& path, std::string_view what) {
    const FilePlace place = place_of(path, what);
    char* real = realpath(place.folder.c_str(), nullptr);
    std::string text = fmt::format("{}/{}", real != nullptr ? real : place.folder, place.base);
    std::free(real);
    return text;
}

std::string identity_of(const std::string& path, std::string_view what) {
    struct stat status {};
    const bool exists = stat(path.c_str(), &status) == 0;
    if (exists && S_ISREG(status.st_mode)) return identity_of(status);
    // Do not follow links to a file that is not regular: /dev/fd/63 links to "pipe:[5678]".
    const std::string identity = in_real_folder(exists ? path : follow_links(path, what), what);
    const bool is_device = exists && (S_ISCHR(status.st_mode) || identity.starts_with("/dev/"));
    return is_device ? std::string() : identity;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        reset();
        descriptor_ = other.release();
    }
    return *this;
}

int Descriptor::release() noexcept { return std::exchange(descriptor_, -1); }

void Descriptor::reset() noexcept {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

std::string identity_of_input(const std::string& path) {
    struct stat status {};
    const int found = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
    return found == 0 && S_ISREG(status.st_mode) ? identity_of(status) : std::string();
}

void reserve_standard_streams() {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
        if (fcntl(descriptor, F_GETFD) >= 0) continue;
        const int refusing = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        // open() returns the lowest free number, which is this one: all lower ones are open by now.
        static_cast<void>(open("/dev/null", refusing));
    }
}

void require_standard_output(std::string_view what, std::string_view advice) {
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        throw Refused(
            fmt::format("cannot write {}: standard output is closed or not open for writing; {}",
                        what, advice));
    }
}

void print_output(std::string_view text, std::string_view what) {
    if (write_all(STDOUT_FILENO, text)) return;
    if (errno == EPIPE) throw ReaderGone();
    throw Failed(fmt::format("cannot write {} to standard output: {}", what, reason(errno)));
}

bool print_unless_interrupted(std::string_view text, std::string_view what) {
    while (!text.empty()) {
        pollfd ready[] = {{STDOUT_FILENO, POLLOUT, 0}, {interruption::descriptor(), POLLIN, 0}};
        if (poll(ready, 2, -1) < 0) continue;
        if (ready[0].revents == 0) return false;
        // A writable pipe accepts PIPE_BUF bytes without blocking.
        const std::size_t size = std::min<std::size_t>(text.size(), PIPE_BUF);
        print_output(text.substr(0, size), what);
        text.remove_prefix(size);
    }
    return true;
}

void require_regular_file(const std::string& path, std::string_view what) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
    if (S_ISDIR(status.st_mode)) {
        throw Refused(
            fmt::format("{} is a folder; give a file for the {}", display_path(path), what));
    }
    throw Refused(fmt::format("{} is not a regular file and cannot store the {}; give a file",
                              display_path(path), what));
}

std::string final_target(const std::string& path, std::string_view what) {
    return follow_links(path, what);
}

std::string real_path_of_output(const std::string& path, std::string_view what) {
    return in_real_folder(follow_links(path, what), what);
}

std::optional<std::string> read_document_if_there(const std::string& path, std::string_view what) {
    if (is_standard_input(path)) return read_all(STDIN_FILENO, "-", what);
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) {
        if (errno == ENOENT) return std::nullopt;
        throw Refused(
            fmt::format("cannot read the {} from {}: {}", what, display_path(path), reason(errno)));
    }
    return read_all(file.get(), path, what);
}

std::string read_document(const std::string& path, std::string_view what) {
    if (path.empty()) {
        throw Refused(fmt::format(
            "the name of the {} file is empty; give a file, or - for standard input", what));
    }
    std::optional<std::string> text = read_document_if_there(path, what);
    if (!text) {
        throw Refused(
            fmt::format("cannot read the {} from {}: {}; check the path, or pass - for "
                        "standard input",
                        what, display_path(path), reason(ENOENT)));
    }
    return *std::move(text);
}

std::optional<std::string> folder_of_variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value != '/') return std::nullopt;
    return value;
}

std::string absolute_path(const std::string& path) {
    if (path.starts_with('/')) return path;
    char* folder = getcwd(nullptr, 0);
    if (folder == nullptr) {
        throw Refused(fmt::format(
            "cannot determine the working folder ({}); change to one that exists", reason(errno)));
    }
    std::string absolute = folder;
    std::free(folder);
    if (path.empty()) return absolute;
    if (!absolute.ends_with('/')) absolute += '/';
    return absolute + path;
}

std::string folder_of_document(const std::string& path) {
    struct stat status {};
    if (is_standard_input(path) || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return absolute_path("");
    }
    std::string folder = absolute_path(path);
    folder.resize(folder.rfind('/'));
    return folder.empty() ? "/" : folder;
}

Replacement::Replacement(const std::string& path, std::string_view what, Durability durability)
    : shown_(display_path(path)), what_(what), durability_(durability) {
    if (path == "-") {
        throw Refused(fmt::format(
            "the {} cannot go to standard output, where the result goes; give a file", what));
    }
    struct stat status {};
    const bool exists = stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) {
        throw Refused(fmt::format("{} is a folder; give a file for the {}", shown_, what));
    }
    identity_ = identity_of(path, what);
    if (file_ = open_given(path, what); file_) {
        if (durability == Durability::Durable) {
            throw Refused(fmt::format(
                "{} is an open file, which cannot be replaced with the {}; give the file's path",
                shown_, what));
        }
        direct_ = true;
        return;
    }
    if (exists && !S_ISREG(status.st_mode)) {
        if (durability == Durability::Durable) require_regular_file(path, what);
        direct_ = true;
        file_ = open_output(path, O_WRONLY | O_CLOEXEC | O_NOCTTY, what);
        if (!file_) {
            throw Refused(
                fmt::format("cannot write the {} to {}: {}", what, shown_, reason(errno)));
        }
        return;
    }
    const std::string target = follow_links(path, what);
    const FilePlace place = place_of(target, what);
    base_ = place.base;
    if (exists && access(target.c_str(), W_OK) != 0) {
        throw Refused(
            fmt::format("cannot replace {} with the {}: {}; make it writable (chmod u+w), or give "
                        "a different file",
                        shown_, what, reason(errno)));
    }
    folder_ = Descriptor(open(place.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) {
        throw Refused(
            fmt::format("cannot write the {} to {}: its folder {} cannot be opened ({}); create "
                        "the folder first, or give a different file",
                        what, shown_, display_path(place.folder), reason(errno)));
    }
    open_nameless();
    if (exists) {
        // Only root can preserve the owner. The mode must be preserved: it protects the content.
        int kept = fchown(file_.get(), status.st_uid, status.st_gid);
        if (kept != 0) kept = fchown(file_.get(), static_cast<uid_t>(-1), status.st_gid);
        static_cast<void>(kept);
        static_cast<void>(fchmod(file_.get(), status.st_mode & 07777u));
    }
}

void Replacement::open_nameless() {
    file_ = Descriptor(openat(folder_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    if (file_ && access("/proc/self/fd", X_OK) == 0) return;
    const int error = file_ ? EOPNOTSUPP : errno;
    if (error == EOPNOTSUPP || error == EISDIR || error == ENOENT || error == EINVAL) {
        visible_name_ = fresh_name();
        file_ = Descriptor(openat(folder_.get(), visible_name_.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file_) {
            remember_visible(folder_.get(), visible_name_);
            return;
        }
        visible_name_.clear();
    }
    throw Refused(
        fmt::format("cannot write the {} to {}: cannot create a file in its folder ({}); make the "
                    "folder writable, or give a different file",
                    what_, shown_, reason(errno)));
}

std::string Replacement::fresh_name() const {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
        number = static_cast<std::uint64_t>(getpid());
    }
    return fmt::format(".narratoria-{:016x}.tmp", number);
}

Replacement::~Replacement() {
    if (visible_name_.empty()) return;
    unlinkat(folder_.get(), visible_name_.c_str(), 0);
    forget_visible(folder_.get(), visible_name_);
}

void Replacement::commit() {
    const auto fail = [&](std::string_view step, int error) {
        throw Failed(fmt::format("cannot write the {} to {}: {} ({}); the file is unchanged", what_,
                                 shown_, step, reason(error)));
    };
    if (direct_) {
        if (close(file_.release()) != 0 && errno != EINTR) fail("closing it failed", errno);
        return;
    }
    if (durability_ == Durability::Durable && fsync(file_.get()) != 0) {
        fail("fsync failed", errno);
    }
    std::string name = visible_name_;
    if (name.empty()) {
        const std::string source = fmt::format("/proc/self/fd/{}", file_.get());
        name = fresh_name();
        if (linkat(AT_FDCWD, source.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
            fail("the new file could not be linked into the folder", errno);
        }
    }
    if (renameat(folder_.get(), name.c_str(), folder_.get(), base_.c_str()) != 0) {
        const int error = errno;
        unlinkat(folder_.get(), name.c_str(), 0);
        forget_visible(folder_.get(), name);
        visible_name_.clear();
        fail("the old file could not be replaced", error);
    }
    forget_visible(folder_.get(), name);
    visible_name_.clear();
    if (durability_ == Durability::Durable && fsync(folder_.get()) != 0 && errno != EINVAL) {
        throw Failed(
            fmt::format("the {} is in {}, but may be lost if the power fails: fsync of the "
                        "folder failed ({})",
                        what_, shown_, reason(errno)));
    }
}

void forget_replacements_in_signal() noexcept {
    for (VisibleFile& file : visible_files) {
        const int folder = file.folder.load();
        if (folder >= 0) unlinkat(folder, file.name, 0);
    }
}

LineFile::LineFile(const std::string& path, std::string_view what) : path_(path), what_(what) {
    if (path == "-") {
        throw Refused(
            fmt::format("the {} cannot go to standard output, where the result goes; give a file, "
                        "or /dev/stderr",
                        what));
    }
    identity_ = identity_of(path, what);
    if (file_ = open_given(path, what); file_) {
        is_given_ = true;
        return;
    }
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
    file_ = open_output(path, flags, what);
    if (!file_ && errno == ENOENT) {
        file_ = Descriptor(open(path.c_str(), flags | O_CREAT, 0666));
        created_ = static_cast<bool>(file_);
    }
    if (!file_) {
        const int error = errno;
        throw Refused(fmt::format(
            "cannot write the {} to {}: {}; give a file in a folder that exists and is writable",
            what, display_path(path), reason(error)));
    }
}

LineFile::~LineFile() {
    if (created_ && !started_) unlink(path_.c_str());
}

void LineFile::start() {
    started_ = true;
    struct stat status {};
    if (!is_given_ && fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        ftruncate(file_.get(), 0) != 0) {
        throw Refused(fmt::format("cannot empty {} for the {}: {}", display_path(path_), what_,
                                  reason(errno)));
    }
}

void LineFile::flush() {
    if (buffer_.empty() || !started_) return;
    if (!failed_ && !write_all(file_.get(), buffer_)) {
        failed_ = true;
        complain(
            fmt::format("cannot continue writing the {} to {}: {}; the run continues without "
                        "it",
                        what_, display_path(path_), reason(errno)));
    }
    buffer_.clear();
}

}  // namespace narratoria::command
