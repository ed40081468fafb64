// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/decoys.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "io/message.hpp"
#include "plugin_check/child.hpp"
#include "plugin_check/containment.hpp"

namespace narratoria::command::plugin_check {
namespace {

// The kernel's description has the flags, the count of an eventfd and the registrations of an epoll
// descriptor.
std::string state_of(int descriptor) {
    char target[256];
    const ssize_t length =
        readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), target, sizeof target);
    if (length < 0) return {};
    int unread = 0;
    ioctl(descriptor, FIONREAD, &unread);  // fails for all but pipes
    return fmt::format("{} {}\n{}", std::string_view(target, static_cast<std::size_t>(length)),
                       unread, text_of(fmt::format("/proc/self/fdinfo/{}", descriptor)));
}

void require(bool holds) {
    if (!holds) throw Failed(fmt::format("cannot create the host's files: {}", reason(errno)));
}

// In groups of their own, like the processes of a host: a signal to the trial's group spares them.
pid_t fork_decoy(const auto& run) {
    const pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        setpgid(0, 0);
        run();
        _exit(0);
    }
    setpgid(child, child);
    return child;
}

}  // namespace

Decoys* this_trials_decoys = nullptr;

Decoys::Decoys(int alive)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    int ends[2];
    require(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    read_end_ = Descriptor(ends[0]);
    write_end_ = Descriptor(ends[1]);
    require(write(write_end_.get(), "x", 1) == 1);
    for (const int one : {event_.get(), read_end_.get()}) {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.fd = one;
        require(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, one, &wanted) == 0);
    }
    running_ = fork_decoy([alive] {
        char byte;
        while (read(alive, &byte, 1) < 0 && errno == EINTR) {
        }
    });
    exited_ = fork_decoy([] {});
    siginfo_t information{};
    while (waitid(P_PID, static_cast<id_t>(exited_), &information, WEXITED | WNOWAIT) != 0) {
        require(errno == EINTR);
    }
    watched_ = {{{epoll_.get(), "an epoll descriptor", {}},
                 {event_.get(), "an eventfd", {}},
                 {read_end_.get(), "the read end of a pipe", {}},
                 {write_end_.get(), "the write end of a pipe", {}}}};
    for (Watched& one : watched_) one.state = state_of(one.number);
}

void Decoys::report_changes(TrialReport& report, std::string_view when) const {
    for (const Watched& one : watched_) {
        if (state_of(one.number) == one.state) continue;
        report.add_finding("P45", fmt::format("it closed, replaced, used or changed a descriptor "
                                              "of the host, {} ({}), {}",
                                              one.what, one.number, when));
    }
    siginfo_t information{};
    if (waitid(P_PID, static_cast<id_t>(exited_), &information, WEXITED | WNOHANG | WNOWAIT) != 0) {
        report.add_finding("P46", fmt::format("it waited for a child process of the host, whose "
                                              "exit status is lost, {}",
                                              when));
    }
    if (const std::string end = describe_end_of_decoy(running_); !end.empty()) {
        report.add_finding("P46", fmt::format("a child process of the host {} {}", end, when));
    }
}

bool Decoys::has_other_children() const {
    std::set<pid_t> all = children_of(getpid());
    all.erase(running_);
    all.erase(exited_);
    return !all.empty();
}

std::string describe_end_of_decoy(pid_t running_child) {
    siginfo_t information{};
    if (waitid(P_PID, static_cast<id_t>(running_child), &information,
               WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) {
        return "was ended, and its exit status was taken,";
    }
    if (information.si_pid == 0) return {};
    const bool is_over = information.si_code == CLD_EXITED || information.si_code == CLD_KILLED ||
                         information.si_code == CLD_DUMPED;
    return fmt::format("was {} by a signal", is_over ? "ended" : "stopped or traced");
}

}  // namespace narratoria::command::plugin_check
