// SPDX-License-Identifier: Apache-2.0
#include "process/reaper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/lifetime.hpp"
#include "base/scratch_name.hpp"
#include "base/uuid.hpp"
#include "process/error_text.hpp"
#include "process/packet_socket.hpp"
#include "process/process.hpp"
#include "process/start_failure.hpp"
#include "process/supervisor/protocol.h"

extern "C" {
// The program of the reaper and the supervisors, embedded into the library by the build.
extern const char narratoria_supervisor_image[];
extern const char narratoria_supervisor_image_end[];
}

namespace narratoria::process {
namespace {

// Exceeds the supervisors' own timeout for unkillable processes.
constexpr int kExitPatienceMs = 6000;

// Opens the supervisor program. Returns an empty descriptor and sets `failure` on failure.
Descriptor open_program(const std::string& path, StartFailure& failure) {
    Descriptor file;
    if (!path.empty()) {
        file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    } else {
        file = Descriptor(::memfd_create("narratoria-supervisor", MFD_CLOEXEC));
        std::string_view image(
            narratoria_supervisor_image,
            static_cast<size_t>(narratoria_supervisor_image_end - narratoria_supervisor_image));
        while (file && !image.empty()) {
            const ssize_t written = ::write(file.get(), image.data(), image.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) {
                const int error = errno;
                file.close();
                errno = error;
                break;
            }
            image.remove_prefix(static_cast<size_t>(written));
        }
    }
    // Moved to 16 or above: the dup2 call for the reaper's socket must not overwrite it.
    Descriptor moved;
    if (file) moved = Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, 16));
    if (!moved) {
        const int error = errno;
        failure.out_of_descriptors = is_shortage(error);
        failure.no_supervisor = !failure.out_of_descriptors;
        failure.message =
            path.empty()
                ? "the supervisor program cannot be put into memory: " + error_text(error) +
                      (failure.out_of_descriptors ? ""
                                                  : "; where that is forbidden, name the installed "
                                                    "narratoria-supervisor in the engine's options")
                : "the supervisor program \"" + path + "\" cannot be opened: " + error_text(error);
    }
    return moved;
}

// Returns the prefix of the paths of scratch folders. Other processes cannot predict it.
std::string scratch_prefix() {
    std::error_code error;
    auto base = std::filesystem::temp_directory_path(error);
    // Absolute, because supervisors and tools have different working directories.
    if (!error) base = std::filesystem::absolute(base, error);
    return (error ? "/tmp" : base.string()) + "/" + std::string(kScratchName) + make_uuid() + "-";
}

}  // namespace

std::unique_ptr<Reaper> Reaper::start(Loop& loop, const std::string& supervisor_path,
                                      StartFailure& failure) {
    const Descriptor file = open_program(supervisor_path, failure);
    if (!file) return nullptr;
    Descriptor ours, theirs;
    if (const int error = make_socket_pair(ours, theirs)) {
        failure.out_of_descriptors = is_shortage(error);
        failure.message = "cannot create a socket for the supervisors: " + error_text(error);
        return nullptr;
    }

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), SUPERVISOR_SOCKET);
    const std::string host = std::to_string(::getpid());
    char name[] = "narratoria-supervisor";
    const std::string scratch = scratch_prefix();
    char* arguments[] = {name, const_cast<char*>(host.c_str()), const_cast<char*>(scratch.c_str()),
                         nullptr};
    char* const environment[] = {nullptr};
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        failure.out_of_descriptors = is_shortage(error);
        failure.no_supervisor = !failure.out_of_descriptors && error != EAGAIN;
        failure.message = "the supervisor cannot be started: " + error_text(error) +
                          (supervisor_path.empty()
                               ? "; where programs in memory are forbidden, name the installed "
                                 "narratoria-supervisor in the engine's options"
                               : " (" + supervisor_path + ")");
        return nullptr;
    }
    Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const bool is_without_pidfd = !process && (errno == ENOSYS || errno == EPERM);
    std::unique_ptr<Reaper> reaper;
    try {
        const int lack = process ? keep_clear_of_standard_streams(process) : errno;
        if (lack != 0) throw std::system_error(lack, std::generic_category(), "no pidfd");
        reaper.reset(new Reaper(loop, std::move(ours), std::move(process)));
    } catch (const std::system_error& refusal) {
        // The reaper has no children yet. It is killed, not left to exit, so the wait is short.
        ::kill(pid, SIGKILL);
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        const int reason = refusal.code().value();
        failure.out_of_descriptors = is_shortage(reason) || reason == ENOSPC;
        failure.no_supervisor = !failure.out_of_descriptors;
        failure.message = "the supervisors cannot be watched: " + error_text(reason);
        if (is_without_pidfd) {
            failure.message +=
                "; narratoria needs Linux 5.4 or later, and a sandbox (seccomp) must allow "
                "pidfd_open";
        }
        return nullptr;
    }
    return reaper;
}

Reaper::Reaper(Loop& loop, Descriptor socket, Descriptor process)
    : socket_(std::move(socket)), process_(std::move(process)), watch_(loop) {
    watch_.start(socket_.get(), [this] { read(); });
}

Reaper::~Reaper() {
    lifetime_.end();
    watch_.stop();
    // Closing is not enough: a forked child of the host may also hold the socket.
    ::shutdown(socket_.get(), SHUT_RDWR);
    wake();
    pollfd ended{process_.get(), POLLIN, 0};
    int ready = 0;
    do {
        ready = ::poll(&ended, 1, kExitPatienceMs);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) kill();
    // The host may have reaped it first with a wait for any child.
    siginfo_t information{};
    while (::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &information, WEXITED) != 0 &&
           errno == EINTR) {
    }
}

int Reaper::start_supervisor(uint32_t id, const Descriptor& socket, const ControlGroups& groups) {
    wake();
    reaper_request request{};
    request.id = id;
    int descriptors[2] = {socket.get(), -1};
    size_t count = 1;
    if (groups.is_open()) {
        if (groups.prefix().size() >= sizeof request.prefix) return ENAMETOOLONG;
        std::memcpy(request.prefix, groups.prefix().data(), groups.prefix().size());
        descriptors[count++] = groups.folder().get();
    }
    return send_packet(socket_, {reinterpret_cast<const char*>(&request), sizeof request},
                       descriptors, count);
}

// Uses the pidfd: the host may have reaped the process, and its id may be in use again.
void Reaper::wake() const { ::syscall(SYS_pidfd_send_signal, process_.get(), SIGCONT, nullptr, 0); }

void Reaper::kill() const { ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0); }

bool Reaper::has_exited() const {
    pollfd exited{process_.get(), POLLIN, 0};
    return ::poll(&exited, 1, 0) == 1;
}

// A process that is already exiting keeps its status when it is killed.
std::optional<int> Reaper::end() const {
    kill();
    siginfo_t information{};
    int status = 0;
    while ((status = ::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &information, WEXITED)) !=
               0 &&
           errno == EINTR) {
    }
    if (status != 0 || information.si_code != CLD_EXITED) return {};
    return information.si_status;
}

void Reaper::read() {
    const Lifetime::Watch life = lifetime_.watch();
    for (;;) {
        reaper_report report{};
        const ssize_t got = ::recv(socket_.get(), &report, sizeof report, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got != static_cast<ssize_t>(sizeof report)) {
            watch_.stop();
            on_lost();
            return;
        }
        on_report({report.id, report.process, report.fate == REAPER_STOPPED, report.start_error,
                   report.left_behind});
        if (life.ended()) return;
    }
}

}  // namespace narratoria::process
