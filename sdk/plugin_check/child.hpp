// SPDX-License-Identifier: Apache-2.0
#pragma once
// A trial of a plugin: a function that runs in its own child process while the parent watches. The
// plugin may crash, hang or exit there; the parent keeps all findings reported until then.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "narratoria/plugin.h"
#include "plugin_check/containment.hpp"

namespace narratoria::command::plugin_check {

// The rules that the plugin breaks if it does not return from a call.
struct Blame {
    std::string_view crash_rule = "P26";
    std::string_view hang_rule = "P23";
    std::string_view exit_rule = "P25";  // it ended the process
};

// Applies in addition to the limits of containment.hpp.
struct TrialOptions {
    double limit = 5;                   // seconds without progress
    double total_limit = 100;           // seconds in all
    std::function<void()> on_progress;  // called while the trial runs; may be empty
};

struct TrialFinding {
    std::string rule;
    bool is_warning = false;
    std::string message;
};

struct TrialOutcome {
    enum class End { Finished, Crashed, Hung, Exited, Exceeded };
    End end = End::Finished;
    std::string broken_rule;        // the rule, unless it finished
    std::string description;        // "crashed (signal 11, Segmentation fault) in init"
    bool has_survivor = false;      // its process could not be ended
    std::set<std::string> covered;  // rules that were checked completely
    std::map<std::string, std::string> skipped;  // rules that do not apply, and why
    std::vector<TrialFinding> findings;
    std::string output;  // the last part of its standard output and error
};

// Reports from the trial's process to the parent. Thread-safe: plugins have threads.
class TrialReport {
public:
    explicit TrialReport(struct TrialPage* page);

    // Bracket each call into the plugin.
    void begin_call(const Blame& blame, std::string_view activity);
    void end_call();
    // Restarts the timeout of the trial, because there is progress.
    void extend_deadline();

    void add_finding(std::string_view rule, std::string_view message);
    void add_warning(std::string_view rule, std::string_view message);
    void add_covered(std::string_view rule);
    void add_skipped(std::string_view rule, std::string_view why);
    bool has_finding(std::string_view rule);
    // Ends the trial as finished. A process that exits in any other way counts as Exited.
    [[noreturn]] void finish();
    // The same, but exits as a host does: atexit handlers and destructors run.
    [[noreturn]] void finish_as_a_host();

private:
    void append_report(const std::string& line);  // the caller holds the lock
    void check_overwritten();
    void exit_forked_copy();

    std::mutex mutex_;
    struct TrialPage* page_;
    const pid_t process_;
    std::size_t report_size_ = 0;  // the plugin can write into the page
    std::map<std::string, std::set<std::string>> reported_;
};

// Called in a trial for a thread that still runs after deinit: if it crashes, the plugin breaks
// P20.
void mark_unjoined_thread(pid_t thread);

// Runs `trial` in a contained child process. Throws Interrupted.
TrialOutcome run_trial(const TrialOptions& options, const std::function<void(TrialReport&)>& trial);

// How memory that is lent to the plugin is protected.
enum class LentMemory {
    Roomy,    // writable; followed by bytes that are not zero and not the plugin's
    Table,    // read-only; the byte after the end is inaccessible
    Guarded,  // the byte after the end is inaccessible; after the loan, all bytes are. ReadOnly
              // memory cannot be written
};

enum class LentAccess { ReadOnly, Writable };

// Pieces of memory that are lent to the plugin together. The destructor takes them back.
class Loan {
public:
    explicit Loan(LentMemory memory) : memory_(memory) {}
    Loan(Loan&&) = delete;
    ~Loan();

    // Copies `content` into lent memory, with `room` more bytes after it. `access` applies to
    // Guarded memory only: Roomy memory is always writable, Table memory never.
    void* bytes(const void* content, std::size_t size, const char* what, std::size_t room = 0,
                LentAccess access = LentAccess::ReadOnly);

    template <typename Struct>
    Struct* object(const Struct& content, const char* what) {
        return static_cast<Struct*>(bytes(&content, sizeof content, what));
    }

    nar_failure* failure();

private:
    struct Piece {
        void* begin;
        std::size_t size;  // without the guard page
        std::size_t region;
        std::string content;  // copy of read-only content, to detect that the plugin unlocked it
        const char* at;
        const char* what;
    };
    LentMemory memory_;
    std::vector<Piece> pieces_;
};

}  // namespace narratoria::command::plugin_check
