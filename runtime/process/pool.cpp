// SPDX-License-Identifier: Apache-2.0
#include "process/pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "process/error_text.hpp"
#include "process/packet_socket.hpp"
#include "process/process_tree.hpp"
#include "process/reaper.hpp"
#include "process/start_error.hpp"
#include "process/start_request.hpp"
#include "process/supervisor/protocol.h"
#include "process/supervisor_connection.hpp"

namespace narratoria::process {
namespace {

constexpr size_t kKeptIdle = 8;
constexpr int kReportPatienceMs = 8000;  // exceeds the reaper's own timeout
constexpr int kGroupPatienceMs = 1000;
constexpr int kLostPatienceMs = 10;
// The interval at which the pool checks on supervisors that owe an end.
constexpr int kLookMs = 200;
// How many times a stopped supervisor is woken before the host ends it.
constexpr int kWakes = 3;
// How many new supervisors one start tries: each may exit before the request is sent.
constexpr int kMaxNewSupervisors = 3;

}  // namespace

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
