// SPDX-License-Identifier: Apache-2.0
#include "io/guard.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "io/children.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"

namespace narratoria::command {
namespace {

// The interval at which the child is polled. A signal ends the pause early.
constexpr timespec kRound{0, 20'000'000};

[[noreturn]] void supervise(pid_t child) {
    int forwarded = 0;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (const int signal = interruption::received(); signal != forwarded) {
            forwarded = signal;
            kill(child, signal);
        }
        nanosleep(&kRound, nullptr);
    }
    end_all_children();
    if (WIFSIGNALED(status) && WTERMSIG(status) != forwarded) {
        complain(
            fmt::format("the check was killed by signal {} ({}) before it could report; the tool "
                        "may have sent the signal, for example to its parent process",
                        WTERMSIG(status), strsignal(WTERMSIG(status))));
    }
    _exit(WIFSIGNALED(status) ? kExitSignal + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

void run_under_guard() {
    adopt_orphans();
    std::fflush(nullptr);
    const pid_t guard = getpid();
    const pid_t child = fork();
    if (child < 0) throw Failed("cannot start the check: " + reason(errno));
    if (child > 0) supervise(child);
    adopt_orphans();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // The guard may have exited before prctl took effect.
    if (getppid() != guard) _exit(kExitFailure);
}

}  // namespace narratoria::command
