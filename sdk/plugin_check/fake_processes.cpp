// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/fake_processes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace narratoria::command::plugin_check {
namespace {

constexpr std::size_t kMaxWaiting = std::size_t{64} << 20;

std::int64_t now_ms() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

struct Pair {
    Descriptor ours, theirs;
};

// Sockets rather than pipes: MSG_NOSIGNAL prevents SIGPIPE.
bool make_pair(Pair& pair) {
    int both[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) return false;
    pair.ours = Descriptor(both[0]);
    pair.theirs = Descriptor(both[1]);
    return fcntl(both[0], F_SETFL, O_NONBLOCK) == 0;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace

bool FakeProcesses::start(std::uint64_t handle, std::vector<std::string> arguments,
                          std::vector<std::string> environment, const std::string& folder,
                          const nar_process_events& events, void* user, std::string& why) {
    Pair input, output, diagnostics;
    if (!make_pair(input) || !make_pair(output) || !make_pair(diagnostics)) {
        why = std::string("cannot create pipes: ") + std::strerror(errno);
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int theirs[] = {input.theirs.get(), output.theirs.get(), diagnostics.theirs.get()};
    for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
    One one;
    const int error = posix_spawnp(&one.pid, arguments.front().c_str(), &actions, &attributes,
                                   argv.data(), envp.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        why = "\"" + arguments.front() + "\" cannot be started: " + std::strerror(error);
        return false;
    }
    one.input = std::move(input.ours);
    one.output = std::move(output.ours);
    one.diagnostics = std::move(diagnostics.ours);
    one.events = events;
    one.user = user;
    all_.emplace(handle, std::move(one));
    return true;
}

FakeProcesses::One* FakeProcesses::find(std::uint64_t handle) {
    const auto found = all_.find(handle);
    return found != all_.end() ? &found->second : nullptr;
}

nar_status FakeProcesses::write(std::uint64_t handle, std::string_view bytes) {
    One* const one = find(handle);
    if (one == nullptr || !one->input || one->closes_input) return NAR_GONE;
    if (!one->unsent.empty() && one->unsent.size() + bytes.size() > kMaxWaiting) {
        one->was_refused = true;
        return NAR_BUSY;
    }
    one->unsent += bytes;
    return NAR_OK;
}

nar_status FakeProcesses::close_input(std::uint64_t handle) {
    One* const one = find(handle);
    if (one == nullptr || !one->input || one->closes_input) return NAR_GONE;
    one->closes_input = true;
    if (one->unsent.empty()) one->input.reset();
    return NAR_OK;
}

nar_status FakeProcesses::terminate(std::uint64_t handle, std::uint32_t grace_ms) {
    One* const one = find(handle);
    if (one == nullptr) return NAR_GONE;
    one->kill_at_ms = now_ms() + grace_ms;
    kill(-one->pid, grace_ms == 0 ? SIGKILL : SIGTERM);
    return NAR_OK;
}

nar_status FakeProcesses::release(std::uint64_t handle) {
    One* const one = find(handle);
    if (one == nullptr) return NAR_GONE;
    kill_group(*one);
    all_.erase(handle);
    return NAR_OK;
}

void FakeProcesses::kill_group(One& one) {
    kill(-one.pid, SIGKILL);
    while (waitpid(one.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void FakeProcesses::end_all() {
    for (auto& [handle, one] : all_) kill_group(one);
    all_.clear();
}

void FakeProcesses::add_to(std::vector<pollfd>& waiting) const {
    for (const auto& [handle, one] : all_) {
        // poll(2) ignores a negative descriptor.
        if (!one.unsent.empty()) waiting.push_back({one.input.get(), POLLOUT, 0});
        waiting.push_back({one.output.get(), POLLIN, 0});
        waiting.push_back({one.diagnostics.get(), POLLIN, 0});
    }
}

void FakeProcesses::send(std::uint64_t handle, const Call& call) {
    One* one = find(handle);
    if (one == nullptr || one->unsent.empty() || !one->input) return;
    const ssize_t sent =
        ::send(one->input.get(), one->unsent.data(), one->unsent.size(), MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno == EAGAIN || errno == EINTR) return;
        one->unsent.clear();
        one->input.reset();
        if (one->events.on_closed == nullptr) return;
        call("a process's on_closed",
             [&] { one->events.on_closed(one->user, handle, NAR_STREAM_INPUT); });
        return;
    }
    one->unsent.erase(0, static_cast<std::size_t>(sent));
    if (!one->unsent.empty()) return;
    if (one->closes_input) one->input.reset();
    if (!std::exchange(one->was_refused, false) || one->events.on_drained == nullptr) return;
    call("a process's on_drained", [&] { one->events.on_drained(one->user, handle); });
}

void FakeProcesses::receive(std::uint64_t handle, bool is_output, const Call& call) {
    char bytes[65536];
    for (;;) {
        One* const one = find(handle);
        if (one == nullptr) return;
        Descriptor& from = is_output ? one->output : one->diagnostics;
        const auto tell = is_output ? one->events.on_output : one->events.on_diagnostics;
        void* const user = one->user;
        const auto on_closed = one->events.on_closed;
        if (!from) return;
        const ssize_t got = ::read(from.get(), bytes, sizeof bytes);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) {
            from.reset();
            if (on_closed == nullptr) return;
            const std::uint32_t stream = is_output ? NAR_STREAM_OUTPUT : NAR_STREAM_DIAGNOSTICS;
            call("a process's on_closed", [&] { on_closed(user, handle, stream); });
            return;
        }
        if (tell == nullptr) continue;
        call(is_output ? "a process's on_output" : "a process's on_diagnostics", [&] {
            tell(user, handle, {bytes, static_cast<std::uint64_t>(got)});
        });
    }
}

void FakeProcesses::run(const Call& call) {
    std::vector<std::uint64_t> handles;
    for (const auto& [handle, one] : all_) handles.push_back(handle);
    for (const std::uint64_t handle : handles) {
        send(handle, call);
        One* one = find(handle);
        if (one == nullptr) continue;
        if (one->kill_at_ms >= 0 && now_ms() >= one->kill_at_ms) kill(-one->pid, SIGKILL);
        // Test for the exit before reading, so that the read gets all earlier output. The child
        // stays a zombie (WNOWAIT) until it is reaped below, so that its process group id is not
        // reused.
        siginfo_t ended{};
        const bool is_over =
            waitid(P_PID, static_cast<id_t>(one->pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            ended.si_pid != 0;
        if (is_over) kill(-one->pid, SIGKILL);
        receive(handle, true, call);
        receive(handle, false, call);
        if (!is_over || find(handle) == nullptr) continue;
        auto node = all_.extract(handle);
        One& gone = node.mapped();
        kill_group(gone);
        if (gone.events.on_exit == nullptr) continue;
        nar_process_exit exit{};
        exit.size = sizeof exit;
        const bool has_exited = ended.si_code == CLD_EXITED;
        exit.exit_status = has_exited ? ended.si_status : -1;
        exit.signal_number = has_exited ? 0 : static_cast<std::uint32_t>(ended.si_status);
        call("a process's on_exit", [&] { gone.events.on_exit(gone.user, handle, &exit); });
    }
}

}  // namespace narratoria::command::plugin_check
