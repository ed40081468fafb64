// SPDX-License-Identifier: Apache-2.0
#include "narrator_process/child_process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <system_error>

#if __has_include(<gnu/lib-names.h>)
#include <gnu/lib-names.h>
#endif

namespace narratoria::plugins {
namespace {

// One call of work() reads no more of a pipe, so that the engine's other work has its turn.
constexpr std::size_t kMaxRead = 256 * 1024;
// What a dead process may have left in a pipe.
constexpr std::size_t kMaxLeft = 1024 * 1024;

// After the end of its input and SIGTERM. Whoever asks it to end waits meanwhile, and a plugin's call
// that takes over 50 ms is a breach.
constexpr int kGraceMs = 40;
// Nothing outlives SIGKILL for long, but in a call to a disk or a network that hangs.
constexpr int kKillPatienceMs = 2000;

constexpr std::size_t kStackSize = 64 * 1024;

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

std::runtime_error no_pipes() { return std::runtime_error("no pipes: " + reason(errno)); }

// Never 0, 1 or 2: a host may have closed those, and they are to be the child's own.
Descriptor above_standard(Descriptor low) {
    if (low.get() > 2) return low;
    Descriptor high(::fcntl(low.get(), F_DUPFD_CLOEXEC, 3));
    if (!high) throw no_pipes();
    return high;
}

struct Pair {
    Descriptor reading;
    Descriptor writing;
};

Pair pipe_of_ours() {
    int both[2];
    if (::pipe2(both, O_CLOEXEC) != 0) throw no_pipes();
    Pair pair{Descriptor(both[0]), Descriptor(both[1])};
    pair.reading = above_standard(std::move(pair.reading));
    pair.writing = above_standard(std::move(pair.writing));
    return pair;
}

Pair socket_of_ours() {
    int both[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) throw no_pipes();
    Pair pair{Descriptor(both[0]), Descriptor(both[1])};
    pair.reading = above_standard(std::move(pair.reading));
    pair.writing = above_standard(std::move(pair.writing));
    // One way only, as a pipe.
    ::shutdown(pair.writing.get(), SHUT_RD);
    return pair;
}

void set_nonblocking(const Descriptor& descriptor) {
    const int flags = ::fcntl(descriptor.get(), F_GETFL);
    if (flags < 0 || ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) != 0) throw no_pipes();
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

std::int64_t steady_milliseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// What the child needs between its beginning and the program's, all of it made beforehand.
struct Birth {
    const char* path;
    const char* folder;
    char* const* arguments;
    char* const* environment;
    int standard[3];
    pid_t host;
    // The child's word to its parent, whose memory it shares.
    int error = 0;
    bool is_folder_wrong = false;
};

// The kernel's own struct for "as it was at first", whatever its layout: zeros.
constexpr char kStandardAction[128] = {};

[[noreturn]] __attribute__((no_sanitize("thread"))) void die(Birth& birth) {
    birth.error = errno;
    for (;;) ::syscall(SYS_exit_group, 127);
}

// Runs in the child, on the host's memory: nothing but system calls, and those not by the functions
// of the C library, of which a sanitizer keeps books that are the host's.
__attribute__((no_sanitize("thread"))) int be_born(void* given) {
    Birth& birth = *static_cast<Birth*>(given);
    // A handler of the host would run on the host's memory. All signals are blocked until none is
    // left; what the host ignores the program should not inherit.
    for (int signal = 1; signal < _NSIG; ++signal) {
        ::syscall(SYS_rt_sigaction, signal, kStandardAction, nullptr, _NSIG / 8);
    }
    ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // The host may have died before that.
    if (::syscall(SYS_getppid) != birth.host) die(birth);
    ::syscall(SYS_setpgid, 0, 0);
    for (int number = 0; number < 3; ++number) {
        if (::syscall(SYS_dup3, birth.standard[number], number, 0) < 0) die(birth);
    }
    // What the host opened without O_CLOEXEC.
    ::syscall(SYS_close_range, 3U, UINT_MAX, 0U);
    if (*birth.folder != '\0' && ::syscall(SYS_chdir, birth.folder) != 0) {
        birth.is_folder_wrong = true;
        die(birth);
    }
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, kStandardAction, nullptr, _NSIG / 8);
    ::syscall(SYS_execve, birth.path, birth.arguments, birth.environment);
    die(birth);
}

// The C library's own. A thread sanitizer puts one before it that takes every clone for a fork, and
// undoes its preparations twice when parent and child share their memory.
decltype(&::clone) real_clone() {
    decltype(&::clone) found = &::clone;
#ifdef LIBC_SO
    if (void* const library = ::dlopen(LIBC_SO, RTLD_NOW | RTLD_NOLOAD)) {
        if (void* const symbol = ::dlsym(library, "clone")) {
            std::memcpy(&found, &symbol, sizeof found);
        }
        ::dlclose(library);
    }
#endif
    return found;
}

}  // namespace

void Descriptor::reset() noexcept {
    const int number = std::exchange(number_, -1);
    if (number >= 0) ::close(number);
}

ChildProcess::ChildProcess(const Program& program) : owner_(::getpid()) {
    Pair input = socket_of_ours();
    Pair output = pipe_of_ours();
    Pair diagnostics = pipe_of_ours();
    set_nonblocking(output.reading);
    set_nonblocking(diagnostics.reading);
    readiness_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!readiness_) throw no_pipes();

    input_ = std::move(input.writing);
    output_ = std::move(output.reading);
    diagnostics_ = std::move(diagnostics.reading);
    watch(output_, EPOLLIN);
    watch(diagnostics_, EPOLLIN);
    start(program, input.reading.get(), output.writing.get(), diagnostics.writing.get());
    try {
        watch(process_, EPOLLIN);
    } catch (...) {
        bury();
        throw;
    }
}

// As vfork: its cost does not grow with the host's memory, and this thread waits until the program
// has begun. posix_spawn would do, but cannot ask for a death with the parent.
void ChildProcess::start(const Program& program, int input, int output, int diagnostics) {
    const std::vector<char*> arguments = pointers_to(program.arguments);
    const std::vector<char*> environment = pointers_to(program.environment);
    Birth birth{program.path.c_str(), program.folder.c_str(),       arguments.data(),
                environment.data(),   {input, output, diagnostics}, owner_};
    const std::unique_ptr<char[]> stack(new char[kStackSize]);
    void* space = stack.get();
    std::size_t room = kStackSize;
    std::align(64, kStackSize - 64, space, room);
    char* const top = static_cast<char*>(space) + kStackSize - 64;

    const auto clone = real_clone();
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int process = -1;
    const int number =
        clone(be_born, top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &birth, &process);
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (number < 0) throw std::runtime_error("no process: " + reason(error));
    process_ = Descriptor(process);
    number_ = number;
    if (birth.error == 0) return;
    bury();
    if (birth.is_folder_wrong) {
        throw std::runtime_error("its folder \"" + program.folder +
                                 "\" cannot be entered: " + reason(birth.error));
    }
    std::string why = reason(birth.error);
    if (birth.error == ENOENT) why += " (or the program that its first line names is not there)";
    if (birth.error == ENOEXEC) why += " (a script begins with #! and its interpreter)";
    throw std::runtime_error("\"" + program.path + "\": " + why);
}

ChildProcess::~ChildProcess() {
    // In a fork of the host it is somebody else's child.
    if (!has_ended_ && ::getpid() == owner_) bury();
}

void ChildProcess::bury() noexcept {
    kill();
    pollfd death{process_.get(), POLLIN, 0};
    ::poll(&death, 1, kKillPatienceMs);
    reap();
}

void ChildProcess::watch(const Descriptor& descriptor, std::uint32_t events) const {
    epoll_event wanted{};
    wanted.events = events;
    if (::epoll_ctl(readiness_.get(), EPOLL_CTL_ADD, descriptor.get(), &wanted) != 0) {
        throw no_pipes();
    }
}

// Closing alone would not do when another thread has forked meanwhile: its child has it open, too.
void ChildProcess::forget(Descriptor& descriptor) const noexcept {
    if (descriptor) ::epoll_ctl(readiness_.get(), EPOLL_CTL_DEL, descriptor.get(), nullptr);
    descriptor.reset();
}

void ChildProcess::send(std::string_view bytes) {
    if (!input_) return;
    unsent_ += bytes;
    flush();
}

void ChildProcess::flush() {
    while (input_ && unsent() > 0) {
        const ssize_t count =
            ::send(input_.get(), unsent_.data() + sent_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            sent_ += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN || errno == ENOBUFS) {
            if (!std::exchange(waits_to_send_, true)) watch(input_, EPOLLOUT);
            return;
        } else if (errno != EINTR) {
            forget(input_);
        }
    }
    // Not kept at the size of the largest request.
    unsent_ = std::string();
    sent_ = 0;
    if (std::exchange(waits_to_send_, false) && input_) {
        ::epoll_ctl(readiness_.get(), EPOLL_CTL_DEL, input_.get(), nullptr);
    }
}

void ChildProcess::read(Descriptor& descriptor, std::string& out, std::size_t most) const {
    constexpr std::size_t piece = 64 * 1024;
    while (descriptor && most > 0) {
        const std::size_t begin = out.size();
        out.resize(begin + std::min(piece, most));
        const ssize_t count = ::read(descriptor.get(), out.data() + begin, out.size() - begin);
        const int error = errno;
        out.resize(begin + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count > 0) {
            most -= static_cast<std::size_t>(count);
        } else if (count < 0 && error == EAGAIN) {
            return;
        } else if (count == 0 || error != EINTR) {
            forget(descriptor);
        }
    }
}

bool ChildProcess::is_dead() const noexcept {
    pollfd death{process_.get(), POLLIN, 0};
    return ::poll(&death, 1, 0) == 1;
}

bool ChildProcess::work(std::string& output, std::string& diagnostics) {
    if (has_ended_) return false;
    flush();
    // Asked before reading: what it wrote before its death is there.
    const bool is_over = is_dead();
    if (is_over) signal_group(SIGKILL);
    read(output_, output, is_over ? kMaxLeft : kMaxRead);
    read(diagnostics_, diagnostics, is_over ? kMaxLeft : kMaxRead);
    if (is_over) reap();
    return !is_over;
}

// Reads meanwhile, so that nobody fails to end because of a full pipe.
bool ChildProcess::wait(int milliseconds, std::string& diagnostics) {
    const std::int64_t deadline = steady_milliseconds() + milliseconds;
    std::string ignored;
    for (;;) {
        const bool is_over = is_dead();
        read(output_, ignored, kMaxRead);
        read(diagnostics_, diagnostics, kMaxRead);
        ignored.clear();
        if (is_over) return true;
        const std::int64_t left = deadline - steady_milliseconds();
        if (left <= 0) return false;
        pollfd any{readiness_.get(), POLLIN, 0};
        ::poll(&any, 1, static_cast<int>(left));
    }
}

void ChildProcess::end(std::string& diagnostics) {
    if (has_ended_ || ::getpid() != owner_) return;
    // Closing alone would not do: a fork of the host may have the other end open.
    if (input_) ::shutdown(input_.get(), SHUT_WR);
    forget(input_);
    signal_group(SIGTERM);
    if (!wait(kGraceMs, diagnostics)) {
        signal_group(SIGKILL);
        wait(kKillPatienceMs, diagnostics);
    }
    reap();
}

// While nobody has waited for it, its number and its group's belong to no other process.
void ChildProcess::signal_group(int signal) const noexcept {
    siginfo_t info{};
    if (number_ <= 0 || has_ended_) return;
    if (::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &info, WEXITED | WNOHANG | WNOWAIT) ==
        0) {
        ::kill(-number_, signal);
    }
}

void ChildProcess::reap() noexcept {
    if (has_ended_) return;
    // What it started must not outlive it.
    signal_group(SIGKILL);
    siginfo_t info{};
    const int status =
        ::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &info, WEXITED | WNOHANG);
    has_ended_ = true;
    forget(process_);
    forget(input_);
    if (status == 0 && info.si_pid == number_) end_ = info;
}

std::string ChildProcess::how_it_ended() const {
    if (end_.si_pid == 0) return "an end that the host did not keep";
    if (end_.si_code == CLD_EXITED) return "exit status " + std::to_string(end_.si_status);
    return "signal " + std::to_string(end_.si_status) + " (" + ::strsignal(end_.si_status) + ")";
}

std::string find_program(const std::string& name, const std::vector<std::string>& environment,
                         const std::string& folder) {
    if (name.find('/') != std::string::npos) {
        return name.front() == '/' ? name : folder + "/" + name;
    }
    std::string_view path;
    for (const std::string_view variable : environment) {
        if (variable.starts_with("PATH=")) path = variable.substr(5);
    }
    const std::string_view whole = path;
    while (!path.empty()) {
        const std::size_t colon = std::min(path.find(':'), path.size());
        const std::string in(path.substr(0, colon));
        path.remove_prefix(std::min(colon + 1, path.size()));
        // An empty entry would be the current folder.
        if (in.empty() || in.front() != '/') continue;
        std::string program = in + "/" + name;
        struct stat status {};
        if (::stat(program.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
            ::access(program.c_str(), X_OK) == 0) {
            return program;
        }
    }
    throw std::runtime_error(
        "there is no program \"" + name + "\" in the PATH (" + std::string(whole) +
        "); a program of the story is written with a slash, \"./" + name + "\"");
}

}  // namespace narratoria::plugins
