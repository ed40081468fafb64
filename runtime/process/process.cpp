// SPDX-License-Identifier: Apache-2.0
#include "process/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/json/tape.hpp"
#include "process/error_text.hpp"
#include "process/packet_socket.hpp"
#include "process/process_tree.hpp"
#include "process/reaper.hpp"
#include "process/script.hpp"
#include "process/start_error.hpp"
#include "process/supervisor/probe.h"
#include "process/supervisor/protocol.h"

namespace narratoria::process {
namespace {

// F_SETPIPE_SZ up to this size needs no privilege by default (/proc/sys/fs/pipe-max-size).
constexpr int kLargePipe = 1024 * 1024;
constexpr size_t kKeptIdle = 8;
constexpr int kPatienceMs = 6000;  // exceeds the supervisor's own timeout for unkillable processes
constexpr int kReportPatienceMs = 8000;  // exceeds the reaper's own timeout
constexpr int kGroupPatienceMs = 1000;
constexpr int kLostPatienceMs = 10;
// The interval at which the pool checks on supervisors that owe an end.
constexpr int kLookMs = 200;
// How many times a stopped supervisor is woken before the host ends it.
constexpr int kWakes = 3;
// How many new supervisors one start tries: each may exit before the request is sent.
constexpr int kMaxNewSupervisors = 3;

supervisor_limits protocol_of(const Limits& limits) {
    supervisor_limits out{};
#define NARRATORIA_LIMIT(name, type, least, text) out.name = limits.name;
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return out;
}

// A request to a supervisor: the struct, and the texts after it in the order that protocol.h gives.
class Request {
public:
    explicit Request(uint32_t kind) { head.kind = kind; }

    supervisor_request head{};

    void add(std::string_view text) {
        has_nul_ |= text.find('\0') != std::string_view::npos;
        packet_.append(text);
        packet_ += '\0';
    }
    void add_arguments(const std::vector<std::string>& texts) {
        add_all(texts, head.argument_count);
    }
    void add_environment(const std::vector<std::string>& variables) {
        add_all(variables, head.environment_count);
    }
    void add_sandbox(const Sandboxed& sandboxed) {
        head.sandbox = sandboxed.bits;
        head.scratch_variables = sandboxed.scratch_variables;
        add_all(sandboxed.readable, head.readable_count);
    }

    // True if a text contains a NUL, which the supervisor would read as its end.
    bool has_nul() const { return has_nul_; }
    // Valid until the next change.
    std::string_view packet() {
        std::memcpy(packet_.data(), &head, sizeof head);
        return packet_;
    }

private:
    void add_all(const std::vector<std::string>& texts, uint32_t& count) {
        count = static_cast<uint32_t>(texts.size());
        for (const std::string& text : texts) add(text);
    }

    std::string packet_ = std::string(sizeof head, '\0');
    bool has_nul_ = false;
};

// Writes the input into a pipe that is not read yet. Returns false if it does not fit.
bool fill_pipe(Pipe& pipe, std::string_view input) {
    if (input.empty()) return true;
    // An empty pipe accepts PIPE_BUF bytes without blocking.
    if (input.size() > PIPE_BUF) ::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);
    // We still hold the read end, so this never raises SIGPIPE.
    return ::write(pipe.write.get(), input.data(), input.size()) ==
           static_cast<ssize_t>(input.size());
}

// Returns the number of bytes that the pipe holds now.
size_t bytes_in(const Descriptor& pipe) {
    int count = 0;
    return pipe && ::ioctl(pipe.get(), FIONREAD, &count) == 0 ? static_cast<size_t>(count) : 0;
}

// Returns a memory file with the input. On failure returns an empty descriptor and sets errno.
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
// connection, upon which the supervisor kills its invocation and exits.
class Supervisor {
public:
    Supervisor(Pool& pool, Descriptor socket, uint32_t its_id, uint32_t its_generation)
        : id(its_id),
          generation(its_generation),
          pool_(pool),
          socket_(std::move(socket)),
          watch_(pool.loop_) {
        watch_.start(socket_.get(), [this] { read(); });
    }
    ~Supervisor() {
        owes_no_end();
        watch_.stop();
        // Closing is not enough: a forked child of the host may also hold the socket.
        ::shutdown(socket_.get(), SHUT_RDWR);
    }
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Returns 0 or errno.
    int send(std::string_view packet, const int* descriptors, size_t count) {
        return send_packet(socket_, packet, descriptors, count);
    }

    // Called by destructors: needs no memory.
    void request(uint32_t kind, uint32_t grace_ms) noexcept {
        // A tool can stop its supervisor and the reaper. The reaper kills a stopped supervisor.
        if (pool_.reaper_) pool_.reaper_->wake();
        is_awaited = kind == SUPERVISOR_TERMINATE;
        awaited_until_ms = clock::steady_ms() + grace_ms + kPatienceMs;
        set_end_deadline(grace_ms);
        supervisor_request head{};
        head.kind = kind;
        head.grace_ms = grace_ms;
        send({reinterpret_cast<const char*>(&head), sizeof head}, nullptr, 0);
    }

    // The supervisor has a request to end its invocation, or ends it because its reaper has ended.
    void set_end_deadline(uint32_t milliseconds) {
        if (end_due_ms == kNever) ++pool_.owing_;
        end_due_ms = clock::steady_ms() + milliseconds;
        try {
            pool_.check_overdue();
        } catch (const std::bad_alloc&) {
            // The pool checks on it when the next request is sent.
        }
    }
    void owes_no_end() {
        wakes = 0;
        if (std::exchange(end_due_ms, kNever) == kNever) return;
        if (--pool_.owing_ == 0) pool_.look_.stop();
    }

    // Starts a command with an empty path, which fails at exec, to test the steps before it. Blocks
    // until its end. Returns 0 or errno.
    int ask_for_nothing(const Pipe& pipe, Controllers limited, supervisor_ended& ended) {
        Request request(SUPERVISOR_START);
        Limits limits;
        if (limited.processes) limits.processes = 1000;
        if (limited.memory) limits.resident_bytes = uint64_t{1} << 30;
        request.head.limits = protocol_of(limits);
        request.add("");
        request.add("/");
        return ask(request, pipe, ended);
    }

    // Runs the probe in a sandbox. Blocks until its end. Returns 0 or errno.
    int ask_for_probe(const Pipe& pipe, const Sandboxed& sandboxed, supervisor_ended& ended) {
        Request request(SUPERVISOR_START);
        request.head.limits = protocol_of(Limits());
        // The supervisor's own program.
        request.add("/proc/self/exe");
        request.add("/");
        request.add_arguments({PROBE_NAME, std::to_string(sandboxed.bits)});
        request.add_sandbox(sandboxed);
        return ask(request, pipe, ended);
    }

    int ask(Request& request, const Pipe& pipe, supervisor_ended& ended) {
        const int descriptors[3] = {pipe.read.get(), pipe.write.get(), pipe.write.get()};
        if (const int error = send(request.packet(), descriptors, 3)) return error;
        pollfd answered{socket_.get(), POLLIN, 0};
        int ready = 0;
        do {
            ready = ::poll(&answered, 1, kPatienceMs);
        } while (ready < 0 && errno == EINTR);
        if (ready == 0) return ETIMEDOUT;
        const ssize_t got = ::recv(socket_.get(), &ended, sizeof ended, MSG_DONTWAIT);
        if (got != static_cast<ssize_t>(sizeof ended)) return got < 0 ? errno : EPIPE;
        pool_.on_answer(*this);
        return 0;
    }

    // Blocks until the supervisor reports the end or its socket closes, or until the deadline.
    void wait_for_end(int64_t deadline_ms) const {
        pollfd ended{socket_.get(), POLLIN, 0};
        int64_t left = 0;
        do {
            left = std::max<int64_t>(0, deadline_ms - clock::steady_ms());
        } while (::poll(&ended, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX))) < 0 &&
                 errno == EINTR);
    }

    // Reads the report of an end, or detects that the supervisor has ended. Returns false if
    // neither has happened. May destroy the supervisor.
    bool read() {
        supervisor_ended ended{};
        const ssize_t got = ::recv(socket_.get(), &ended, sizeof ended, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        Pool& pool = pool_;
        if (got != static_cast<ssize_t>(sizeof ended)) {
            closed = true;
            watch_.stop();
            pool.on_closed(*this);
            return true;
        }
        pool.on_answer(*this);
        Process* const owner = release();
        Exit exit;
        exit.started = ended.start_error == 0;
        exit.wait_status = ended.wait_status;
        exit.ended_before_request = ended.told_to_end == 0;
        exit.user_us = ended.user_us;
        exit.system_us = ended.system_us;
        exit.resident_kb = ended.resident_kb;
        exit.refused_processes = ended.refused_processes;
        exit.memory_limit_hits = ended.memory_limit_hits;
        exit.memory_kills = ended.memory_kills;
        exit.refused_programs = ended.refused_programs;
        exit.refused_sockets = ended.refused_sockets;
        if (!exit.started && owner != nullptr) {
            exit.start_failure =
                describe_start_failure(ended.start_stage, ended.start_error, owner->path_,
                                       owner->folder_, pool.groups_.path());
            exit.may_retry = may_start_later(ended.start_stage, ended.start_error);
            if (is_sandbox_stage(ended.start_stage)) exit.start_code = "GUARANTEE_UNAVAILABLE";
        }
        // Shells and env exit with 127 if a program does not exist, for example "python3\r".
        if (exit.started && owner != nullptr && WIFEXITED(exit.wait_status) &&
            WEXITSTATUS(exit.wait_status) == 127) {
            exit.probable_cause = script_fault(owner->path_);
        }
        if (std::exchange(was_stuck, false)) {
            // The report describes the kill by the host, not the end of the tool.
            exit = Exit();
            exit.supervisor_lost = true;
            exit.loss = "was stopped";
        }
        if (ended.left_behind) {
            if (exit.started) pool.warn_left_behind(REAPER_LEFT_SURVIVORS);
            pool.discard(this);
        } else {
            pool.give_back(this);
        }
        // `this` may be destroyed: discard() erases it.
        if (owner != nullptr) owner->on_ended(std::move(exit));
        return true;
    }

    // True if a supervisor has ended but its report has not arrived.
    static bool has_unreported(const Pool& pool) {
        return !pool.leaving_.empty() || std::any_of(pool.all_.begin(), pool.all_.end(),
                                                     [](const auto& each) { return each->closed; });
    }

    // Ends the invocation. Returns its process, which must be notified only after this reset: the
    // listener may start the next process on this supervisor.
    Process* release() {
        busy = is_awaited = false;
        owes_no_end();
        if (std::exchange(counted, false)) --pool_.busy_;
        return std::exchange(process, nullptr);
    }

    const uint32_t id;
    const uint32_t generation;   // the generation of its reaper
    Process* process = nullptr;  // NULL if idle, or if the process was destroyed
    const void* owned_by = nullptr;
    bool busy = false;        // has an invocation
    bool counted = false;     // counted in Pool::busy_
    bool is_awaited = false;  // the pool's destructor waits: it exits by itself, or got SIGTERM
    bool closed = false;      // has ended
    bool reported = false;    // the reaper has reported it
    int64_t awaited_until_ms = 0;
    static constexpr int64_t kNever = INT64_MAX;
    int64_t end_due_ms = kNever;  // kNever: it owes no end
    int wakes = 0;                // number of SIGCONTs since then
    bool was_stuck = false;       // the host has ended its invocation
    pid_t its_process = 0;        // 0: not reported yet

private:
    Pool& pool_;
    Descriptor socket_;
    Watch watch_;
};

// ---- Process

// The streams of a program that knows secrets.
struct Process::Secrets {
    explicit Secrets(const std::vector<std::string>& values)
        : output(values, Redactor::Kind::Json), diagnostics(values, Redactor::Kind::Text) {}
    Redactor output;
    Redactor diagnostics;
};

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

void Process::outlive(uint32_t patience_ms) {
    if (ended_) return;
    terminating_ = true;
    pool_.count_as_busy(*supervisor_);
    supervisor_->is_awaited = true;
    supervisor_->awaited_until_ms = clock::steady_ms() + patience_ms;
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
            give_output(buffer, static_cast<size_t>(got));
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
    (void)give_diagnostics({buffer, static_cast<size_t>(got)});
}

// Secrets are redacted only here, where output enters the library.
void Process::give_output(char* data, size_t size) {
    if (!secrets_) {
        listener_->on_output(data, size);
        return;
    }
    give_output(secrets_->output.pass({data, size}));
}

void Process::give_output(std::string& text) {
    const size_t size = text.size();
    if (size == 0) return;
    text.append(json::kPadding, '\0');  // the parser reads beyond the end
    listener_->on_output(text.data(), size);
}

// Returns false if the listener destroyed this object.
bool Process::give_diagnostics(std::string_view data) {
    if (secrets_) data = secrets_->diagnostics.pass(data);
    if (data.empty()) return true;
    const DestructionWatch watch(destroyed_);
    listener_->on_diagnostics(data);
    return !watch.destroyed();
}

// Passes on the bytes that were held as a possible start of a secret. Returns false if the listener
// destroyed this object.
bool Process::give_rest() {
    const DestructionWatch watch(destroyed_);
    const std::string rest = secrets_->diagnostics.finish();
    give_output(secrets_->output.finish());
    if (!watch.destroyed() && !rest.empty()) listener_->on_diagnostics(rest);
    return !watch.destroyed();
}

void Process::on_ended(Exit exit) {
    ended_ = true;
    supervisor_ = nullptr;
    exit_ = std::move(exit);
    exit_.receipts = std::move(receipts_);
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
        if (!give_diagnostics({buffer, static_cast<size_t>(got)})) return;
    }
    diagnostics_watch_.stop();
    diagnostics_.close();
    if (secrets_ && !give_rest()) return;
    listener_->on_exit(exit_);
    // `this` may be destroyed.
}

// ---- Pool

// Replaces the listener of a process given to end() or finish(), and drops its output. Owned by
// Pool::ending_; on_exit destroys it.
class Pool::Ending : public Listener {
public:
    Ending(Pool& pool, std::unique_ptr<Process> process)
        : pool_(pool), process_(std::move(process)), patience_(pool.loop_) {
        process_->listener_ = this;
    }
    void end_after(uint32_t patience_ms) {
        patience_.start(patience_ms, [this] { process_->terminate(0); });
    }
    void on_output(char*, size_t) override {}
    void on_diagnostics(std::string_view) override {}
    void on_exit(const Exit&) override {
        std::erase_if(pool_.ending_, [this](const auto& each) { return each.get() == this; });
    }

private:
    Pool& pool_;
    const std::unique_ptr<Process> process_;
    Timer patience_;
};

Pool::Pool(Loop& loop, std::string supervisor_path)
    : loop_(loop),
      supervisor_path_(std::move(supervisor_path)),
      probes_(
          supervisor_path_,
          [this](const Sandboxed& sandboxed, supervisor_ended& ended, std::string& output,
                 StartFailure& failure) { return run_probe(sandboxed, ended, output, failure); }),
      patience_(loop),
      look_(loop),
      kept_idle_(kKeptIdle) {}

// Order: wait for graceful ends, then close the sockets of all others, then wait for the reaper,
// which waits for all of them. Closing and waiting one by one would add up their times.
Pool::~Pool() {
    for (const auto& supervisor : all_) {
        if (supervisor->is_awaited) supervisor->wait_for_end(supervisor->awaited_until_ms);
    }
    ending_.clear();
    // Ends supervisors that a tool has stopped or traces, which the reaper does not notice.
    for (const auto& supervisor : all_) {
        const bool has_reaper = reaper_ && supervisor->generation == generation_;
        if (!supervisor->busy || supervisor->its_process <= 0) continue;
        try {
            end_stuck(*supervisor, has_reaper);
        } catch (const std::bad_alloc&) {
            // Not enough memory to list its descendants.
            ::kill(supervisor->its_process, SIGKILL);
        }
    }
    all_.clear();
    reaper_.reset();
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
    why = "that needs a cgroup folder; set nar_engine_options.cgroup or --cgroup";
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

bool Pool::run_probe(const Sandboxed& sandboxed, supervisor_ended& ended, std::string& output,
                     StartFailure& failure) {
    Supervisor* const supervisor = take(failure);
    if (supervisor == nullptr) return false;
    Pipe pipe;
    int error = make_pipe(pipe);
    if (error == 0) error = supervisor->ask_for_probe(pipe, sandboxed, ended);
    if (error != 0) {
        failure.out_of_descriptors = is_shortage(error) || error == ETOOMANYREFS;
        failure.message = "the request to the supervisor failed: " + error_text(error);
        discard(supervisor);
        return false;
    }
    give_back(supervisor);
    pipe.write.close();
    char buffer[1024];
    const ssize_t got = ::read(pipe.read.get(), buffer, sizeof buffer);
    output.assign(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return true;
}

bool Pool::prepare(size_t count, StartFailure& failure) {
    kept_idle_ = std::max(kept_idle_, count);
    while (idle_.size() < count) {
        Supervisor* const supervisor = start_supervisor(failure);
        if (supervisor == nullptr) return false;
        idle_.push_back(supervisor);
    }
    return true;
}

Supervisor* Pool::take(StartFailure& failure) {
    // Prefers the most recently used idle supervisor: its memory is most likely in the caches.
    if (!idle_.empty()) {
        Supervisor* supervisor = idle_.back();
        idle_.pop_back();
        return supervisor;
    }
    return start_supervisor(failure);
}

// Does not wait for the supervisor: a request may be sent to it immediately. A report announces a
// failed start.
Supervisor* Pool::start_supervisor(StartFailure& failure) {
    Descriptor ours, theirs;
    int error = make_socket_pair(ours, theirs);
    if (error != 0) {
        failure.out_of_descriptors = is_shortage(error);
        failure.message = "cannot create a socket for a supervisor: " + error_text(error);
        return nullptr;
    }
    const uint32_t id = ++last_id_;
    for (int tries = 0; tries < 2; ++tries) {
        if (!reaper_ && !start_reaper(failure)) return nullptr;
        error = reaper_->start_supervisor(id, theirs, groups_);
        if (error != EPIPE && error != ECONNRESET) break;
        // The reaper was killed, but the loop has not noticed yet.
        on_reaper_lost();
    }
    if (error != 0) {
        failure.out_of_descriptors = is_shortage(error) || error == ETOOMANYREFS;
        failure.message = why_no_supervisor();
        failure.no_supervisor = !failure.message.empty();
        if (failure.message.empty()) {
            failure.message = "the supervisor cannot be started: " + error_text(error);
        }
        return nullptr;
    }
    try {
        all_.push_back(std::make_unique<Supervisor>(*this, std::move(ours), id, generation_));
    } catch (const std::system_error& refusal) {
        // The socket is already closed, so the supervisor exits by itself.
        leaving_.push_back(id);
        await_report();
        failure.out_of_descriptors =
            is_shortage(refusal.code().value()) || refusal.code().value() == ENOSPC;
        failure.message = refusal.what();
        return nullptr;
    }
    return all_.back().get();
}

bool Pool::start_reaper(StartFailure& failure) {
    reaper_ = Reaper::start(loop_, supervisor_path_, failure);
    if (!reaper_) return false;
    ++generation_;
    reaper_->on_report = [this](const SupervisorReport& report) { on_report(report); };
    reaper_->on_lost = [this] { on_reaper_lost(); };
    return true;
}

Supervisor* Pool::find(uint32_t id) const {
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each->id == id; });
    return found == all_.end() ? nullptr : found->get();
}

// Keeps kept_idle_ idle supervisors, and more only while busy_ is not below the number of idle
// ones.
void Pool::give_back(Supervisor* supervisor) {
    if (idle_.size() >= kept_idle_ && busy_ < idle_.size()) {
        discard(supervisor);
    } else {
        idle_.push_back(supervisor);
    }
}

void Pool::count_as_busy(Supervisor& supervisor) {
    if (!std::exchange(supervisor.counted, true)) ++busy_;
}

void Pool::discard(Supervisor* supervisor) {
    // Without its reaper no report would arrive; the supervisor exits by itself.
    if (!supervisor->reported && reaper_ && supervisor->generation == generation_) {
        leaving_.push_back(supervisor->id);
        await_report();
    }
    std::erase(idle_, supervisor);
    std::erase_if(all_, [&](const auto& each) { return each.get() == supervisor; });
}

// A supervisor has ended unexpectedly. Its invocation ends when the reaper has killed the remaining
// processes.
void Pool::on_closed(Supervisor& supervisor) {
    std::erase(idle_, &supervisor);
    if (supervisor.reported) return;
    if (!reaper_ || supervisor.generation != generation_) lose(supervisor, nullptr);
    else await_report();
}

// `report` NULL: the reaper has ended.
void Pool::lose(Supervisor& supervisor, const SupervisorReport* report) {
    Process* const owner = supervisor.release();
    Exit exit;
    if (report != nullptr && report->start_error != 0) {
        exit.start_failure = "the supervisor cannot be started: " + error_text(report->start_error);
    } else if (report == nullptr && reaper_status_ && supervisor.generation > answered_) {
        exit.start_failure = why_no_supervisor();
        exit.no_supervisor = true;
    } else {
        exit.supervisor_lost = true;
        exit.loss = report == nullptr ? "ended because its parent process was killed"
                    : report->stopped ? "was stopped"
                                      : "was killed";
    }
    // The supervisor ended without removing its group. ~Pool removes groups that outlast this short
    // wait.
    groups_.remove_groups(kLostPatienceMs, supervisor.id);
    discard(&supervisor);
    if (owner != nullptr) owner->on_ended(std::move(exit));
}

void Pool::on_answer(const Supervisor& supervisor) {
    answered_ = std::max(answered_, supervisor.generation);
    if (answered_ == generation_) reaper_status_.reset();
}

void Pool::warn_left_behind(uint32_t left) {
    // The reaper may be a different program, so its value is not trusted.
    left = std::min<uint32_t>(left, REAPER_LEFT_UNKNOWN);
    const uint32_t bit = 1U << left;
    if (left == REAPER_LEFT_NOTHING || (warned_left_behind_ & bit) != 0 || !on_warning_) return;
    warned_left_behind_ |= bit;
    on_warning_(left == REAPER_LEFT_UNKNOWN
                    ? "a supervisor was killed, and /proc could not be read to find the processes "
                      "that its tool left behind; they may still run"
                    : "a process that a tool started survived SIGKILL; it remains until the kernel "
                      "ends it, for example when a device or a network file system responds");
}

void Pool::warn_of_short_secret(const std::string& name) {
    if (!on_warning_ || !warned_short_secrets_.insert(name).second) return;
    on_warning_("the value of the secret " + name + " has fewer than " +
                std::to_string(Redactor::kShortest) +
                " bytes, so it is not redacted in the output of tools; use a longer value");
}

std::string Pool::why_no_supervisor() const {
    if (!reaper_status_) return {};
    const std::string what = " exited with status " + std::to_string(*reaper_status_);
    if (supervisor_path_.empty()) return "the parent process of the supervisors" + what;
    return "the supervisor program \"" + supervisor_path_ + "\"" + what +
           "; name the installed narratoria-supervisor in the engine's options";
}

void Pool::on_report(const SupervisorReport& report) {
    if (report.started > 0) {
        if (Supervisor* const supervisor = find(report.id)) {
            supervisor->its_process = report.started;
        }
        return;
    }
    warn_left_behind(report.left_behind);
    std::erase(leaving_, report.id);
    // Searched again after each read, which may destroy the supervisor. Its process has ended, so
    // its socket is closed, possibly after the report of an end.
    while (Supervisor* const supervisor = find(report.id)) {
        supervisor->reported = true;
        if (!supervisor->closed && supervisor->read()) continue;
        lose(*supervisor, &report);
    }
    patience_.stop();
    if (Supervisor::has_unreported(*this)) await_report();
}

// The reaper's supervisors notice its end, end their invocations and close their sockets.
void Pool::on_reaper_lost() {
    reaper_status_ = reaper_->end();
    if (answered_ == generation_) reaper_status_.reset();
    reaper_.reset();
    patience_.stop();
    leaving_.clear();
    // Idle supervisors count as busy until their sockets close, so the engine is not idle before.
    for (Supervisor* const idle : idle_) count_as_busy(*idle);
    idle_.clear();
    for (const auto& each : all_) {
        const bool is_orphan = !each->closed && each->generation == generation_;
        if (is_orphan && each->end_due_ms == Supervisor::kNever) each->set_end_deadline(0);
    }
    // Searched from the start each time: a listener may start other processes.
    for (;;) {
        const auto lost = std::find_if(all_.begin(), all_.end(), [&](const auto& each) {
            return each->closed && (!reaper_ || each->generation != generation_);
        });
        if (lost == all_.end()) break;
        lose(**lost, nullptr);
    }
}

// Wakes a stopped reaper. If a tool stops it repeatedly, it is killed.
void Pool::await_report() {
    // A listener may have started a process and detected that the reaper has ended.
    if (!reaper_) return;
    reaper_->wake();
    if (patience_.running()) return;
    patience_.start(kReportPatienceMs, [this] {
        // If the host has not driven the loop for that long, the timer runs before the reports are
        // read. Reading them restarts the timer if more are awaited.
        if (reaper_) reaper_->read();
        if (reaper_ && !patience_.running() && Supervisor::has_unreported(*this)) {
            on_reaper_lost();
        }
    });
}

// A tool has the rights of its user: it can stop or trace its supervisor, and stop or kill the
// reaper, which would end a stopped supervisor. In this case the host ends the supervisor itself.
void Pool::check_overdue() {
    if (look_.running()) return;
    look_.start(kLookMs, [this] {
        std::vector<uint32_t> owing;
        for (const auto& each : all_) {
            if (each->end_due_ms <= clock::steady_ms()) owing.push_back(each->id);
        }
        for (const uint32_t id : owing) {
            Supervisor* const supervisor = find(id);
            // If its report has arrived, nothing is left to do.
            if (supervisor != nullptr && !supervisor->closed && !supervisor->read()) {
                press(*supervisor);
            }
        }
        if (owing_ > 0) check_overdue();
    });
}

void Pool::press(Supervisor& supervisor) {
    if (reaper_) reaper_->wake();
    const int64_t late_ms = clock::steady_ms() - supervisor.end_due_ms;
    const SupervisorState state = state_of_supervisor(supervisor.its_process);
    if (state == SupervisorState::Stopped && supervisor.wakes++ < kWakes) {
        ::kill(supervisor.its_process, SIGCONT);
        return;
    }
    const bool is_given_up = late_ms >= 2 * kPatienceMs;
    if (state == SupervisorState::Stopped || state == SupervisorState::Traced ||
        (state == SupervisorState::Runs && late_ms >= kPatienceMs)) {
        supervisor.was_stuck = true;
        // Kills descendants first: adopted ones cannot be found after its end. They may fork while
        // this runs, so the next check repeats it.
        if (!kill_descendants(supervisor.its_process) || is_given_up) {
            ::kill(supervisor.its_process, SIGKILL);
        }
    }
    if (is_given_up) lose(supervisor, nullptr);
}

void Pool::end_stuck(Supervisor& supervisor, bool has_reaper) {
    const pid_t process = supervisor.its_process;
    const int64_t deadline = clock::steady_ms() + kPatienceMs;
    SupervisorState state = state_of_supervisor(process);
    for (; state != SupervisorState::Gone && clock::steady_ms() < deadline;
         state = state_of_supervisor(process)) {
        // The reaper ends stopped supervisors and their descendants. It does not notice a traced
        // one.
        if (has_reaper && state != SupervisorState::Traced) return;
        if (state == SupervisorState::Runs) {
            // The supervisor ends by itself because its reaper has ended.
            supervisor.wait_for_end(clock::steady_ms() + 1);
        } else if (!kill_descendants(process)) {
            ::kill(process, SIGKILL);
        }
        ::poll(nullptr, 0, 1);
    }
}

void Pool::end(std::unique_ptr<Process> process, uint32_t grace_ms) {
    process->input_.reset();
    process->terminate(grace_ms);
    ending_.push_back(std::make_unique<Ending>(*this, std::move(process)));
}

void Pool::finish(std::unique_ptr<Process> process, uint32_t patience_ms) {
    process->outlive(patience_ms);
    ending_.push_back(std::make_unique<Ending>(*this, std::move(process)));
    ending_.back()->end_after(patience_ms);
}

void Pool::end_all_of(const void* owner) {
    for (const auto& each : all_) {
        if (each->busy && each->owned_by == owner) each->request(SUPERVISOR_KILL, 0);
    }
}

std::unique_ptr<Process> Pool::start(const Command& command, Listener& listener,
                                     StartFailure& failure) {
    if (command.guarantees == nullptr || !command.guarantees->any()) {
        return start_as_given(command, nullptr, listener, failure);
    }
    if (!probes_.check(*command.guarantees, failure)) return nullptr;
    static const std::vector<std::string> nothing;
    Sandboxed sandboxed =
        in_sandbox(*command.guarantees, command.path, command.arguments,
                   command.environment != nullptr ? *command.environment : nothing,
                   command.readable != nullptr ? *command.readable : nothing);
    Command inside = command;
    inside.path = sandboxed.path;
    inside.arguments = std::move(sandboxed.arguments);
    inside.environment = &sandboxed.environment;
    auto process = start_as_given(inside, &sandboxed, listener, failure);
    if (process == nullptr) return nullptr;
    process->path_ = command.path;
    process->receipts_ = probes_.receipts(*command.guarantees);
    process->is_reading_limited_ = command.guarantees->requires_one(Guarantee::NoFilesystemRead);
    process->readable_ = std::move(sandboxed.readable);
    std::vector<std::string> secrets;
    for (auto& [name, value] : sandboxed.secrets) {
        if (!Redactor::is_replaced(value)) warn_of_short_secret(name);
        else secrets.push_back(std::move(value));
    }
    if (!secrets.empty()) process->secrets_ = std::make_unique<Process::Secrets>(secrets);
    return process;
}

std::unique_ptr<Process> Pool::start_as_given(const Command& command, const Sandboxed* sandboxed,
                                              Listener& listener, StartFailure& failure) {
    Request request(SUPERVISOR_START);
    request.head.limits = protocol_of(command.limits);
    // With other invocations running, the pipes must not report the end separately: that would wake
    // the loop once per pipe. For a tool that runs alone the pipes report the end sooner, and the
    // loop is already awake when the supervisor reports. A service may close its pipes at any time,
    // and its listener gets on_closed, so they must report.
    request.head.one_notice = busy_ > 0 && !command.is_service;
    request.add(command.path);
    request.add(command.folder);
    request.add_arguments(command.arguments);
    if (command.environment) request.add_environment(*command.environment);
    if (sandboxed != nullptr) request.add_sandbox(*sandboxed);
    if (request.has_nul()) {
        failure.may_retry = false;
        failure.message = "a path, an argument or a variable contains a NUL character";
        return nullptr;
    }
    if (request.packet().size() > SUPERVISOR_REQUEST_BYTES) {
        failure.may_retry = false;
        failure.message = "its arguments and environment are larger than 192 KiB in total";
        return nullptr;
    }

    auto shortage = [&](int error) {
        failure.out_of_descriptors = is_shortage(error);
        failure.message = "its pipes cannot be created: " + error_text(error);
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
        request.head.input_is_file = 1;
        descriptors[3] = file.get();
        descriptor_count = 4;
    }
    Supervisor* supervisor = nullptr;
    for (int new_ones = 0;;) {
        if (idle_.empty()) ++new_ones;
        supervisor = take(failure);
        if (supervisor == nullptr) return nullptr;
        const int error = supervisor->send(request.packet(), descriptors, descriptor_count);
        if (error == 0) break;
        discard(supervisor);
        // The idle supervisor was killed by another process; try the next one. A new one may have
        // lost its reaper, or could not be forked.
        if ((error == EPIPE || error == ECONNRESET) && new_ones < kMaxNewSupervisors) continue;
        if (reaper_ && reaper_->has_exited()) on_reaper_lost();
        failure.out_of_descriptors = is_shortage(error) || error == ETOOMANYREFS;
        failure.message = reaper_ ? std::string() : why_no_supervisor();
        failure.no_supervisor = !failure.message.empty();
        if (failure.message.empty()) {
            failure.message = "the request to its supervisor failed: " + error_text(error);
        }
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
        return nullptr;  // the destructor kills the started process
    }
    return process;
}

}  // namespace narratoria::process
