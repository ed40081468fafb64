// SPDX-License-Identifier: Apache-2.0
#include "io/children.hpp"

#include <dirent.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "io/file.hpp"
#include "io/message.hpp"

namespace narratoria::command {

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::vector<Child> living_children() {
    std::vector<Child> children;
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return children;
    while (const dirent* entry = readdir(processes)) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        const std::optional<std::string> status = [&]() -> std::optional<std::string> {
            try {
                return read_document_if_there(fmt::format("/proc/{}/stat", entry->d_name),
                                              "status");
            } catch (const Refused&) {
                return std::nullopt;  // it has ended
            }
        }();
        if (!status) continue;
        // "pid (name) state parent …": the name may contain any character, including parentheses.
        const std::size_t open = status->find('(');
        const std::size_t close = status->rfind(')');
        if (open == std::string::npos || close == std::string::npos) continue;
        char state = 0;
        int parent = 0;
        if (sscanf(status->c_str() + close + 1, " %c %d", &state, &parent) != 2) continue;
        if (parent != getpid() || state == 'Z' || state == 'X') continue;
        children.push_back({static_cast<pid_t>(std::atoi(entry->d_name)),
                            status->substr(open + 1, close - open - 1)});
    }
    closedir(processes);
    return children;
}

void reap_ended_children() {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

// Killing a child may orphan its children, which become children of this process. So it repeats
// until none are left. Gives up after 5 s, because the kernel may be unable to end a child.
void end_all_children() {
    reap_ended_children();
    if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    while (Clock::now() - began < std::chrono::seconds(5)) {
        reap_ended_children();
        const std::vector<Child> children = living_children();
        if (children.empty()) {
            if (waitpid(-1, nullptr, WNOHANG) < 0) return;
            const timespec moment{0, 1'000'000};
            nanosleep(&moment, nullptr);
            continue;
        }
        for (const Child& child : children) kill(child.process, SIGKILL);
        const timespec moment{0, 1'000'000};
        nanosleep(&moment, nullptr);
    }
}

std::string describe_wait_status(int wait_status) {
    if (WIFEXITED(wait_status)) return fmt::format("exit status {}", WEXITSTATUS(wait_status));
    const int signal = WTERMSIG(wait_status);
    const char* name = sigdescr_np(signal);
    return fmt::format("signal {} ({})", signal, name != nullptr ? name : "unknown");
}

}  // namespace narratoria::command
