// SPDX-License-Identifier: Apache-2.0
#include "tool_check/observed_run.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <initializer_list>

#include "display.hpp"
#include "io/children.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command::tool_check {
namespace {

using Clock = std::chrono::steady_clock;

// Limits of the output: the judge keeps several copies in memory.
constexpr std::size_t kMaxOutput = std::size_t{16} << 20;
constexpr std::ptrdiff_t kMaxLines = 100'000;
constexpr std::size_t kMaxDiagnostics = 64 * 1024;
// Seconds to wait for child processes: the other members of a pipeline end shortly after the last.
constexpr double kDrain = 0.25;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The environment variables that the runtime passes to tools.
std::vector<char*> tool_environment() {
    constexpr std::string_view kNames[] = {"PATH=",   "HOME=",        "USER=",
                                           "LANG=",   "TZ=",          "LC_",
                                           "TMPDIR=", "VIRTUAL_ENV=", "NARRATORIA_OUTPUT_DIR="};
    std::vector<char*> kept;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const bool wanted =
            std::any_of(std::begin(kNames), std::end(kNames),
                        [&](std::string_view name) { return text.starts_with(name); });
        if (wanted) kept.push_back(*variable);
    }
    kept.push_back(nullptr);
    return kept;
}

struct Pipe {
    Descriptor reader;
    Descriptor writer;
};

Pipe open_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        throw Failed(fmt::format("cannot create a pipe for the tool: {}", reason(errno)));
    }
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void make_nonblocking(const Descriptor& descriptor) {
    fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

class Run {
public:
    explicit Run(const ObservedRunOptions& options) : options_(options) {}

    ObservedRun observe() {
        if (!start()) return std::move(run_);
        while (!exited_) step();
        drain();
        find_left_behind();
        end_all_children();
        return std::move(run_);
    }

private:
    bool start();
    void step();
    void write_input();
    // False at the end of the stream.
    bool read_output();
    bool read_diagnostics();
    void look_for_done();
    void terminate(bool out_of_time);
    void collect_exit();
    void drain();
    void find_left_behind();
    double next_deadline() const;

    const ObservedRunOptions& options_;
    ObservedRun run_;
    pid_t process_ = -1;
    Clock::time_point began_;
    std::optional<Clock::time_point> done_at_;
    std::optional<Clock::time_point> terminated_at_;
    Descriptor input_;
    Descriptor output_;
    Descriptor diagnostics_;
    Descriptor exit_;
    std::size_t written_ = 0;
    std::size_t searched_ = 0;
    std::ptrdiff_t lines_ = 0;
    bool exited_ = false;
};

bool Run::start() {
    Pipe input = open_pipe();
    Pipe output = open_pipe();
    Pipe diagnostics = open_pipe();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.reader.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.writer.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, diagnostics.writer.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(
        &attributes,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
    std::vector<char*> environment = tool_environment();
    std::string path = options_.path;
    char* arguments[] = {path.data(), nullptr};
    began_ = Clock::now();
    run_.start_error =
        posix_spawn(&process_, path.c_str(), &actions, &attributes, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (run_.start_error != 0) return false;
    input_ = std::move(input.writer);
    output_ = std::move(output.reader);
    diagnostics_ = std::move(diagnostics.reader);
    make_nonblocking(input_);
    make_nonblocking(output_);
    make_nonblocking(diagnostics_);
    exit_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process_, 0u)));
    if (options_.input.empty()) input_.reset();
    return true;
}

double Run::next_deadline() const {
    if (terminated_at_) return options_.grace - since(*terminated_at_);
    double wait = options_.time_limit - since(began_);
    if (options_.terminate_after) wait = std::min(wait, *options_.terminate_after - since(began_));
    if (done_at_) wait = std::min(wait, options_.grace - since(*done_at_));
    return wait;
}

void Run::step() {
    pollfd waiting[] = {{input_.get(), POLLOUT, 0},
                        {output_.get(), POLLIN, 0},
                        {diagnostics_.get(), POLLIN, 0},
                        {exit_.get(), POLLIN, 0},
                        {interruption::descriptor(), POLLIN, 0}};
    // Without a pidfd (old kernels), poll for the exit.
    const double most = exit_ ? 3600 : 0.02;
    const double wait = std::clamp(next_deadline(), 0.0, most);
    poll(waiting, 5, static_cast<int>(wait * 1000) + 1);
    if (const int signal = interruption::received(); signal != 0) {
        kill(process_, SIGKILL);
        kill(-process_, SIGKILL);
        end_all_children();
        throw Interrupted{signal};
    }
    if (waiting[0].revents != 0) write_input();
    if (waiting[1].revents != 0 && !read_output()) output_.reset();
    if (waiting[2].revents != 0 && !read_diagnostics()) diagnostics_.reset();
    collect_exit();
    if (exited_) return;
    if (terminated_at_) {
        if (since(*terminated_at_) >= options_.grace && !run_.ignored_sigterm) {
            run_.ignored_sigterm = true;
            kill(process_, SIGKILL);
            kill(-process_, SIGKILL);
        }
    } else if (since(began_) >= options_.time_limit) {
        terminate(true);
    } else if (done_at_ && since(*done_at_) >= options_.grace) {
        terminate(false);
    } else if (options_.terminate_after && since(began_) >= *options_.terminate_after) {
        terminate(false);
    }
}

void Run::write_input() {
    while (written_ < options_.input.size()) {
        const ssize_t written =
            write(input_.get(), options_.input.data() + written_, options_.input.size() - written_);
        if (written < 0) {
            if (errno == EAGAIN || errno == EINTR) return;
            break;  // the tool has closed its input, which is allowed
        }
        written_ += static_cast<std::size_t>(written);
    }
    input_.reset();
}

bool Run::read_output() {
    for (;;) {
        char piece[64 * 1024];
        const ssize_t got = read(output_.get(), piece, sizeof piece);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (run_.output.size() < kMaxOutput && lines_ < kMaxLines) {
            run_.output.append(piece, static_cast<std::size_t>(got));
            lines_ += std::count(piece, piece + got, '\n');
            look_for_done();
        } else {
            run_.output_cut = true;
            if (!terminated_at_) terminate(false);
            return true;
        }
    }
}

bool Run::read_diagnostics() {
    for (;;) {
        char piece[64 * 1024];
        const ssize_t got = read(diagnostics_.get(), piece, sizeof piece);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        run_.diagnostics.append(piece, static_cast<std::size_t>(got));
        if (run_.diagnostics.size() > 2 * kMaxDiagnostics) {
            run_.diagnostics.erase(0, run_.diagnostics.size() - kMaxDiagnostics);
        }
    }
}

void Run::look_for_done() {
    while (!done_at_) {
        const std::size_t end = run_.output.find('\n', searched_);
        if (end == std::string::npos) return;
        const std::string_view line(run_.output.data() + searched_, end - searched_);
        searched_ = end + 1;
        if (line.find("done") == std::string_view::npos) continue;
        if (json::text(json::read(line), "type") == "done") done_at_ = Clock::now();
    }
}

void Run::terminate(bool out_of_time) {
    run_.out_of_time = out_of_time;
    run_.ended_by_us = true;
    terminated_at_ = Clock::now();
    kill(process_, SIGTERM);
    kill(-process_, SIGTERM);
}

void Run::collect_exit() {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) != process_) return;
    exited_ = true;
    run_.wait_status = status;
    run_.seconds = since(began_);
    if (terminated_at_) run_.seconds_after_sigterm = since(*terminated_at_);
}

void Run::drain() {
    // The tool has exited, so its output is in the pipe. Later output is from its children.
    if (output_) read_output();
    if (diagnostics_) read_diagnostics();
    if (done_at_) {
        const double total = std::chrono::duration<double>(*done_at_ - began_).count();
        run_.seconds_after_done = std::max(0.0, run_.seconds - total);
    }
}

void Run::find_left_behind() {
    const Clock::time_point ended = Clock::now();
    for (;;) {
        reap_ended_children();
        if (waitpid(-1, nullptr, WNOHANG) < 0) return;
        if (since(ended) >= kDrain) break;
        const timespec moment{0, 5'000'000};
        nanosleep(&moment, nullptr);
    }
    for (const auto& [process, name] : living_children()) {
        run_.left_behind.push_back(fmt::format("{} (process {})", printable(name), process));
    }
}

}  // namespace

ObservedRun observe_run(const ObservedRunOptions& options) { return Run(options).observe(); }

}  // namespace narratoria::command::tool_check
