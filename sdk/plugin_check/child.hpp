// SPDX-License-Identifier: Apache-2.0
#pragma once
// One trial of a plugin: a function in a process of its own, watched from outside. The plugin may
// crash there, hang, leave or do anything else; what was found until then is known here.

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

// Which rules are broken when the plugin does not come back from what it is asked to do.
struct Blame {
    std::string_view crash = "P26";
    std::string_view hang = "P23";
    std::string_view leaving = "P25";  // it ended the process
};

// Beside the limits of containment.hpp.
struct TrialOptions {
    double limit = 5;                // seconds without progress
    double whole = 100;              // seconds in all
    std::function<void()> is_alive;  // called while the trial runs; may be empty
};

struct TrialFinding {
    std::string rule;
    bool is_warning = false;
    std::string message;
};

struct TrialOutcome {
    enum class End { Finished, Crashed, Hung, Left, Exceeded };
    End end = End::Finished;
    std::string blamed;             // the rule, unless it finished
    std::string story;              // "crashed (signal 11, Segmentation fault) in init"
    bool is_left = false;           // its process could not be ended
    std::set<std::string> covered;  // rules that were looked at to the end
    std::map<std::string, std::string> skipped;  // rules that do not apply, and why
    std::vector<TrialFinding> findings;
    std::string output;  // the end of what it wrote to its standard output and error
};

// What the trial's own process says. Thread-safe: plugins have threads.
class TrialReport {
public:
    explicit TrialReport(struct TrialPage* page);

    // Before each thing that is asked of the plugin, and after it.
    void begins(const Blame& blame, std::string_view doing);
    void ends();
    // There is progress: the time that is allowed begins anew.
    void lives();

    void finding(std::string_view rule, std::string_view message);
    void warning(std::string_view rule, std::string_view message);
    void covers(std::string_view rule);
    void skips(std::string_view rule, std::string_view why);
    bool has_finding(std::string_view rule);
    // Everything was said. Without it the trial counts as left.
    [[noreturn]] void finish();
    // The same, but the process ends as a host does: handlers of atexit and destructors run.
    [[noreturn]] void finish_as_a_host();

private:
    void say(const std::string& line);  // with the lock held
    void look_at_page();
    void end_copies();

    std::mutex mutex_;
    struct TrialPage* page_;
    const pid_t process_;
    std::size_t said_size_ = 0;  // the plugin can write into the page
    std::map<std::string, std::set<std::string>> said_;
};

// In a trial: deinit has returned, and this thread still runs. If it crashes, P20 is broken.
void blame_for_outliving(pid_t thread);

// Runs `trial` in a child process, contained. Throws Interrupted.
TrialOutcome run_trial(const TrialOptions& options, const std::function<void(TrialReport&)>& trial);

// Memory that is lent to the plugin for a time.
enum class LentMemory {
    Roomy,    // some bytes follow, which are neither zero nor the plugin's
    Table,    // cannot be written, and the next byte cannot be touched
    Guarded,  // the next byte, and every byte once the loan is over, crashes who touches it; what
              // the plugin may only read cannot be written
};

enum class LentAccess { ReadOnly, Writable };

// What is lent together and taken back together.
class Loan {
public:
    explicit Loan(LentMemory memory) : memory_(memory) {}
    Loan(Loan&&) = delete;
    ~Loan();

    // `access` holds for Guarded memory; Roomy memory can be written, Table memory never.
    void* bytes(const void* content, std::size_t size, const char* what, std::size_t room = 0,
                LentAccess access = LentAccess::ReadOnly);

    template <typename Struct>
    Struct* object(const Struct& content, const char* what) {
        return static_cast<Struct*>(bytes(&content, sizeof content, what));
    }

    // The failure of a call, with `room` bytes for the reason.
    nar_failure* failure(std::size_t room);

private:
    struct Piece {
        void* begin;
        std::size_t size;  // of what was lent, without the guard
        std::size_t region;
        std::string content;  // of what cannot be written, unless the plugin unlocks it
        const char* at;
        const char* what;
    };
    LentMemory memory_;
    std::vector<Piece> pieces_;
};

}  // namespace narratoria::command::plugin_check
