// SPDX-License-Identifier: Apache-2.0
#include "process/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/descriptor.hpp"

namespace narratoria::process {
namespace {

struct Stat {
    bool is_supervisor = false;
    char state = '\0';  // '\0': there is no such process
    pid_t parent = 0;
};

// Parses /proc/PID/stat: "pid (name) state parent …". The name may contain any character, including
// parentheses. Does not allocate, because destructors call it.
Stat stat_of(pid_t process) {
    char path[40];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    char line[512];
    const ssize_t got = file ? ::read(file.get(), line, sizeof line - 1) : 0;
    if (got <= 0) return {};
    line[got] = '\0';
    const char* const begin = std::strchr(line, '(');
    const char* const end = std::strrchr(line, ')');
    if (begin == nullptr || end == nullptr || end[1] == '\0') return {};
    const std::string_view name(begin + 1, static_cast<size_t>(end - begin - 1));
    return {name == "narratoria-sup", end[2], static_cast<pid_t>(std::atoi(end + 3))};
}

}  // namespace

SupervisorState state_of_supervisor(pid_t process) {
    const Stat stat = stat_of(process);
    if (!stat.is_supervisor) return SupervisorState::Gone;
    switch (stat.state) {
        case 'Z':
        case 'X': return SupervisorState::Gone;
        case 'T': return SupervisorState::Stopped;
        case 't': return SupervisorState::Traced;
        default: return SupervisorState::Runs;
    }
}

bool kill_descendants(pid_t process) {
    std::unordered_multimap<pid_t, pid_t> living;  // by parent
    DIR* const folder = ::opendir("/proc");
    while (const dirent* entry = folder != nullptr ? ::readdir(folder) : nullptr) {
        const pid_t pid = static_cast<pid_t>(std::atoi(entry->d_name));
        if (pid <= 0) continue;
        const Stat stat = stat_of(pid);
        if (stat.state != '\0' && stat.state != 'Z' && stat.state != 'X') {
            living.emplace(stat.parent, pid);
        }
    }
    if (folder != nullptr) ::closedir(folder);
    std::vector<pid_t> parents{process};
    for (size_t at = 0; at < parents.size(); ++at) {
        const auto [begin, end] = living.equal_range(parents[at]);
        for (auto child = begin; child != end; ++child) {
            ::kill(child->second, SIGKILL);
            parents.push_back(child->second);
        }
    }
    return parents.size() > 1;
}

}  // namespace narratoria::process
