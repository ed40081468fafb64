// SPDX-License-Identifier: Apache-2.0
#include "story/browser.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "io/message.hpp"
#include "output.hpp"

namespace narratoria::command::story {
namespace {

constexpr std::string_view kInstead = "open the address yourself";

// The browser outlives this process, so start it outside the process group that Ctrl-C ends and
// with default signal handling.
int start(const char* program, char* const arguments[], pid_t& process) {
    posix_spawn_file_actions_t silent;
    posix_spawn_file_actions_init(&silent);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        posix_spawn_file_actions_addopen(&silent, stream, "/dev/null", O_RDWR, 0);
    }
    posix_spawnattr_t own;
    posix_spawnattr_init(&own);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&own, &all);
    posix_spawnattr_setsigmask(&own, &none);
    posix_spawnattr_setflags(&own, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETSIGMASK));
    const int error = posix_spawnp(&process, program, &silent, &own, arguments, environ);
    posix_spawnattr_destroy(&own);
    posix_spawn_file_actions_destroy(&silent);
    return error;
}

}  // namespace

Browser::~Browser() {
    if (!file_.empty()) ::unlink(file_.c_str());
}

// The file's path, or nothing and errno.
std::string Browser::make_file(std::string_view address) {
    std::string path;
    int file = -1;
    for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR", ""}) {
        const char* folder = *name != '\0' ? std::getenv(name) : "/tmp";
        if (folder == nullptr || *folder != '/') continue;
        path = fmt::format("{}/narratoria-XXXXXX.html", folder);
        // Only its owner reads it.
        file = ::mkostemps(path.data(), 5, O_CLOEXEC);
        if (file >= 0) break;
    }
    if (file < 0) return {};
    const Descriptor closes(file);
    file_ = path;
    const bool is_whole = terminal::write_all(
        file, fmt::format("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
                          "<meta name=\"referrer\" content=\"no-referrer\">"
                          "<title>Narratoria</title>"
                          "<meta http-equiv=\"refresh\" content=\"0;url={0}\">"
                          "<p><a href=\"{0}\">Open the story</a></p></html>\n",
                          address));
    return is_whole ? path : std::string();
}

void Browser::open(std::string_view address) {
    std::string file = make_file(address);
    if (file.empty()) {
        complain(
            fmt::format("no browser was opened: cannot write the file with the address ({}); {}",
                        reason(errno), kInstead));
        return;
    }
    std::string program = "xdg-open";
    char* const arguments[] = {program.data(), file.data(), nullptr};
    if (const int error = start(program.c_str(), arguments, process_); error != 0) {
        process_ = -1;
        complain(fmt::format("no browser was opened: cannot start xdg-open ({}); {}", reason(error),
                             kInstead));
        return;
    }
    // Without pidfd support, xdg-open stays a zombie until this process ends.
    ended_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
}

void Browser::reap() {
    int status = 0;
    if (process_ < 0 || ::waitpid(process_, &status, WNOHANG) == 0) return;
    process_ = -1;
    ended_.reset();
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        complain(fmt::format("no browser was opened: xdg-open exited with {}; {}",
                             WEXITSTATUS(status), kInstead));
    }
}

}  // namespace narratoria::command::story
