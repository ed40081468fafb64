// SPDX-License-Identifier: Apache-2.0
#include "process/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "process/error_text.hpp"
#include "process/supervisor/protocol.h"

extern "C" {
// The supervisor program, embedded into the library by the build.
extern const char narratoria_supervisor_image[];
extern const char narratoria_supervisor_image_end[];
}

namespace narratoria::process {
namespace {

// F_SETPIPE_SZ up to this size needs no privilege by default (/proc/sys/fs/pipe-max-size).
constexpr int kLargePipe = 1024 * 1024;
constexpr size_t kKeptIdle = 8;
constexpr int kPatienceMs = 6000;  // exceeds the supervisor's own timeout for unkillable processes
constexpr int kGroupPatienceMs = 1000;
constexpr int kLostPatienceMs = 10;

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// The interpreter line of a script, without "#!"; empty if there is none.
std::string first_line_of(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char line[128];
    const ssize_t got = file ? ::read(file.get(), line, sizeof line) : -1;
    if (got <= 2 || line[0] != '#' || line[1] != '!') return {};
    const std::string_view text(line + 2, static_cast<size_t>(got) - 2);
    return std::string(text.substr(0, text.find('\n')));
}

std::string describe_start_failure(uint32_t stage, int error, const std::string& path,
                                   const std::string& folder, const std::string& groups) {
    const std::string reason = error_text(error);
    switch (stage) {
        case SUPERVISOR_STAGE_GROUP:
        case SUPERVISOR_STAGE_GROUP_PROCESSES:
        case SUPERVISOR_STAGE_GROUP_MEMORY:
        case SUPERVISOR_STAGE_GROUP_ENTER: return describe_group_failure(stage, error, groups);
        case SUPERVISOR_STAGE_FOLDER:
            return "its working folder \"" + folder + "\" cannot be entered: " + reason;
        case SUPERVISOR_STAGE_LIMITS: return "its limits cannot be set: " + reason;
        case SUPERVISOR_STAGE_EXECUTE: break;
        default: return "no process can be made: " + reason;
    }
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    std::string text = "\"" + path + "\" ";
    if (exists && S_ISDIR(status.st_mode)) return text + "is a folder, not a program";
    switch (error) {
        case ENOENT:
            if (!exists) return text + "is not there";
            if (const std::string interpreter = first_line_of(path); !interpreter.empty()) {
                return text + "names an interpreter that is not there: #!" + interpreter;
            }
            return text + "needs a program loader that is not there";
        case EACCES: return text + "may not be executed; is its executable bit set (chmod +x)?";
        case ENOEXEC: return text + "is no program; a script needs a first line like #!/bin/sh";
        default: return text + "cannot be started: " + reason;
    }
}

supervisor_limits protocol_of(const Limits& limits) {
    supervisor_limits out{};
#define NARRATORIA_LIMIT(name, type, least, text) out.name = limits.name;
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return out;
}

// Writes the input into a pipe whose read end nobody reads yet. False if it does not fit.
bool fill_pipe(Pipe& pipe, std::string_view input) {
    if (input.empty()) return true;
    // An empty pipe accepts PIPE_BUF bytes without blocking.
    if (input.size() > PIPE_BUF) ::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);
    // We still hold the read end, so this never raises SIGPIPE.
    return ::write(pipe.write.get(), input.data(), input.size()) ==
           static_cast<ssize_t>(input.size());
}

// FIONREAD: the bytes that are in the pipe now.
size_t bytes_in(const Descriptor& pipe) {
    int count = 0;
    return pipe && ::ioctl(pipe.get(), FIONREAD, &count) == 0 ? static_cast<size_t>(count) : 0;
}

// A memory file that contains the input; empty with errno set on failure.
Descriptor input_file(std::string_view input) {
    Descriptor file(::memfd_create("narratoria-input", MFD_CLOEXEC));
    if (!file && !is_shortage(errno)) file = unlinked_file();
    while (file && !input.empty()) {
        const ssize_t written = ::write(file.get(), input.data(), input.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return {};
        input.remove_prefix(static_cast<size_t>(written));
    }
    if (file) ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

}  // namespace

// The library's side of one supervisor process. Owned by Pool::all_; destroying it closes the
// socket, upon which the supervisor kills its invocation and exits.
class Supervisor {
public:
    Supervisor(Pool& pool, Descriptor socket, int pid)
        : pool_(pool), socket_(std::move(socket)), pid_(pid), watch_(pool.loop_) {
        watch_.start(socket_.get(), [this] { on_readable(); });
    }

    // Returns 0 or errno.
    int send(std::string_view packet, const int* descriptors, size_t count) {
        union {
            cmsghdr header;
            char bytes[CMSG_SPACE(4 * sizeof(int))];
        } control{};
        iovec part{const_cast<char*>(packet.data()), packet.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (count > 0) {
            message.msg_control = control.bytes;
            message.msg_controllen = CMSG_SPACE(count * sizeof(int));
            cmsghdr* header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(count * sizeof(int));
            std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
        }
        for (;;) {
            if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
            if (errno != EINTR) return errno;
        }
    }

    void request(uint32_t kind, uint32_t grace_ms) {
        wake_stopped();
        in_grace = kind == SUPERVISOR_TERMINATE;
        supervisor_request request{};
        request.kind = kind;
        request.grace_ms = grace_ms;
        send({reinterpret_cast<const char*>(&request), sizeof request}, nullptr, 0);
    }

    // Starts a command with an empty path, which fails at exec, to test the steps before it. Blocks
    // until the answer. Returns 0 or errno.
    int ask_for_nothing(const Pipe& pipe, Controllers limited, supervisor_ended& ended) {
        supervisor_request request{};
        request.kind = SUPERVISOR_START;
        Limits limits;
        if (limited.processes) limits.processes = 1000;
        if (limited.memory) limits.resident_bytes = uint64_t{1} << 30;
        request.limits = protocol_of(limits);
        std::string packet(reinterpret_cast<const char*>(&request), sizeof request);
        packet.append({'\0', '/', '\0'});
        const int descriptors[3] = {pipe.read.get(), pipe.write.get(), pipe.write.get()};
        if (const int error = send(packet, descriptors, 3)) return error;
        pollfd answered{socket_.get(), POLLIN, 0};
        int ready = 0;
        do {
            ready = ::poll(&answered, 1, kPatienceMs);
        } while (ready < 0 && errno == EINTR);
        if (ready == 0) return ETIMEDOUT;
        const ssize_t got = ::recv(socket_.get(), &ended, sizeof ended, MSG_DONTWAIT);
        return got == static_cast<ssize_t>(sizeof ended) ? 0 : got < 0 ? errno : EPIPE;
    }

    // A tool can stop its supervisor with SIGSTOP. A supervisor must run to end its invocation.
    void wake_stopped() const {
        if (pid_ > 1) ::kill(pid_, SIGCONT);
    }

    // Blocks until the supervisor reports the end or its socket closes; at most kPatienceMs.
    void wait_for_end() const {
        pollfd ended{socket_.get(), POLLIN, 0};
        while (::poll(&ended, 1, kPatienceMs) < 0 && errno == EINTR) {
        }
    }

    int pid() const { return pid_; }
    Process* process = nullptr;  // NULL if idle, or if the process was destroyed
    const void* owned_by = nullptr;
    bool busy = false;      // has an invocation
    bool counted = false;   // counted in Pool::busy_
    bool in_grace = false;  // SIGTERM was requested, SIGKILL was not

private:
    void on_readable() {
        supervisor_ended ended{};
        const ssize_t got = ::recv(socket_.get(), &ended, sizeof ended, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        Pool& pool = pool_;
        Process* owner = process;
        // Reset everything before the listener is called: it may start another process on this
        // supervisor.
        process = nullptr;
        busy = in_grace = false;
        if (std::exchange(counted, false)) --pool.busy_;
        Exit exit;
        if (got == static_cast<ssize_t>(sizeof ended)) {
            exit.started = ended.start_error == 0;
            exit.wait_status = ended.wait_status;
            exit.user_us = ended.user_us;
            exit.system_us = ended.system_us;
            exit.resident_kb = ended.resident_kb;
            exit.refused_processes = ended.refused_processes;
            exit.memory_limit_hits = ended.memory_limit_hits;
            exit.memory_kills = ended.memory_kills;
            if (!exit.started && owner != nullptr) {
                exit.start_failure =
                    describe_start_failure(ended.start_stage, ended.start_error, owner->path_,
                                           owner->folder_, pool.groups_.path());
            }
            if (ended.left_behind) pool.discard(this);
            else pool.give_back(this);
        } else {
            exit.supervisor_lost = true;
            // The supervisor died without a report; its group still identifies its processes.
            // Groups that outlast this short wait are removed by ~Pool.
            pool.groups_.remove_groups(kLostPatienceMs, pid_);
            pool.discard(this);
        }
        // `this` may be destroyed: discard() erases it.
        if (owner != nullptr) owner->on_ended(std::move(exit));
    }

    Pool& pool_;
    Descriptor socket_;
    int pid_;
    Watch watch_;
};

// ---- Process

Process::Process(Pool& pool, Listener& listener)
    : pool_(pool),
      listener_(&listener),
      output_watch_(pool.loop()),
      diagnostics_watch_(pool.loop()),
      drain_(pool.loop()) {}

Process::~Process() {
    if (destroyed_ != nullptr) *destroyed_ = true;
    if (supervisor_ != nullptr && !ended_) {
        supervisor_->process = nullptr;
        pool_.count_as_busy(*supervisor_);
        if (!terminating_) supervisor_->request(SUPERVISOR_KILL, 0);
    }
}

void Process::terminate(uint32_t grace_ms) {
    if (ended_) return;
    terminating_ = true;
    pool_.count_as_busy(*supervisor_);
    supervisor_->request(grace_ms == 0 ? SUPERVISOR_KILL : SUPERVISOR_TERMINATE, grace_ms);
}

void Process::on_input_drained() { listener_->on_input_drained(); }

void Process::on_input_closed() { listener_->on_closed(Stream::Input); }

void Process::stop_reading() {
    output_watch_.stop();
    output_.close();
}

void Process::read_output() {
    do {
        if (!output_) break;
        char* buffer = pool_.loop().buffer();
        size_t wanted = pool_.loop().buffer_size();
        if (ended_) wanted = std::min(wanted, output_left_);
        if (wanted == 0) break;
        const ssize_t got = ::read(output_.get(), buffer, wanted);
        if (got < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN && !ended_) return;
            break;
        }
        if (ended_) output_left_ -= static_cast<size_t>(got);
        if (got == 0) {
            stop_reading();
            if (is_service_ && !ended_) return listener_->on_closed(Stream::Output);
            break;
        }
        if (!large_pipe_ && got >= 32 * 1024) {
            // A tool that fills the default pipe gets a larger one: fewer wake-ups on both sides.
            large_pipe_ = true;
            ::fcntl(output_.get(), F_SETPIPE_SZ, kLargePipe);
        }
        {
            const DestructionWatch watch(destroyed_);
            listener_->on_output(buffer, static_cast<size_t>(got));
            if (watch.destroyed()) return;
        }
        if (!ended_) return;
        if (pool_.loop().time_is_up()) {
            drain_.start(0, [this] { finish_when_drained(); });
            return;
        }
    } while (true);
    if (ended_) {
        stop_reading();
        finish();
    }
}

void Process::read_diagnostics() {
    if (!diagnostics_) return;
    char* buffer = pool_.loop().buffer();
    const ssize_t got = ::read(diagnostics_.get(), buffer, pool_.loop().buffer_size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        diagnostics_watch_.stop();
        diagnostics_.close();
        if (is_service_ && !ended_) listener_->on_closed(Stream::Diagnostics);
        return;
    }
    const DestructionWatch watch(destroyed_);
    listener_->on_diagnostics({buffer, static_cast<size_t>(got)});
}

void Process::on_ended(Exit exit) {
    ended_ = true;
    supervisor_ = nullptr;
    exit_ = std::move(exit);
    input_.reset();
    // All descendants have ended, so no more of their bytes will arrive: drain only what the pipes
    // hold now.
    output_left_ = bytes_in(output_);
    diagnostics_left_ = bytes_in(diagnostics_);
    finish_when_drained();
}

void Process::finish_when_drained() {
    if (output_) {
        read_output();
        return;
    }
    finish();
}

void Process::finish() {
    while (diagnostics_ && diagnostics_left_ > 0) {
        char* buffer = pool_.loop().buffer();
        const ssize_t got = ::read(diagnostics_.get(), buffer,
                                   std::min(pool_.loop().buffer_size(), diagnostics_left_));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        diagnostics_left_ -= static_cast<size_t>(got);
        const DestructionWatch watch(destroyed_);
        listener_->on_diagnostics({buffer, static_cast<size_t>(got)});
        if (watch.destroyed()) return;
    }
    diagnostics_watch_.stop();
    diagnostics_.close();
    listener_->on_exit(exit_);
    // `this` may be destroyed.
}

// ---- Pool

// A supervisor whose socket is closed. It ends its invocation and exits; then it is reaped.
struct Pool::Leaving {
    Leaving(Loop& loop, int its_pid)
        : pid(its_pid),
          process(static_cast<int>(::syscall(SYS_pidfd_open, its_pid, 0))),
          watch(loop) {}

    // False while it still runs. The host may have reaped it first with a wait for any child, and
    // its process id may have been reused since. The pidfd refers to the right process in both
    // cases.
    bool reap() const {
        siginfo_t information{};
        const int failed =
            process ? ::waitid(P_PIDFD, static_cast<id_t>(process.get()), &information,
                               WEXITED | WNOHANG)
                    : ::waitid(P_PID, static_cast<id_t>(pid), &information, WEXITED | WNOHANG);
        return failed != 0 || information.si_pid != 0;
    }

    int pid;
    Descriptor process;
    Watch watch;
};

// Replaces the listener of a process given to end() and drops its output. Owned by Pool::ending_;
// on_exit destroys it.
class Pool::Ending : public Listener {
public:
    Ending(Pool& pool, std::unique_ptr<Process> process)
        : pool_(pool), process_(std::move(process)) {
        process_->listener_ = this;
    }
    void on_output(char*, size_t) override {}
    void on_diagnostics(std::string_view) override {}
    void on_exit(const Exit&) override {
        std::erase_if(pool_.ending_, [this](const auto& each) { return each.get() == this; });
    }

private:
    Pool& pool_;
    const std::unique_ptr<Process> process_;
};

Pool::Pool(Loop& loop, std::string supervisor_path)
    : loop_(loop), supervisor_path_(std::move(supervisor_path)) {}

// Order: wait for graceful ends, then close the sockets of all others at once, then reap. Reaping
// one by one right after each close would add up their times.
Pool::~Pool() {
    std::vector<int> pids;
    for (const auto& supervisor : all_) {
        if (supervisor->in_grace) supervisor->wait_for_end();
    }
    ending_.clear();
    for (const auto& supervisor : all_) {
        supervisor->wake_stopped();
        pids.push_back(supervisor->pid());
    }
    all_.clear();  // closes the sockets; the supervisors kill what runs and exit
    for (const int pid : pids) leaving_.push_back(std::make_unique<Leaving>(loop_, pid));
    for (const auto& each : leaving_) {
        each->watch.stop();
        pollfd ended{each->process.get(), POLLIN, 0};
        while (each->process && ::poll(&ended, 1, kPatienceMs) < 0 && errno == EINTR) {
        }
        each->reap();
    }
    groups_.remove_groups(kGroupPatienceMs);
}

bool Pool::use_groups(const std::string& folder, std::string& why) {
    if (groups_.open(folder, why) && try_group({}, why)) return true;
    groups_ = ControlGroups();
    return false;
}

bool Pool::enable_limits(Controllers wanted, std::string& why) {
    if (wanted.processes <= tried_.processes && wanted.memory <= tried_.memory) return true;
    if (groups_.is_open()) {
        if (!groups_.enable(wanted, why) || !try_group(wanted, why)) return false;
        tried_ = {tried_.processes || wanted.processes, tried_.memory || wanted.memory};
        return true;
    }
    why =
        "that needs a cgroup folder, and the engine was given none (nar_engine_options.cgroup, "
        "--cgroup)";
    return false;
}

// Starts a program that does not exist. The start must fail at exec, after the process was put into
// a group with limits.
bool Pool::try_group(Controllers limited, std::string& why) {
    StartFailure failure;
    Supervisor* supervisor = take(failure);
    if (supervisor == nullptr) {
        why = failure.message;
        return false;
    }
    Pipe pipe;
    supervisor_ended ended{};
    int error = make_pipe(pipe);
    if (error == 0) error = supervisor->ask_for_nothing(pipe, limited, ended);
    if (error != 0 || ended.start_stage != SUPERVISOR_STAGE_EXECUTE) {
        why = error != 0
                  ? "the request to the supervisor failed: " + error_text(error)
                  : describe_group_failure(ended.start_stage, ended.start_error, groups_.path());
        discard(supervisor);
        return false;
    }
    give_back(supervisor);
    return true;
}

// The descriptor of the supervisor program, or -1.
int Pool::program(StartFailure& failure) {
    if (program_) return program_.get();
    Descriptor file;
    if (!supervisor_path_.empty()) {
        file = Descriptor(::open(supervisor_path_.c_str(), O_RDONLY | O_CLOEXEC));
    } else {
        file = Descriptor(::memfd_create("narratoria-supervisor", MFD_CLOEXEC));
        std::string_view image(
            narratoria_supervisor_image,
            static_cast<size_t>(narratoria_supervisor_image_end - narratoria_supervisor_image));
        while (file && !image.empty()) {
            const ssize_t written = ::write(file.get(), image.data(), image.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) {
                const int error = errno;
                file.close();
                errno = error;
                break;
            }
            image.remove_prefix(static_cast<size_t>(written));
        }
    }
    // Moved to 16 or above: the dup2 calls for the supervisor's fixed descriptors (protocol.h) must
    // not overwrite it.
    if (file) program_ = Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, 16));
    if (!program_) {
        const int error = errno;
        failure.out_of_descriptors = is_shortage(error);
        failure.message =
            supervisor_path_.empty()
                ? "the supervisor program cannot be put into memory: " + error_text(error) +
                      "; where that is forbidden, name the installed narratoria-supervisor in the "
                      "engine's options"
                : "the supervisor program \"" + supervisor_path_ +
                      "\" cannot be opened: " + error_text(error);
        return -1;
    }
    return program_.get();
}

Supervisor* Pool::take(StartFailure& failure) {
    // The idle supervisor that was used last comes first: its memory is most likely in the caches.
    if (!idle_.empty()) {
        Supervisor* supervisor = idle_.back();
        idle_.pop_back();
        return supervisor;
    }
    reap_leaving();
    const int file = program(failure);
    if (file < 0) return nullptr;

    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        failure.out_of_descriptors = is_shortage(errno);
        failure.message = "no socket for a supervisor: " + error_text(errno);
        return nullptr;
    }
    Descriptor ours(ends[0]), theirs(ends[1]);
    if (keep_clear_of_standard_streams(ours) != 0 || keep_clear_of_standard_streams(theirs) != 0) {
        failure.out_of_descriptors = true;
        failure.message = "no descriptor is free";
        return nullptr;
    }
    const int send_buffer = 2 * static_cast<int>(SUPERVISOR_REQUEST_BYTES);
    ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), SUPERVISOR_SOCKET);
    const std::string host = std::to_string(::getpid());
    char name[] = "narratoria-supervisor";
    char* arguments[] = {name, const_cast<char*>(host.c_str()), nullptr, nullptr};
    if (groups_.is_open()) {
        posix_spawn_file_actions_adddup2(&actions, groups_.folder().get(), SUPERVISOR_GROUPS);
        arguments[2] = const_cast<char*>(groups_.prefix().c_str());
    }
    char* const environment[] = {nullptr};
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        failure.message = "the supervisor cannot be started: " + error_text(error) +
                          (supervisor_path_.empty()
                               ? "; where programs in memory are forbidden, name the installed "
                                 "narratoria-supervisor in the engine's options"
                               : " (" + supervisor_path_ + ")");
        return nullptr;
    }
    try {
        all_.push_back(std::make_unique<Supervisor>(*this, std::move(ours), pid));
    } catch (const std::system_error& refusal) {
        // The socket is already closed, so the supervisor exits by itself.
        leaving_.push_back(std::make_unique<Leaving>(loop_, pid));
        failure.out_of_descriptors =
            is_shortage(refusal.code().value()) || refusal.code().value() == ENOSPC;
        failure.message = refusal.what();
        return nullptr;
    }
    return all_.back().get();
}

// Keeps kKeptIdle idle supervisors, and more only while as many invocations are busy.
void Pool::give_back(Supervisor* supervisor) {
    if (idle_.size() >= kKeptIdle && busy_ < idle_.size()) {
        discard(supervisor);
    } else {
        idle_.push_back(supervisor);
    }
}

void Pool::count_as_busy(Supervisor& supervisor) {
    if (!std::exchange(supervisor.counted, true)) ++busy_;
}

void Pool::discard(Supervisor* supervisor) {
    supervisor->wake_stopped();
    leaving_.push_back(std::make_unique<Leaving>(loop_, supervisor->pid()));
    std::erase(idle_, supervisor);
    std::erase_if(all_, [&](const auto& each) { return each.get() == supervisor; });
    Leaving& leaving = *leaving_.back();
    if (leaving.reap()) {
        leaving_.pop_back();
    } else if (leaving.process) {
        ++watched_leaving_;
        leaving.watch.start(leaving.process.get(), [this] { reap_leaving(); });
    }
}

void Pool::end(std::unique_ptr<Process> process, uint32_t grace_ms) {
    process->input_.reset();
    process->terminate(grace_ms);
    ending_.push_back(std::make_unique<Ending>(*this, std::move(process)));
}

void Pool::end_all_of(const void* owner) {
    for (const auto& each : all_) {
        if (each->busy && each->owned_by == owner) each->request(SUPERVISOR_KILL, 0);
    }
}

// Supervisors without a pidfd (no descriptor was free) are checked on every call.
void Pool::reap_leaving() {
    std::erase_if(leaving_, [this](const auto& each) {
        if (!each->reap()) return false;
        if (each->watch.running()) --watched_leaving_;
        return true;
    });
}

std::unique_ptr<Process> Pool::start(const Command& command, Listener& listener,
                                     StartFailure& failure) {
    supervisor_request request{};
    request.kind = SUPERVISOR_START;
    request.argument_count = static_cast<uint32_t>(command.arguments.size());
    request.environment_count =
        command.environment ? static_cast<uint32_t>(command.environment->size()) : 0;
    request.limits = protocol_of(command.limits);
    // With other invocations running, the pipes must not report the end separately: that would wake
    // the loop once per pipe. For a tool that runs alone the pipes report the end sooner, and the
    // loop is already awake when the supervisor reports. A service may close its pipes at any time,
    // and its listener gets on_closed, so they must report.
    request.one_notice = busy_ > 0 && !command.is_service;

    std::string packet(reinterpret_cast<const char*>(&request), sizeof request);
    bool has_zero = false;
    auto append = [&](const std::string& text) {
        has_zero |= text.find('\0') != std::string::npos;
        packet.append(text.c_str(), text.size() + 1);
    };
    append(command.path);
    append(command.folder);
    for (const std::string& argument : command.arguments) append(argument);
    if (command.environment) {
        for (const std::string& variable : *command.environment) append(variable);
    }
    if (has_zero) {
        failure.message = "a path, an argument or a variable holds a NUL character";
        return nullptr;
    }
    if (packet.size() > SUPERVISOR_REQUEST_BYTES) {
        failure.message = "its arguments and environment are larger than 192 KiB together";
        return nullptr;
    }

    auto shortage = [&](int error) {
        failure.out_of_descriptors = is_shortage(error);
        failure.message = "its pipes cannot be made: " + error_text(error);
        return nullptr;
    };
    Pipe output, diagnostics, input;
    if (const int error = make_pipe(output)) return shortage(error);
    if (const int error = make_pipe(diagnostics)) return shortage(error);
    if (const int error = make_pipe(input)) return shortage(error);
    int descriptors[4] = {input.read.get(), output.write.get(), diagnostics.write.get(), -1};
    size_t descriptor_count = 3;
    Descriptor file;
    if (!command.is_service && !fill_pipe(input, command.input)) {
        file = input_file(command.input);
        if (!file) return shortage(errno);
        request.input_is_file = 1;
        std::memcpy(packet.data(), &request, sizeof request);
        descriptors[3] = file.get();
        descriptor_count = 4;
    }
    Supervisor* supervisor = nullptr;
    for (;;) {
        supervisor = take(failure);
        if (supervisor == nullptr) return nullptr;
        const int error = supervisor->send(packet, descriptors, descriptor_count);
        if (error == 0) break;
        discard(supervisor);
        // The idle supervisor was killed from outside; try the next one.
        if (error == EPIPE || error == ECONNRESET) continue;
        failure.out_of_descriptors = is_shortage(error) || error == ETOOMANYREFS;
        failure.message = "the request to its supervisor failed: " + error_text(error);
        return nullptr;
    }

    std::unique_ptr<Process> process(new Process(*this, listener));
    process->path_ = command.path;
    process->folder_ = command.folder;
    process->supervisor_ = supervisor;
    supervisor->process = process.get();
    supervisor->owned_by = command.owner;
    supervisor->busy = true;
    if (!command.is_service) count_as_busy(*supervisor);
    Process* self = process.get();
    process->output_ = std::move(output.read);
    process->diagnostics_ = std::move(diagnostics.read);
    process->is_service_ = command.is_service;
    try {
        if (command.is_service) {
            InputPipe::Owner& owner = *self;
            process->input_ = std::make_unique<InputPipe>(loop_, std::move(input.write), owner);
        }
        process->output_watch_.start(process->output_.get(), [self] { self->read_output(); });
        process->diagnostics_watch_.start(process->diagnostics_.get(),
                                          [self] { self->read_diagnostics(); });
    } catch (const std::system_error& error) {
        failure.out_of_descriptors =
            is_shortage(error.code().value()) || error.code().value() == ENOSPC;
        failure.message = error.what();
        return nullptr;  // the destructor kills what was started
    }
    return process;
}

}  // namespace narratoria::process
