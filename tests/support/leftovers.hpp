// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds what a test has left behind: descriptors, processes, files.

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace narratoria::hostile {

// True if the process has exited, also if it is a zombie that its parent has not reaped yet.
inline bool is_dead(const std::string& number) {
    std::ifstream in("/proc/" + number + "/stat");
    std::string text;
    // Reading fails if the process exits meanwhile; directly from the buffer it would throw.
    std::getline(in, text);
    return text.empty() || text.find(") Z ") != std::string::npos;
}

// The open descriptors of this process and their targets.
inline std::map<int, std::string> open_descriptors() {
    std::map<int, std::string> found;
    DIR* folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) {
        ADD_FAILURE() << "/proc/self/fd cannot be read";
        return found;
    }
    while (const dirent* entry = ::readdir(folder)) {
        const int number = std::atoi(entry->d_name);
        if (entry->d_name[0] == '.' || number == ::dirfd(folder)) continue;
        char target[PATH_MAX];
        const ssize_t size = ::readlinkat(::dirfd(folder), entry->d_name, target, sizeof target);
        found[number] = size > 0 ? std::string(target, static_cast<size_t>(size)) : "?";
    }
    ::closedir(folder);
    return found;
}

struct ProcessFacts {
    int pid = 0;
    int parent = 0;
    char state = '?';
    std::string name;
};

inline std::vector<ProcessFacts> all_processes() {
    std::vector<ProcessFacts> found;
    DIR* folder = ::opendir("/proc");
    while (const dirent* entry = folder != nullptr ? ::readdir(folder) : nullptr) {
        ProcessFacts facts;
        facts.pid = std::atoi(entry->d_name);
        if (facts.pid <= 0) continue;
        std::ifstream file("/proc/" + std::string(entry->d_name) + "/stat");
        std::stringstream all;
        all << file.rdbuf();
        const std::string line = all.str();
        // pid (name) state parent …
        const size_t open = line.find('('), close = line.rfind(')');
        if (open == std::string::npos || close == std::string::npos) continue;
        facts.name = line.substr(open + 1, close - open - 1);
        facts.state = line[close + 2];
        facts.parent = std::atoi(line.c_str() + close + 4);
        found.push_back(facts);
    }
    if (folder != nullptr) ::closedir(folder);
    return found;
}

// All descendants of this process, including zombies.
inline std::vector<ProcessFacts> descendants() {
    const std::vector<ProcessFacts> all = all_processes();
    std::set<int> ours{static_cast<int>(::getpid())};
    std::vector<ProcessFacts> found;
    for (bool grew = true; grew;) {
        grew = false;
        for (const ProcessFacts& each : all) {
            if (ours.count(each.parent) == 0 || !ours.insert(each.pid).second) continue;
            found.push_back(each);
            grew = true;
        }
    }
    return found;
}

inline std::string describe(const std::vector<ProcessFacts>& processes) {
    std::string text;
    for (const ProcessFacts& each : processes) {
        text += std::to_string(each.pid) + " (" + each.name + ") " + each.state + ", child of " +
                std::to_string(each.parent) + "\n";
    }
    return text;
}

// Sends a signal only to a descendant of this process. A pid that a failed test left at 0 or -1
// would signal other processes of the machine.
inline bool signal_descendant(int pid, int signal) {
    for (const ProcessFacts& each : descendants()) {
        if (pid > 1 && each.pid == pid) return ::kill(pid, signal) == 0;
    }
    ADD_FAILURE() << pid << " is not a descendant of this test; no signal was sent";
    return false;
}

// The supervisors that wait for work.
inline std::vector<ProcessFacts> idle_supervisors() {
    std::vector<ProcessFacts> found;
    for (const ProcessFacts& each : descendants()) {
        if (each.name == "narratoria-sup" && each.state != 'Z') found.push_back(each);
    }
    return found;
}

// A supervisor, or the reaper that is the parent of an engine's supervisors.
inline bool is_of_the_library(const ProcessFacts& process) {
    return (process.name == "narratoria-sup" || process.name == "narratoria-reap") &&
           process.state != 'Z';
}

inline void expect_only_supervisors() {
    for (const ProcessFacts& each : descendants()) {
        EXPECT_TRUE(is_of_the_library(each)) << "left over: " << describe({each});
    }
}

// Expects no children, not even zombies. This process is a subreaper, so orphans are its children.
inline void expect_no_children() {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
    EXPECT_TRUE(pid < 0 && errno == ECHILD)
        << (pid > 0 ? "a zombie was left: " + std::to_string(pid) : "left over:") << "\n"
        << describe(descendants());
}

// A folder for one test. Files that are in it at the end are leftovers.
class TemporaryFolder {
public:
    TemporaryFolder() {
        char name[] = "/tmp/narratoria-test-XXXXXX";
        path_ = ::mkdtemp(name) != nullptr ? name : "";
        if (path_.empty()) ADD_FAILURE() << "cannot make a temporary folder";
    }
    ~TemporaryFolder() {
        for (const std::string& file : files()) ::unlink((path_ + "/" + file).c_str());
        ::rmdir(path_.c_str());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::vector<std::string> files() const {
        std::vector<std::string> found;
        DIR* folder = ::opendir(path_.c_str());
        while (const dirent* entry = folder != nullptr ? ::readdir(folder) : nullptr) {
            const std::string name = entry->d_name;
            if (name != "." && name != "..") found.push_back(name);
        }
        if (folder != nullptr) ::closedir(folder);
        return found;
    }

private:
    std::string path_;
};

}  // namespace narratoria::hostile
