// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/child.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "display.hpp"
#include "io/children.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "plugin_check/decoys.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command::plugin_check {

constexpr std::size_t kMaxReport = std::size_t{4} << 20;

// Memory shared by the trial and its parent. The parent reads `progress` and `busy` at any time and
// the rest after the trial has ended. Reports are in memory, not on a pipe, so that a plugin that
// closes every descriptor cannot suppress them.
struct TrialPage {
    std::atomic<std::uint64_t> progress;
    std::atomic<bool> busy;  // in the plugin
    char crash_rule[8];
    char hang_rule[8];
    char exit_rule[8];
    char activity[200];
    std::atomic<int> lent;  // one of Lent…
    char lent_what[64];
    std::atomic<pid_t> decoy;         // the running child of the decoys
    std::atomic<bool> has_no_memory;  // when it crashed
    // kYes is true; other values are false or were written by the plugin:
    std::atomic<int> unjoined_thread_crashed;  // the crashed thread was not joined in deinit
    std::atomic<int> has_copy;        // a child that the plugin forked returned to the check
    std::atomic<int> is_overwritten;  // the plugin unlocked lent memory and wrote to it
    std::atomic<bool> finished;
    std::atomic<std::size_t> report_size;
    char report[kMaxReport];
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxFindings = 10;  // of one rule in one trial
// How a crash touched lent memory.
constexpr int kBeyondEnd = 1, kAfterLoan = 2, kWritten = 3;
constexpr int kYes = 1;
// Interval at which a trial's processes are counted.
constexpr int kTickMilliseconds = 20;
// Seconds that the check itself may need between two calls into the plugin.
constexpr double kCheckSeconds = 30;
constexpr off_t kMaxOutput = 64 * 1024;
// Seconds until a killed process must be gone. Only uninterruptible I/O delays a kill.
constexpr double kKillSeconds = 5;
constexpr std::string_view kOverwritten =
    "it overwrote memory of the check that it was never given access to";

TrialPage* this_page = nullptr;

template <std::size_t size>
void copy_text(char (&into)[size], std::string_view text) {
    const std::size_t length = std::min(text.size(), size - 1);
    std::memcpy(into, text.data(), length);
    into[length] = '\0';
}

// Reads a text from the page. The plugin may have overwritten its NUL.
template <std::size_t size>
std::string text_in(const char (&text)[size]) {
    return printable(std::string_view(text, strnlen(text, size)));
}

// ---------------------------------------------------------------- lent memory

struct Region {
    std::atomic<char*> begin;
    std::atomic<char*> end;  // without the guard page
    std::atomic<char*> guard_end;
    std::atomic<bool> is_over;
    char what[64];
};
// The lent regions of a trial, read by a signal handler. Regions beyond this number are not
// watched.
Region regions[16384];
std::atomic<std::size_t> region_count{0};
// The `region` of a piece that was allocated with malloc.
constexpr std::size_t kNoRegion = SIZE_MAX;

// Threads that deinit left running, read by a signal handler. Larger than a plugin's thread limit.
std::atomic<pid_t> unjoined_threads[kMaxTrialThreads];
std::atomic<std::size_t> unjoined_thread_count{0};

void classify_crash(int signal, siginfo_t* information, void*) {
    this_page->has_no_memory = memory_is_used_up();
    const pid_t thread = gettid();
    for (const std::atomic<pid_t>& one : unjoined_threads) {
        if (one.load() == thread) this_page->unjoined_thread_crashed = kYes;
    }
    const char* address = static_cast<const char*>(information->si_addr);
    const std::size_t count = std::min(region_count.load(), std::size(regions));
    for (std::size_t index = 0; information->si_code > 0 && index < count; ++index) {
        Region& region = regions[index];
        if (address < region.begin.load() || address >= region.guard_end.load()) continue;
        std::memcpy(this_page->lent_what, region.what, sizeof region.what);
        this_page->lent = address >= region.end.load() ? kBeyondEnd
                          : region.is_over.load()      ? kAfterLoan
                                                       : kWritten;
        break;
    }
    // A fault recurs when the handler returns and then ends the process. A trap, and a signal that
    // was sent (si_code <= 0), must be raised again.
    ::signal(signal, SIG_DFL);
    if (information->si_code <= 0 || signal == SIGTRAP) raise(signal);
}

// Installs handlers that classify crashes: an access beyond the end of lent memory or a write to it
// breaks P30, an access after the loan P41, and a crash of a thread that deinit did not join P20.
void watch_crashes() {
    // A stack overflow leaves no stack for the handler.
    static char stack[64 * 1024];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_sigaction = classify_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP}) {
        sigaction(signal, &action, nullptr);
    }
}

std::size_t page_size() {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// ---------------------------------------------------------------- the trial's process

[[noreturn]] void run_in_child(int output, int alive, TrialPage* page,
                               const std::function<void(TrialReport&)>& trial) {
    setpgid(0, 0);
    limit_this_process();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Orphans of the plugin's processes become children of this process, so that they are found.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    // A host does not have the handlers of this command or of a sanitizer.
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    // Nothing that this process shares with the check stays within the plugin's reach.
    alive = dup2(alive, STDERR_FILENO + 1);
    closefrom(alive + 1);
    this_page = page;
    watch_crashes();
    TrialReport report(page);
    try {
        Decoys decoys(alive);
        close(alive);
        this_trials_decoys = &decoys;
        page->decoy = decoys.running_child();
        trial(report);
        report.finish();  // before the decoys close
    } catch (const std::exception& error) {
        report.begin_call({"P26", "P23", "P25"}, "the check itself");
        fprintf(stderr, "the check itself failed: %s\n", error.what());
        _exit(1);
    }
}

std::string last_output(int output) {
    const off_t size = lseek(output, 0, SEEK_END);
    if (size <= 0) return {};
    const off_t size_kept = std::min(size, kMaxOutput);
    std::string text(static_cast<std::size_t>(size_kept), '\0');
    const ssize_t got = pread(output, text.data(), text.size(), size - size_kept);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

void parse_report_line(std::string_view line, TrialOutcome& outcome) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t tab = line.find('\t');
        parts.push_back(line.substr(0, tab));
        if (tab == std::string_view::npos) break;
        line.remove_prefix(tab + 1);
    }
    if (parts.size() < 2) return;
    const std::string rule(parts[1]);
    if (parts[0] == "covers") outcome.covered.insert(rule);
    if (parts.size() < 3) return;
    if (parts[0] == "skips") outcome.skipped.emplace(rule, parts[2]);
    if (parts[0] == "finding" || parts[0] == "warning") {
        outcome.findings.push_back({rule, parts[0] == "warning", std::string(parts[2])});
    }
}

// The line in which the C library or a sanitizer reports a corrupted heap or stack, or empty.
std::string damage_in(const std::string& output) {
    for (const std::string_view sign :
         {"free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ", "malloc_consolidate(): ",
          "malloc_printerr", "double free or corruption", "corrupted ", "*** stack smashing",
          "*** buffer overflow", "ERROR: AddressSanitizer"}) {
        const std::size_t found = output.rfind(sign);
        if (found == std::string::npos) continue;
        const std::size_t before = output.rfind('\n', found);
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        return output.substr(begin, std::min<std::size_t>(output.find('\n', found) - begin, 200));
    }
    return {};
}

struct TrialEnd {
    int wait_status = 0;
    double processor_seconds = 0;
    bool out_of_time = false;  // no progress for too long
    std::string excess;        // the limit that it exceeded, for which it was killed
    std::string stopped;       // "state T (stopped)" when it ran out of time
    std::string remains;       // "process 4711 …": it was killed and still exists
    bool is_traced = false;    // it made this process its tracer (PTRACE_TRACEME)
    bool has_seccomp = false;
    std::string decoy;  // what the end of the process did to the decoys' running child
};

// Sets the rule and the description for a process that a signal ended.
void judge_signal(TrialOutcome& outcome, const TrialPage& page, const TrialEnd& end,
                  const std::string& activity) {
    const int signal = WTERMSIG(end.wait_status);
    const std::string what = describe_wait_status(end.wait_status);
    // A trial that blames crashes on one rule (P32, P33, …) blames that rule for any signal.
    const bool is_ordinary = outcome.broken_rule == "P26";
    if (page.unjoined_thread_crashed == kYes) {
        outcome.broken_rule = "P20";
        outcome.description = fmt::format(
            "a thread that still ran after deinit had returned crashed {}: {}", activity, what);
        return;
    }
    if (end.has_seccomp && (signal == SIGKILL || signal == SIGSYS)) {
        outcome.broken_rule = "P27";
        outcome.description =
            fmt::format("a restriction of the process's system calls (seccomp) killed it {}: {}",
                        activity, what);
        return;
    }
    switch (signal) {
        case SIGXFSZ:
            outcome.broken_rule = "P42";
            outcome.description =
                fmt::format("wrote more than {} MiB to a file {}", kMaxTrialFile >> 20, activity);
            return;
        case SIGALRM:
        case SIGVTALRM:
        case SIGPROF:
            outcome.broken_rule = "P27";
            outcome.description =
                fmt::format("a timer of the process killed it {}: {}", activity, what);
            return;
        case SIGXCPU:
            outcome.broken_rule = "P42";
            outcome.description = fmt::format("used more than {} s of processor time {}",
                                              kMaxTrialProcessorSeconds, activity);
            return;
        case SIGHUP:
        case SIGINT:
        case SIGQUIT:
        case SIGKILL:
        case SIGTERM:
        case SIGUSR1:
        case SIGUSR2:
            if (signal == SIGKILL && end.processor_seconds >= kMaxTrialProcessorSeconds) {
                outcome.broken_rule = "P42";
                outcome.description = fmt::format("used more than {} s of processor time {}",
                                                  kMaxTrialProcessorSeconds, activity);
                return;
            }
            outcome.broken_rule = "P46";
            outcome.description =
                fmt::format("a signal to its process group ended the host {}: {}", activity, what);
            return;
        case SIGABRT: {
            outcome.description = fmt::format("crashed {}: {}", activity, what);
            if (!is_ordinary) return;
            if (const std::string damage = damage_in(outcome.output); !damage.empty()) {
                outcome.description = fmt::format("crashed {}: {}", activity, damage);
            } else if (outcome.output.find("terminate called after throwing") !=
                       std::string::npos) {
                outcome.broken_rule = "P24";
                outcome.description = fmt::format(
                    "an exception left a thread or a noexcept function {}: {}", activity, what);
            } else {
                outcome.broken_rule = text_in(page.exit_rule);
            }
            return;
        }
        default: break;
    }
    outcome.description = fmt::format("crashed {}: {}", activity, what);
    const std::string lent = text_in(page.lent_what);
    if (page.lent == kBeyondEnd) {
        outcome.broken_rule = "P30";
        outcome.description =
            fmt::format("accessed memory beyond the end of {}, {}: {}", lent, activity, what);
    } else if (page.lent == kAfterLoan) {
        outcome.broken_rule = "P41";
        outcome.description =
            fmt::format("accessed {}, which was no longer valid, {}: {}", lent, activity, what);
    } else if (page.lent == kWritten) {
        outcome.broken_rule = "P30";
        outcome.description =
            fmt::format("wrote to {}, which belongs to the host, {}: {}", lent, activity, what);
    } else if (is_ordinary && page.has_no_memory) {
        outcome.broken_rule = "P42";
        outcome.description = fmt::format("crashed when {} MiB were in use, {}: {}",
                                          kMaxTrialMemory >> 20, activity, what);
    }
}

void judge_end(TrialOutcome& outcome, const TrialPage& page, const TrialEnd& end) {
    const std::string activity =
        fmt::format("{} {}", page.busy.load() ? "in" : "after", text_in(page.activity));
    if (end.is_traced) {
        outcome.end = TrialOutcome::End::Exited;
        outcome.broken_rule = "P27";
        outcome.description = fmt::format("made its parent trace it (PTRACE_TRACEME) {}", activity);
    } else if (!end.excess.empty()) {
        outcome.end = TrialOutcome::End::Exceeded;
        outcome.broken_rule = "P42";
        outcome.description = fmt::format("{} {}", end.excess, activity);
    } else if (end.out_of_time) {
        outcome.end = TrialOutcome::End::Hung;
        outcome.broken_rule = text_in(page.hang_rule);
        outcome.description = fmt::format("did not return {}", activity);
        if (!end.stopped.empty()) {
            outcome.broken_rule = "P46";
            outcome.description =
                fmt::format("the host was stopped or traced {}: {}", activity, end.stopped);
        }
    } else if (WIFSIGNALED(end.wait_status)) {
        outcome.end = TrialOutcome::End::Crashed;
        outcome.broken_rule = text_in(page.crash_rule);
        judge_signal(outcome, page, end, activity);
    } else if (!page.finished) {
        outcome.end = TrialOutcome::End::Exited;
        outcome.broken_rule = text_in(page.exit_rule);
        outcome.description = fmt::format("ended the process {} ({})", activity,
                                          describe_wait_status(end.wait_status));
        // A sanitizer exits without a signal after it has reported an error.
        if (const std::string damage = damage_in(outcome.output);
            outcome.broken_rule == "P25" && !damage.empty()) {
            outcome.end = TrialOutcome::End::Crashed;
            outcome.broken_rule = "P26";
            outcome.description = fmt::format("crashed {}: {}", activity, damage);
        }
    } else if (end.wait_status != 0 && !has_sanitizers_allocator()) {
        outcome.end = TrialOutcome::End::Exited;
        outcome.broken_rule = text_in(page.exit_rule);
        outcome.description = fmt::format("changed the exit status of the process {}: {}", activity,
                                          describe_wait_status(end.wait_status));
    }
}

}  // namespace

void mark_unjoined_thread(pid_t thread) {
    unjoined_threads[unjoined_thread_count++ % std::size(unjoined_threads)] = thread;
}

// ---------------------------------------------------------------- TrialReport

TrialReport::TrialReport(TrialPage* page) : page_(page), process_(getpid()) {}

// Ends a child that the plugin forked and that returned to the check: it would continue the trial.
void TrialReport::exit_forked_copy() {
    if (getpid() == process_) return;
    page_->has_copy = kYes;
    _exit(0);
}

void TrialReport::begin_call(const Blame& blame, std::string_view activity) {
    exit_forked_copy();
    check_overwritten();
    copy_text(page_->crash_rule, blame.crash_rule);
    copy_text(page_->hang_rule, blame.hang_rule);
    copy_text(page_->exit_rule, blame.exit_rule);
    copy_text(page_->activity, activity);
    page_->busy = true;
    ++page_->progress;
}

void TrialReport::end_call() {
    exit_forked_copy();
    page_->busy = false;
    ++page_->progress;
}

void TrialReport::extend_deadline() { ++page_->progress; }

void TrialReport::append_report(const std::string& line) {
    if (line.size() > kMaxReport - report_size_) return;
    std::memcpy(page_->report + report_size_, line.data(), line.size());
    report_size_ += line.size();
    page_->report_size = report_size_;
}

void TrialReport::check_overwritten() {
    const std::lock_guard lock(mutex_);
    if (page_->report_size == report_size_) return;
    // The plugin may have damaged the previous line, so begin with a newline.
    append_report(fmt::format("\nfinding\tP30\t{}\n", kOverwritten));
}

void TrialReport::add_finding(std::string_view rule, std::string_view message) {
    const std::lock_guard lock(mutex_);
    auto& reported = reported_[std::string(rule)];
    if (reported.size() >= kMaxFindings || !reported.insert(std::string(message)).second) return;
    append_report(fmt::format("finding\t{}\t{}\n", rule, printable(message)));
}

void TrialReport::add_warning(std::string_view rule, std::string_view message) {
    const std::lock_guard lock(mutex_);
    append_report(fmt::format("warning\t{}\t{}\n", rule, printable(message)));
}

void TrialReport::add_covered(std::string_view rule) {
    const std::lock_guard lock(mutex_);
    append_report(fmt::format("covers\t{}\n", rule));
}

void TrialReport::add_skipped(std::string_view rule, std::string_view why) {
    const std::lock_guard lock(mutex_);
    append_report(fmt::format("skips\t{}\t{}\n", rule, printable(why)));
}

bool TrialReport::has_finding(std::string_view rule) {
    const std::lock_guard lock(mutex_);
    return reported_.contains(std::string(rule));
}

void TrialReport::finish() {
    check_overwritten();
    page_->finished = true;
    // Not exit(): a separate trial runs the plugin's atexit handlers (try_exit).
    _exit(0);
}

void TrialReport::finish_as_a_host() {
    check_overwritten();
    page_->finished = true;
    std::exit(0);
}

// ---------------------------------------------------------------- run_trial

TrialOutcome run_trial(const TrialOptions& options,
                       const std::function<void(TrialReport&)>& trial) {
    void* memory = mmap(nullptr, sizeof(TrialPage), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const Descriptor output(memfd_create("plugin-output", MFD_CLOEXEC));
    if (memory == MAP_FAILED || !output) {
        throw Failed(fmt::format("cannot create a process for the check: {}", reason(errno)));
    }
    // mmap has zeroed the page. Value-initialisation would touch all of it.
    const std::unique_ptr<TrialPage, void (*)(TrialPage*)> page(
        static_cast<TrialPage*>(memory),
        [](TrialPage* shared) { munmap(static_cast<void*>(shared), sizeof(TrialPage)); });

    // The decoys' child ends when this process has ended, even if it was killed.
    int alive[2];
    if (pipe2(alive, O_CLOEXEC) != 0) {
        throw Failed(fmt::format("cannot create a process for the check: {}", reason(errno)));
    }
    Descriptor alive_here(alive[1]);
    const Descriptor alive_there(alive[0]);

    const pid_t process = fork();
    if (process < 0)
        throw Failed(fmt::format("cannot create a process for the check: {}", reason(errno)));
    if (process == 0) {
        alive_here.reset();
        run_in_child(output.get(), alive_there.get(), page.get(), trial);
    }
    setpgid(process, process);
    const Descriptor exit(static_cast<int>(syscall(SYS_pidfd_open, process, 0u)));

    TrialOutcome outcome;
    TrialEnd end;
    std::uint64_t progress = 0;
    const Clock::time_point began = Clock::now();
    Clock::time_point progressed = began;
    std::optional<Clock::time_point> ended;
    const auto stop = [&] {
        end_trial(process);
        ended = Clock::now();
    };
    const auto seconds_since = [](Clock::time_point then) {
        return std::chrono::duration<double>(Clock::now() - then).count();
    };
    for (;;) {
        pollfd waiting[] = {{exit.get(), POLLIN, 0}, {interruption::descriptor(), POLLIN, 0}};
        poll(waiting, 2, exit ? kTickMilliseconds : 5);
        if (const int signal = interruption::received(); signal != 0) {
            stop();
            end_all_children();
            throw Interrupted{signal};
        }
        rusage usage{};
        end.has_seccomp |= has_seccomp(process) && !has_seccomp(getpid());
        if (wait4(process, &end.wait_status, WNOHANG, &usage) == process) {
            if (WIFSTOPPED(end.wait_status)) {
                end.is_traced = true;
                if (!ended) stop();
                continue;
            }
            end.processor_seconds = static_cast<double>(usage.ru_utime.tv_sec) +
                                    static_cast<double>(usage.ru_stime.tv_sec);
            break;
        }
        if (ended) {
            if (seconds_since(*ended) < kKillSeconds) continue;
            end.remains =
                fmt::format("process {} could not be killed within {:.0f} s and still exists ({})",
                            process, kKillSeconds, describe_process_state(process));
            break;
        }
        if (options.on_progress) options.on_progress();
        end.excess = excess(use_of(process));
        if (end.excess.empty() && seconds_since(began) > options.total_limit) {
            end.excess = fmt::format("did not end within {:.0f} s", options.total_limit);
        }
        if (!end.excess.empty()) {
            stop();
        } else if (const std::uint64_t now = page->progress.load(); now != progress) {
            progress = now;
            progressed = Clock::now();
        } else if (seconds_since(progressed) >
                   (page->busy.load() ? options.limit : options.limit + kCheckSeconds)) {
            end.out_of_time = true;
            const std::string state = describe_process_state(process);
            if (state.starts_with("state T") || state.starts_with("state t")) end.stopped = state;
            stop();
        }
    }
    if (page->finished && !ended) {
        end.decoy = describe_end_of_decoy(page->decoy);
    }
    // The decoys' child ends by itself now, unless it was stopped; the rest that the trial left is
    // killed.
    alive_here.reset();
    const Clock::time_point closed = Clock::now();
    int status = 0;
    pid_t over = 0;
    while (page->decoy > 0 && (over = waitpid(page->decoy, &status, WNOHANG)) == 0 &&
           seconds_since(closed) < 0.2) {
        poll(nullptr, 0, 1);
    }
    // A signal that was sent just before the end of the process may take effect only now.
    if (page->finished && !ended && end.decoy.empty() && over > 0 && WIFSIGNALED(status)) {
        end.decoy = "was ended by a signal";
    }
    end_trial(process);
    if (end.remains.empty()) end_all_children();

    std::string_view rest(page->report, std::min(page->report_size.load(), kMaxReport));
    for (std::size_t at; (at = rest.find('\n')) != std::string_view::npos;) {
        parse_report_line(rest.substr(0, at), outcome);
        rest.remove_prefix(at + 1);
    }
    outcome.output = last_output(output.get());
    judge_end(outcome, *page, end);
    if (page->has_copy == kYes) {
        outcome.findings.push_back({"P28", false,
                                    "a child process that it forked returned to the check or "
                                    "called the host; end the child with _exit, or let it exec"});
    }
    if (page->is_overwritten == kYes) {
        outcome.findings.push_back(
            {"P30", false,
             fmt::format("it made {} writable and wrote to it", text_in(page->lent_what))});
    }
    // Once is enough, and a page that was overwritten does not name the decoy.
    const bool is_reported = std::any_of(
        outcome.findings.begin(), outcome.findings.end(),
        [](const TrialFinding& one) { return one.rule == "P46" || one.message == kOverwritten; });
    if (!end.decoy.empty() && !is_reported) {
        outcome.findings.push_back(
            {"P46", false,
             fmt::format("a child process of the host {} at the end of the process", end.decoy)});
    }
    if (!end.remains.empty()) {
        outcome.description += "; " + end.remains;
        outcome.has_survivor = true;
    }
    return outcome;
}

// ---------------------------------------------------------------- Loan

void* Loan::bytes(const void* content, std::size_t size, const char* what, std::size_t room,
                  LentAccess access) {
    const std::size_t page = page_size();
    // With all regions in use, Guarded memory falls back to Roomy; a Table stays protected.
    if (memory_ == LentMemory::Roomy ||
        (memory_ == LentMemory::Guarded && region_count.load() >= std::size(regions))) {
        constexpr std::size_t kRoom = 256;
        char* begin = static_cast<char*>(std::malloc(size + room + kRoom));
        if (begin == nullptr) throw std::bad_alloc();
        if (size > 0) std::memcpy(begin, content, size);
        std::memset(begin + size, 0xA5, room + kRoom);
        pieces_.push_back({begin, size, kNoRegion, {}, begin, what});
        return begin;
    }
    const std::size_t total = size + room;
    const std::size_t data = std::max<std::size_t>((total + page - 1) / page, 1) * page;
    void* mapped =
        mmap(nullptr, data + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    char* begin = static_cast<char*>(mapped);
    char* at = begin + data - total;
    if (size > 0) std::memcpy(at, content, size);
    std::memset(at + size, 0xA5, room);
    mprotect(begin + data, page, PROT_NONE);
    const bool is_constant = memory_ == LentMemory::Table || access == LentAccess::ReadOnly;
    if (is_constant) mprotect(begin, data, PROT_READ);
    const std::size_t index = region_count.fetch_add(1);
    if (index < std::size(regions)) {
        Region& region = regions[index];
        copy_text(region.what, what);
        region.end = begin + data;
        region.guard_end = begin + data + page;
        region.begin = begin;
    }
    pieces_.push_back({begin, data, index,
                       std::string(is_constant ? std::string_view(at, size) : std::string_view()),
                       at, what});
    return at;
}

nar_failure* Loan::failure() {
    nar_failure empty{};
    empty.size = sizeof empty;
    return static_cast<nar_failure*>(
        bytes(&empty, sizeof empty, "the nar_failure", 0, LentAccess::Writable));
}

Loan::~Loan() {
    for (const Piece& piece : pieces_) {
        if (piece.region == kNoRegion) {
            std::memset(piece.begin, 0xDD, piece.size);
            std::free(piece.begin);
            continue;
        }
        mprotect(piece.begin, piece.size, PROT_READ);
        if (std::memcmp(piece.at, piece.content.data(), piece.content.size()) != 0) {
            copy_text(this_page->lent_what, piece.what);
            this_page->is_overwritten = kYes;
        }
        if (memory_ == LentMemory::Table) {
            // A later mapping may reuse the address.
            if (piece.region < std::size(regions)) regions[piece.region].guard_end = nullptr;
            munmap(piece.begin, piece.size + page_size());
            continue;
        }
        // Stays mapped without access until the trial ends, so that a late access crashes.
        if (piece.region < std::size(regions)) regions[piece.region].is_over = true;
        madvise(piece.begin, piece.size, MADV_DONTNEED);
        mprotect(piece.begin, piece.size, PROT_NONE);
    }
}

}  // namespace narratoria::command::plugin_check
