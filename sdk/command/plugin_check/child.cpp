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
#include <cstdlib>
#include <cstring>

#include "display.hpp"
#include "io/children.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"

namespace narratoria::command {

// Shared between the trial and who watches it; read when the trial has ended, the count always.
struct TrialPage {
    std::atomic<std::uint64_t> progress;
    std::atomic<bool> busy;  // in the plugin
    char crash[8];
    char hang[8];
    char leaving[8];
    char doing[200];
    std::atomic<int> lent;  // 1: behind the end of what was lent, 2: after its time
    char lent_what[64];
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxFindings = 10;  // of one rule in one trial
constexpr std::size_t kMaxSaid = std::size_t{4} << 20;
// What the check itself may need between two calls.
constexpr double kOwnWork = 30;
constexpr off_t kMaxOutput = 64 * 1024;

TrialPage* this_page = nullptr;

template <std::size_t size>
void copy_text(char (&into)[size], std::string_view text) {
    const std::size_t length = std::min(text.size(), size - 1);
    std::memcpy(into, text.data(), length);
    into[length] = '\0';
}

// ---------------------------------------------------------------- lent memory

struct Region {
    std::atomic<char*> begin;
    std::atomic<char*> end;  // of what was lent
    std::atomic<char*> guard_end;
    std::atomic<bool> is_over;
    char what[64];
};
// As many as one trial lends; a signal handler reads them. More are lent without being watched.
Region regions[16384];
std::atomic<std::size_t> region_count{0};

void tell_lent_memory_apart(int signal, siginfo_t* information, void*) {
    const char* address = static_cast<const char*>(information->si_addr);
    const std::size_t count = std::min(region_count.load(), std::size(regions));
    for (std::size_t index = 0; index < count; ++index) {
        Region& region = regions[index];
        if (address < region.begin.load() || address >= region.guard_end.load()) continue;
        std::memcpy(this_page->lent_what, region.what, sizeof region.what);
        this_page->lent = address < region.end.load() && region.is_over.load() ? 2 : 1;
        break;
    }
    // Comes again as soon as this returns, and then ends the process.
    ::signal(signal, SIG_DFL);
}

std::size_t page_size() {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// ---------------------------------------------------------------- the trial's process

[[noreturn]] void run_in_child(int report, int output, TrialPage* page,
                               const std::function<void(TrialReport&)>& trial) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // What the plugin starts and loses comes here, where it is seen.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    // The command's own handlers, and a sanitizer's, are not what a host has.
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(null);
    close(output);
    this_page = page;
    TrialReport told(report, page);
    try {
        trial(told);
    } catch (const std::exception& error) {
        told.begins({"P26", "P23", "P25"}, "the check itself");
        fprintf(stderr, "the check itself failed: %s\n", error.what());
        _exit(1);
    }
    told.finish();
}

std::string end_of(int output) {
    const off_t size = lseek(output, 0, SEEK_END);
    if (size <= 0) return {};
    const off_t kept = std::min(size, kMaxOutput);
    std::string text(static_cast<std::size_t>(kept), '\0');
    const ssize_t got = pread(output, text.data(), text.size(), size - kept);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

void take_line(std::string_view line, TrialOutcome& outcome, bool& finished) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t tab = line.find('\t');
        parts.push_back(line.substr(0, tab));
        if (tab == std::string_view::npos) break;
        line.remove_prefix(tab + 1);
    }
    if (parts[0] == "end") finished = true;
    if (parts.size() < 2) return;
    const std::string rule(parts[1]);
    if (parts[0] == "covers") outcome.covered.insert(rule);
    if (parts.size() < 3) return;
    if (parts[0] == "skips") outcome.skipped.emplace(rule, parts[2]);
    if (parts[0] == "finding" || parts[0] == "warning") {
        outcome.findings.push_back({rule, parts[0] == "warning", std::string(parts[2])});
    }
}

// True as long as there may be more.
bool read_said(int descriptor, std::string& said) {
    for (;;) {
        char piece[16 * 1024];
        const ssize_t got = read(descriptor, piece, sizeof piece);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (said.size() < kMaxSaid) said.append(piece, static_cast<std::size_t>(got));
    }
}

void judge_end(TrialOutcome& outcome, const TrialPage& page, int wait_status, bool finished,
               bool out_of_time) {
    const bool busy = page.busy.load();
    const std::string doing =
        busy ? fmt::format("in {}", page.doing) : fmt::format("after {}", page.doing);
    if (out_of_time) {
        outcome.end = TrialOutcome::End::Hung;
        outcome.blamed = page.hang;
        outcome.story = fmt::format("did not return {}", doing);
        return;
    }
    if (WIFSIGNALED(wait_status)) {
        outcome.end = TrialOutcome::End::Crashed;
        outcome.blamed = page.crash;
        const std::string what = shown_wait_status(wait_status);
        outcome.story = fmt::format("crashed {}: {}", doing, what);
        if (page.lent == 1) {
            outcome.blamed = "P30";
            outcome.story = fmt::format("touched memory beyond the end of {}, {}: {}",
                                        page.lent_what, doing, what);
        } else if (page.lent == 2) {
            outcome.blamed = "P41";
            outcome.story = fmt::format("touched {}, which was no longer valid, {}: {}",
                                        page.lent_what, doing, what);
        } else if (WTERMSIG(wait_status) == SIGABRT && outcome.blamed == "P26") {
            outcome.blamed = page.leaving;
        }
        return;
    }
    if (!finished) {
        outcome.end = TrialOutcome::End::Left;
        outcome.blamed = page.leaving;
        outcome.story =
            fmt::format("ended the process {} ({})", doing, shown_wait_status(wait_status));
    }
}

}  // namespace

// ---------------------------------------------------------------- TrialReport

TrialReport::TrialReport(int descriptor, TrialPage* page) : descriptor_(descriptor), page_(page) {}

void TrialReport::begins(const Blame& blame, std::string_view doing) {
    copy_text(page_->crash, blame.crash);
    copy_text(page_->hang, blame.hang);
    copy_text(page_->leaving, blame.leaving);
    copy_text(page_->doing, doing);
    page_->busy = true;
    ++page_->progress;
}

void TrialReport::ends() {
    page_->busy = false;
    ++page_->progress;
}

void TrialReport::lives() { ++page_->progress; }

void TrialReport::say(const std::string& line) { write_all(descriptor_, line); }

void TrialReport::finding(std::string_view rule, std::string_view message) {
    const std::lock_guard lock(mutex_);
    auto& said = said_[std::string(rule)];
    if (said.size() >= kMaxFindings || !said.insert(std::string(message)).second) return;
    say(fmt::format("finding\t{}\t{}\n", rule, printable(message)));
}

void TrialReport::warning(std::string_view rule, std::string_view message) {
    const std::lock_guard lock(mutex_);
    say(fmt::format("warning\t{}\t{}\n", rule, printable(message)));
}

void TrialReport::covers(std::string_view rule) {
    const std::lock_guard lock(mutex_);
    say(fmt::format("covers\t{}\n", rule));
}

void TrialReport::skips(std::string_view rule, std::string_view why) {
    const std::lock_guard lock(mutex_);
    say(fmt::format("skips\t{}\t{}\n", rule, printable(why)));
}

bool TrialReport::has_finding(std::string_view rule) {
    const std::lock_guard lock(mutex_);
    return said_.contains(std::string(rule));
}

void TrialReport::finish() {
    say("end\n");
    // No destructor of the plugin's runs: that of a host that ends is no part of the contract.
    _exit(0);
}

// ---------------------------------------------------------------- run_trial

TrialOutcome run_trial(double limit, const std::function<void(TrialReport&)>& trial) {
    void* memory =
        mmap(nullptr, sizeof(TrialPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2];
    const Descriptor output(memfd_create("plugin-output", MFD_CLOEXEC));
    if (memory == MAP_FAILED || !output || pipe2(ends, O_CLOEXEC) != 0) {
        throw Failed(fmt::format("cannot create a process for the check: {}", reason(errno)));
    }
    const std::unique_ptr<TrialPage, void (*)(TrialPage*)> page(
        new (memory) TrialPage{},
        [](TrialPage* shared) { munmap(static_cast<void*>(shared), sizeof(TrialPage)); });
    const Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);

    const pid_t process = fork();
    if (process < 0)
        throw Failed(fmt::format("cannot create a process for the check: {}", reason(errno)));
    if (process == 0) run_in_child(writer.get(), output.get(), page.get(), trial);
    writer.reset();
    setpgid(process, process);
    const Descriptor exit(static_cast<int>(syscall(SYS_pidfd_open, process, 0u)));

    TrialOutcome outcome;
    std::string said;
    std::uint64_t progress = 0;
    Clock::time_point progressed = Clock::now();
    bool may_say_more = true;
    bool out_of_time = false;
    int wait_status = 0;
    for (;;) {
        pollfd waiting[] = {{may_say_more ? reader.get() : -1, POLLIN, 0},
                            {exit.get(), POLLIN, 0},
                            {interruption::descriptor(), POLLIN, 0}};
        poll(waiting, 3, exit ? 50 : 10);
        if (const int signal = interruption::received(); signal != 0) {
            kill(-process, SIGKILL);
            kill(process, SIGKILL);
            end_all_children();
            throw Interrupted{signal};
        }
        if (may_say_more) may_say_more = read_said(reader.get(), said);
        if (waitpid(process, &wait_status, WNOHANG) == process) break;
        if (const std::uint64_t now = page->progress.load(); now != progress) {
            progress = now;
            progressed = Clock::now();
        } else if (!out_of_time &&
                   std::chrono::duration<double>(Clock::now() - progressed).count() >
                       (page->busy.load() ? limit : limit + kOwnWork)) {
            out_of_time = true;
            kill(-process, SIGKILL);
            kill(process, SIGKILL);
        }
    }
    read_said(reader.get(), said);
    kill(-process, SIGKILL);
    end_all_children();

    bool finished = false;
    for (std::string_view rest = said; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos) break;
        take_line(rest.substr(0, end), outcome, finished);
        rest.remove_prefix(end + 1);
    }
    judge_end(outcome, *page, wait_status, finished, out_of_time);
    outcome.output = end_of(output.get());
    return outcome;
}

// ---------------------------------------------------------------- Loan

void watch_lent_memory() {
    // A crash may be one of the stack's.
    static char stack[64 * 1024];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_sigaction = tell_lent_memory_apart;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

void* Loan::bytes(const void* content, std::size_t size, const char* what, std::size_t room) {
    const std::size_t page = page_size();
    if (memory_ == LentMemory::Roomy || region_count.load() >= std::size(regions)) {
        constexpr std::size_t kRoom = 256;
        char* begin = static_cast<char*>(std::malloc(size + room + kRoom));
        if (begin == nullptr) throw std::bad_alloc();
        if (size > 0) std::memcpy(begin, content, size);
        std::memset(begin + size, 0xA5, room + kRoom);
        pieces_.push_back({begin, size, SIZE_MAX});
        return begin;
    }
    const std::size_t whole = size + room;
    const std::size_t data = std::max<std::size_t>((whole + page - 1) / page, 1) * page;
    void* mapped =
        mmap(nullptr, data + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    char* begin = static_cast<char*>(mapped);
    char* at = begin + data - whole;
    if (size > 0) std::memcpy(at, content, size);
    std::memset(at + size, 0xA5, room);
    mprotect(begin + data, page, PROT_NONE);
    const std::size_t index = region_count.fetch_add(1);
    if (index < std::size(regions)) {
        Region& region = regions[index];
        copy_text(region.what, what);
        region.end = begin + data;
        region.guard_end = begin + data + page;
        region.begin = begin;
    }
    pieces_.push_back({begin, data, index});
    return at;
}

Loan::~Loan() {
    for (const Piece& piece : pieces_) {
        if (piece.region == SIZE_MAX) {
            std::memset(piece.begin, 0xDD, piece.size);
            std::free(piece.begin);
            continue;
        }
        // Kept without access until the trial ends: whoever still looks there is found.
        if (piece.region < std::size(regions)) regions[piece.region].is_over = true;
        madvise(piece.begin, piece.size, MADV_DONTNEED);
        mprotect(piece.begin, piece.size, PROT_NONE);
    }
}

}  // namespace narratoria::command
