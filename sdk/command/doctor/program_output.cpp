// SPDX-License-Identifier: Apache-2.0
#include "doctor/program_output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "io/file.hpp"

extern char** environ;

namespace narratoria::command::doctor {
namespace {

constexpr std::chrono::seconds kTimeout(10);
constexpr std::size_t kMaximumText = 64 * 1024;

bool is_program(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(path.c_str(), X_OK) == 0;
}

// Reads until end of file. Returns false if the deadline passes first.
bool read_all(int descriptor, std::string& text) {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        pollfd ready{descriptor, POLLIN, 0};
        if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
        char piece[4096];
        const ssize_t got = read(descriptor, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        if (text.size() < kMaximumText) text.append(piece, static_cast<std::size_t>(got));
    }
}

}  // namespace

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return is_program(name) ? name : std::string();
    const char* const path = std::getenv("PATH");
    std::string_view left = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    while (!left.empty()) {
        const std::string folder(left.substr(0, left.find(':')));
        left.remove_prefix(std::min(left.size(), folder.size() + 1));
        std::string file = (folder.empty() ? "." : folder) + "/" + name;
        if (is_program(file)) return file;
    }
    return {};
}

ProgramOutput output_of(std::vector<std::string> arguments) {
    ProgramOutput result;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        result.text = std::strerror(errno);
        return result;
    }
    Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    std::vector<char*> words;
    for (std::string& each : arguments) words.push_back(each.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A process group of its own, so that its children are killed with it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t process = 0;
    const int failure =
        posix_spawn(&process, words.front(), &actions, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    writer.reset();
    if (failure != 0) {
        result.text = std::strerror(failure);
        return result;
    }
    const bool is_over = read_all(reader.get(), result.text);
    kill(-process, SIGKILL);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    // SIGKILL was sent above, to a program that closed its output but had not exited.
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.ok = is_over && (signal == SIGKILL || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    if (!is_over) result.text = "it did not respond in time";
    else if (signal != 0 && signal != SIGKILL) {
        result.text = fmt::format("it was killed by signal {} ({})", signal, strsignal(signal));
    }
    while (result.text.ends_with('\n')) result.text.pop_back();
    return result;
}

}  // namespace narratoria::command::doctor
