// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running programs as processes: their pipes, their limits, their end. Each runs under a
// supervisor of its own (supervisor/supervisor.c says why), taken from a pool.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/loop.hpp"
#include "narratoria/limits.h"
#include "process/control_groups.hpp"
#include "process/input_pipe.hpp"

namespace narratoria::process {

// UINT64_MAX: no limit of ours. Those of NAR_GROUP_LIMIT_LIST are of all processes of an invocation
// together, and need Pool::enable_limits.
struct Limits {
#define NARRATORIA_LIMIT(name, type, least, text) uint64_t name = UINT64_MAX;
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT

    Controllers controllers() const {
        return {.processes = processes != UINT64_MAX, .memory = resident_bytes != UINT64_MAX};
    }
};

// Tells a function that calls out whether its own object was destroyed meanwhile. `slot` is where
// the object's destructor looks; it is emptied also when an exception leaves the function.
class DestructionWatch {
public:
    explicit DestructionWatch(bool*& slot) : slot_(slot) { slot_ = &destroyed_; }
    ~DestructionWatch() {
        if (!destroyed_) slot_ = nullptr;
    }
    DestructionWatch(const DestructionWatch&) = delete;
    DestructionWatch& operator=(const DestructionWatch&) = delete;
    const bool& destroyed() const { return destroyed_; }

private:
    bool*& slot_;
    bool destroyed_ = false;
};

struct Command {
    std::string path;  // absolute
    std::string folder;
    std::vector<std::string> arguments;  // the first one is the program's own name
    const std::vector<std::string>* environment = nullptr;  // NAME=value
    std::string_view input;  // written to its standard input, then closed
    // Its standard input stays open for Process::input(), `input` is not used, and it counts as busy
    // only once it is being ended.
    bool is_service = false;
    Limits limits;
    const void* owner = nullptr;  // for Pool::end_all_of
};

// How a process came to its end.
struct Exit {
    bool started = false;
    std::string start_failure;  // for people, when it was not started
    bool supervisor_lost = false;
    int wait_status = 0;  // as wait(2) tells it
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
    // Of its control group, 0 without one; protocol.h says what they count.
    uint64_t refused_processes = 0;
    uint64_t memory_limit_hits = 0;
    uint64_t memory_kills = 0;
};

enum class Stream : uint8_t { Input, Output, Diagnostics };

// Whoever runs a process. Each call is made from the loop; the process may be destroyed in any.
class Listener {
public:
    virtual ~Listener() = default;
    // What it wrote to standard output. The bytes may be changed; json::kPadding more may be read.
    virtual void on_output(char* data, size_t size) = 0;
    virtual void on_diagnostics(std::string_view data) = 0;
    // Of a service: all that waited for its input was written; it closed a stream and goes on.
    virtual void on_input_drained() {}
    virtual void on_closed(Stream) {}
    // Nothing of it is left: neither descendants nor anything to read. The last call.
    virtual void on_exit(const Exit& exit) = 0;
};

class Supervisor;
class Pool;

class Process final : private InputPipe::Owner {
public:
    ~Process();  // what still runs is killed at once, or goes on ending as terminate() said
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // SIGTERM to it and all its descendants, after the grace SIGKILL; 0: SIGKILL at once.
    void terminate(uint32_t grace_ms);

    // No more output is wanted; it is thrown away unread.
    void stop_reading();

    // Of a service that has not ended; otherwise NULL.
    InputPipe* input() { return input_.get(); }

private:
    friend class Pool;
    friend class Supervisor;
    Process(Pool& pool, Listener& listener);

    void on_input_drained() override;
    void on_input_closed() override;
    void read_output();
    void read_diagnostics();
    void on_ended(Exit exit);
    void finish_when_drained();
    void finish();

    Pool& pool_;
    Listener* listener_;
    Supervisor* supervisor_ = nullptr;
    std::unique_ptr<InputPipe> input_;
    Descriptor output_;
    Descriptor diagnostics_;
    Watch output_watch_;
    Watch diagnostics_watch_;
    Timer drain_;
    std::string path_;
    std::string folder_;
    Exit exit_;
    bool ended_ = false;
    // Since then: what the pipes still hold of it. A stranger who was given them may write more.
    size_t output_left_ = 0;
    size_t diagnostics_left_ = 0;
    bool large_pipe_ = false;
    bool terminating_ = false;
    bool is_service_ = false;
    bool* destroyed_ = nullptr;  // set while calling the listener
};

struct StartFailure {
    bool out_of_descriptors = false;  // another try may succeed when something has ended
    std::string message;
};

// The supervisors of an engine: started when needed, kept for the next invocation.
class Pool {
public:
    // `supervisor_path`: the program to use; empty: the one inside the library.
    Pool(Loop& loop, std::string supervisor_path);
    // Kills what runs, at once. What end() was called for keeps its grace time, and is waited for.
    ~Pool();

    // From now on each invocation gets a group of its own in this cgroup2 folder. Before the first
    // start. False, and why, when that cannot work: a process is put into one to find out.
    bool use_groups(const std::string& folder, std::string& why);
    // Before limits that need them are set. False, and why, when they cannot be.
    bool enable_limits(Controllers wanted, std::string& why);

    // Nothing when it could not be started, and why.
    std::unique_ptr<Process> start(const Command& command, Listener& listener,
                                   StartFailure& failure);

    // Ends a process that nobody listens to any more: it gets the end of its input and terminate().
    // Until it has ended its output is read and dropped, so that it can still write.
    void end(std::unique_ptr<Process> process, uint32_t grace_ms);

    // Kills, at once, what was started for this owner, also what its process no longer waits for.
    void end_all_of(const void* owner);

    // Invocations whose end has not been seen, also of processes already destroyed, but of services
    // only those that are being ended, and supervisors that are on their way out: what is not busy
    // leaves no zombie.
    size_t busy() const { return busy_ + watched_leaving_; }

    Loop& loop() { return loop_; }

private:
    friend class Process;
    friend class Supervisor;

    Supervisor* take(StartFailure& failure);
    void give_back(Supervisor* supervisor);
    void count_as_busy(Supervisor& supervisor);
    void discard(Supervisor* supervisor);
    int program(StartFailure& failure);
    bool try_group(Controllers limited, std::string& why);
    struct Leaving;
    void reap_leaving();

    Loop& loop_;
    std::string supervisor_path_;
    ControlGroups groups_;
    Controllers tried_;  // a group was limited in these
    Descriptor program_;
    std::vector<std::unique_ptr<Supervisor>> all_;
    std::vector<Supervisor*> idle_;
    class Ending;
    std::vector<std::unique_ptr<Ending>> ending_;  // by end()
    std::vector<std::unique_ptr<Leaving>> leaving_;
    size_t watched_leaving_ = 0;
    size_t busy_ = 0;
};

}  // namespace narratoria::process
