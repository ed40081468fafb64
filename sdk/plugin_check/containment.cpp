// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/containment.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "io/children.hpp"
#include "io/file.hpp"
#include "plugin_check/decoys.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Address space beyond the memory limit: thread stacks, and reservations of allocators and
// runtimes.
constexpr std::uint64_t kReservedAddresses = std::uint64_t{1} << 29;
// Memory counts as used up when less than this is left: a failed allocation may be this large.
constexpr std::uint64_t kLargePiece = std::uint64_t{128} << 20;
// RLIMIT_NPROC counts all tasks of the user. Other programs may start this many during a trial.
constexpr rlim_t kRoomForOthers = 192;
// Time for stopping before killing begins. Each pass finds processes started during the last.
constexpr std::chrono::seconds kStopping{2};

std::vector<std::string> entries_of(const std::string& folder) {
    std::vector<std::string> names;
    DIR* directory = opendir(folder.c_str());
    if (directory == nullptr) return names;
    while (const dirent* entry = readdir(directory)) {
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    closedir(directory);
    return names;
}

void for_each_number(const std::string& text, const auto& take) {
    const char* at = text.c_str();
    for (;;) {
        char* end = nullptr;
        const long number = std::strtol(at, &end, 10);
        if (end == at) return;
        if (number > 0) take(static_cast<pid_t>(number));
        at = end;
    }
}

std::set<pid_t> descendants_of(pid_t root) {
    std::set<pid_t> found;
    std::vector<pid_t> open{root};
    while (!open.empty()) {
        const pid_t one = open.back();
        open.pop_back();
        for (const pid_t child : children_of(one)) {
            if (found.insert(child).second) open.push_back(child);
        }
    }
    return found;
}

// The user's processes and their threads.
rlim_t tasks_of(uid_t user) {
    rlim_t count = 0;
    for (const std::string& name : entries_of("/proc")) {
        struct stat information {};
        const std::string process = "/proc/" + name;
        if (name[0] < '0' || name[0] > '9' || stat(process.c_str(), &information) != 0 ||
            information.st_uid != user) {
            continue;
        }
        count += entries_of(process + "/task").size();
    }
    return count;
}

void limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
    rlimit now{};
    if (getrlimit(resource, &now) != 0) return;
    const rlimit wanted{std::min(soft, now.rlim_max), std::min(hard, now.rlim_max)};
    setrlimit(resource, &wanted);
}

struct MemoryUse {
    rlim_t addresses = 0;  // bytes
    rlim_t data = 0;
};

// Async-signal-safe.
MemoryUse memory_use() noexcept {
    // "size resident shared text lib data dt", in pages.
    char text[256];
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? read(file, text, sizeof text) : -1;
    if (file >= 0) close(file);
    rlim_t numbers[7] = {};
    std::size_t field = 0;
    for (ssize_t at = 0; at < got && field < 7; ++at) {
        if (text[at] == ' ') ++field;
        if (text[at] < '0' || text[at] > '9') continue;
        numbers[field] = numbers[field] * 10 + static_cast<rlim_t>(text[at] - '0');
    }
    const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    return {numbers[0] * page, numbers[5] * page};
}

bool is_nearly(__rlimit_resource resource, rlim_t used) noexcept {
    rlimit now{};
    return getrlimit(resource, &now) == 0 && now.rlim_cur != RLIM_INFINITY &&
           used + kLargePiece >= now.rlim_cur;
}

// RLIMIT_NPROC counts the tasks of the real user and does not apply to root. So a trial that runs
// as root takes an unused real user id and drops the capabilities that exempt it. It keeps the
// effective user, which controls file access. Returns false if this process is not root, or if the
// user namespace does not map the id.
bool switch_to_unused_user() {
    if (geteuid() != 0) return false;
    const auto number = static_cast<uid_t>(getpid());
    constexpr auto kSame = static_cast<uid_t>(-1);
    if (setresuid(1'900'000'000u + number, kSame, kSame) != 0 &&
        setresuid(60'000u + number % 5'000u, kSame, kSame) != 0) {
        return false;
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (syscall(SYS_capget, &header, data) != 0) return false;
    for (const auto capability : {unsigned{CAP_SYS_ADMIN}, unsigned{CAP_SYS_RESOURCE}}) {
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
        const std::uint32_t others = ~(std::uint32_t{1} << (capability % 32));
        data[capability / 32].effective &= others;
        data[capability / 32].permitted &= others;
        data[capability / 32].inheritable &= others;
    }
    return syscall(SYS_capset, &header, data) == 0;
}

}  // namespace

std::string text_of(const std::string& path) {
    std::string text;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return text;
    char piece[4096];
    for (ssize_t got; (got = read(file.get(), piece, sizeof piece)) > 0;) {
        text.append(piece, static_cast<std::size_t>(got));
    }
    return text;
}

std::set<pid_t> children_of(pid_t process) {
    std::set<pid_t> found;
    const std::string tasks = fmt::format("/proc/{}/task", process);
    for (const std::string& task : entries_of(tasks)) {
        for_each_number(text_of(fmt::format("{}/{}/children", tasks, task)),
                        [&](pid_t child) { found.insert(child); });
    }
    return found;
}

// ---------------------------------------------------------------- limits

void limit_this_process() {
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_FSIZE, kMaxTrialFile, kMaxTrialFile);
    // The soft limit raises SIGXCPU, the hard limit SIGKILL.
    limit(RLIMIT_CPU, kMaxTrialProcessorSeconds, kMaxTrialProcessorSeconds + 1);
    // The shadow memory of a sanitizer is larger than any limit.
    if (!has_sanitizers_allocator()) {
        const rlim_t all = memory_use().addresses + kMaxTrialMemory + kReservedAddresses;
        limit(RLIMIT_DATA, kMaxTrialMemory, kMaxTrialMemory);
        limit(RLIMIT_AS, all, all);
    }
    rlim_t tasks = kMaxTrialTasks + kDecoyProcesses;
    if (!switch_to_unused_user()) tasks += tasks_of(getuid()) + kRoomForOthers;
    limit(RLIMIT_NPROC, tasks, tasks);
}

bool memory_is_used_up() noexcept {
    const MemoryUse use = memory_use();
    return is_nearly(RLIMIT_DATA, use.data) || is_nearly(RLIMIT_AS, use.addresses);
}

TrialUse use_of(pid_t trial) {
    return {descendants_of(trial).size(), entries_of(fmt::format("/proc/{}/task", trial)).size()};
}

std::string describe_process_state(pid_t process) {
    constexpr std::string_view kState = "\nState:\t";
    const std::string status = text_of(fmt::format("/proc/{}/status", process));
    const std::size_t at = status.find(kState);
    if (at == std::string::npos) return "ended";
    const std::size_t begin = at + kState.size();
    return "state " + status.substr(begin, status.find('\n', begin) - begin);
}

bool has_seccomp(pid_t process) {
    const std::string status = text_of(fmt::format("/proc/{}/status", process));
    return status.find("\nSeccomp:") != std::string::npos &&
           status.find("\nSeccomp:\t0") == std::string::npos;
}

std::string excess(const TrialUse& use) {
    if (use.processes > kMaxTrialProcesses + kDecoyProcesses) {
        return fmt::format("started more than {} processes", kMaxTrialProcesses);
    }
    if (use.threads > kMaxTrialThreads) {
        return fmt::format("started more than {} threads", kMaxTrialThreads);
    }
    return {};
}

void end_trial(pid_t trial) {
    const auto deadline = std::chrono::steady_clock::now() + kStopping;
    kill(-trial, SIGSTOP);
    kill(trial, SIGSTOP);
    // This process is the subreaper, so its descendants include all orphans of the trial.
    std::set<pid_t> stopped;
    for (bool found_more = true; found_more && std::chrono::steady_clock::now() < deadline;) {
        found_more = false;
        for (const pid_t one : descendants_of(getpid())) {
            if (!stopped.insert(one).second) continue;
            found_more = true;
            kill(one, SIGSTOP);
        }
    }
    kill(-trial, SIGKILL);
    for (const pid_t one : stopped) kill(one, SIGKILL);
}

}  // namespace narratoria::command::plugin_check
