// SPDX-License-Identifier: Apache-2.0
#include "process/control_groups.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/uuid.hpp"
#include "process/error_text.hpp"
#include "process/supervisor/protocol.h"

namespace narratoria::process {
namespace {

constexpr decltype(statfs::f_type) kCgroup2 = 0x63677270;
// remove_group() recurses no deeper than this: a tool may nest groups without limit.
constexpr int kDeepest = 64;

// Returns the content of a small file. On failure returns an empty string and sets `error`.
std::string read_file(const Descriptor& folder, const char* name, int& error) {
    Descriptor file(::openat(folder.get(), name, O_RDONLY | O_CLOEXEC));
    char text[4096];
    const ssize_t got = file ? ::read(file.get(), text, sizeof text) : -1;
    error = got < 0 ? errno : 0;
    return got > 0 ? std::string(text, static_cast<size_t>(got)) : std::string();
}

// Returns 0 or errno.
int write_file(int folder, const char* name, std::string_view text) {
    const Descriptor file(::openat(folder, name, O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), text.data(), text.size()) < 0) return errno;
    return 0;
}

std::vector<std::string> folders_in(int folder) {
    std::vector<std::string> names;
    // Open a new descriptor: closedir() closes it, and a duplicate would share the read position.
    const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* list = again < 0 ? nullptr : ::fdopendir(again);
    if (list == nullptr) {
        if (again >= 0) ::close(again);
        return names;
    }
    while (const dirent* entry = ::readdir(list)) {
        const std::string_view name = entry->d_name;
        if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(list);
    return names;
}

void kill_group(const Descriptor& group) {
    if (write_file(group.get(), "cgroup.kill", "1") == 0) return;
    // Linux before 5.14 has no cgroup.kill: kills one by one. The next round kills processes that
    // were forked in the meantime.
    int error = 0;
    const std::string list = read_file(group, "cgroup.procs", error);
    for (size_t at = 0, end = 0; (end = list.find('\n', at)) != std::string::npos; at = end + 1) {
        const int pid = std::atoi(list.c_str() + at);
        if (pid > 0) ::kill(pid, SIGKILL);
    }
}

// Kills the processes in the group. Returns true once the group is gone.
bool remove_group(int above, const std::string& name, int depth = kDeepest) {
    const auto removed = [&] {
        return ::unlinkat(above, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
    };
    if (removed()) return true;
    const Descriptor group(
        ::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!group || depth == 0) return false;
    kill_group(group);
    for (const std::string& inner : folders_in(group.get())) {
        remove_group(group.get(), inner, depth - 1);
    }
    return removed();
}

}  // namespace

bool names_controller(std::string_view list, std::string_view controller) {
    constexpr std::string_view kBetween = " \n";
    while (!list.empty()) {
        const size_t end = std::min(list.find_first_of(kBetween), list.size());
        if (list.substr(0, end) == controller) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

std::string describe_group_failure(uint32_t stage, int error, const std::string& path) {
    const std::string reason = error_text(error);
    switch (stage) {
        case SUPERVISOR_STAGE_GROUP:
            return "cannot create a group in the cgroup folder \"" + path + "\": " + reason +
                   (error == EACCES || error == EPERM || error == EROFS
                        ? "; the folder must belong to the user who runs this program (chown)"
                    : error == EAGAIN
                        ? "; see cgroup.max.descendants and cgroup.max.depth there and above"
                        : "");
        case SUPERVISOR_STAGE_GROUP_PROCESSES:
            return "pids.max of a group in \"" + path + "\" cannot be written: " + reason;
        case SUPERVISOR_STAGE_GROUP_MEMORY:
            return "memory.max, memory.oom.group or memory.swap.max of a group in \"" + path +
                   "\" cannot be written: " + reason;
        default: break;
    }
    std::string text = "cannot move a process into a group in \"" + path + "\": " + reason;
    if (error == EACCES || error == EPERM) {
        text +=
            "; this program (see /proc/self/cgroup) must be in a group next to or below that "
            "folder, and cgroup.procs of the lowest folder above both must belong to its user";
    } else if (error == EOPNOTSUPP) {
        text +=
            "; move the processes in the folder itself (cgroup.procs) into a group below it, or "
            "check that its cgroup.type is \"domain\"";
    }
    return text;
}

bool ControlGroups::open(const std::string& path, std::string& why) {
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Moved to 16 or above: the dup2 calls for the supervisor's fixed descriptors (protocol.h) must
    // not overwrite it.
    if (folder) folder = Descriptor(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 16));
    if (!folder) {
        const int error = errno;
        why = "the cgroup folder \"" + path + "\" cannot be opened: " + error_text(error);
        if (error == ENOENT) why += "; create it, and give it to the user who runs this program";
        return false;
    }
    struct statfs system {};
    if (::fstatfs(folder.get(), &system) != 0 || system.f_type != kCgroup2) {
        why = "\"" + path +
              "\" is not a cgroup2 folder; name one below the mount point of cgroup2 (grep cgroup2 "
              "/proc/mounts) that belongs to the user who runs this program";
        return false;
    }
    path_ = path;
    prefix_ = "narratoria-" + std::to_string(::getpid()) + "-" + make_uuid().substr(0, 8);
    folder_ = std::move(folder);
    return true;
}

bool ControlGroups::enable(Controllers wanted, std::string& why) {
    int error = 0;
    const std::string there = read_file(folder_, "cgroup.controllers", error);
    if (error != 0) {
        why = "\"" + path_ + "/cgroup.controllers\" cannot be read: " + error_text(error);
        return false;
    }
    const std::string enabled = read_file(folder_, "cgroup.subtree_control", error);
    std::string missing, more;
    const auto want = [&](bool is_wanted, const char* name) {
        if (!is_wanted) return;
        if (!names_controller(there, name))
            missing += (missing.empty() ? "" : " and ") + std::string(name);
        if (!names_controller(enabled, name))
            more += (more.empty() ? "+" : " +") + std::string(name);
    };
    want(wanted.processes, "pids");
    want(wanted.memory, "memory");
    if (!missing.empty()) {
        why = "\"" + path_ + "/cgroup.controllers\" does not list " + missing +
              "; enable it in cgroup.subtree_control of the folder above (echo \"" + more +
              "\"), or check whether the kernel uses it for cgroup v1 (/proc/cgroups)";
        return false;
    }
    if (more.empty()) return true;
    const std::string occupied =
        "; the folder must not contain processes (cgroup.procs): move them into a group below it, "
        "or name a different folder";
    // The kernel rejects processes next to limited groups for the memory controller only; this
    // check covers all controllers. The root folder, which has no cgroup.type, may contain both.
    if (::faccessat(folder_.get(), "cgroup.type", F_OK, 0) == 0 &&
        !read_file(folder_, "cgroup.procs", error).empty()) {
        why = "\"" + path_ + "\" cannot have groups with limits" + occupied;
        return false;
    }
    error = write_file(folder_.get(), "cgroup.subtree_control", more);
    if (error == 0) return true;
    why = "\"" + more + "\" cannot be written to \"" + path_ +
          "/cgroup.subtree_control\": " + error_text(error);
    if (error == EBUSY) {
        why += occupied;
    } else if (error == EACCES || error == EPERM || error == EROFS) {
        why +=
            "; the folder, its cgroup.procs and its cgroup.subtree_control must belong to the user "
            "who runs this program (chown)";
    }
    return false;
}

void ControlGroups::remove_groups(int patience_ms, uint32_t supervisor) const {
    if (!folder_) return;
    using Clock = std::chrono::steady_clock;
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(patience_ms);
    const std::string prefix =
        prefix_ + "-" + (supervisor != 0 ? std::to_string(supervisor) + "-" : std::string());
    for (;;) {
        bool all_gone = true;
        for (const std::string& name : folders_in(folder_.get())) {
            if (name.compare(0, prefix.size(), prefix) != 0) continue;
            all_gone = remove_group(folder_.get(), name) && all_gone;
        }
        if (all_gone || Clock::now() >= deadline) return;
        // A killed process leaves its group asynchronously, so removal is retried until the
        // deadline.
        ::poll(nullptr, 0, 1);
    }
}

}  // namespace narratoria::process
