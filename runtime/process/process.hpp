// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that runs as a child process: its pipes and its exit. Everything here is for the engine
// thread only. Pool (process/pool.hpp) starts it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "process/command.hpp"
#include "process/input_pipe.hpp"
#include "process/redactor.hpp"

namespace narratoria::process {

// How a process exited.
struct Exit {
    bool started = false;
    std::string start_failure;  // a message; set if `started` is false
    std::string start_code = "SPAWN_FAILED";
    bool may_retry = true;       // false: another attempt cannot succeed
    bool no_supervisor = false;  // as in StartFailure
    bool supervisor_lost = false;
    std::string loss;     // how the supervisor was lost; set if `supervisor_lost` is true
    int wait_status = 0;  // as returned by wait(2)
    bool ended_before_request = false;  // no request to end it had arrived before it ended
    std::string probable_cause;         // of exit status 127: the error in the script, or empty
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t resident_kb = 0;
    // Counters of its control group; 0 without one. protocol.h defines them.
    uint64_t refused_processes = 0;
    uint64_t memory_limit_hits = 0;
    uint64_t memory_kills = 0;
    // The following need a sandbox.
    std::string receipts;           // JSON, as in attempts[].guarantees; empty without a sandbox
    uint64_t refused_programs = 0;  // attempts to start a process or program
    uint64_t refused_sockets = 0;   // attempts to create a network socket
};

enum class Stream : uint8_t { Input, Output, Diagnostics };

// Receives the events of a process, from the loop. The process may be destroyed in any call. Must
// outlive the process.
class Listener {
public:
    virtual ~Listener() = default;
    // Bytes of standard output. The listener may modify them and read json::kPadding bytes after
    // them.
    virtual void on_output(char* data, size_t size) = 0;
    virtual void on_diagnostics(std::string_view data) = 0;
    // Services only. on_input_drained: all buffered input was written. on_closed: the service
    // closed a stream but still runs.
    virtual void on_input_drained() {}
    virtual void on_closed(Stream) {}
    // The last call: all descendants have ended and the pipes are drained.
    virtual void on_exit(const Exit& exit) = 0;
};

class Supervisor;
class Pool;

// One running program. Pool::start creates it, and on_exit is its last event. Destroying it earlier
// ends the program and all descendants; no listener call follows. The pool must outlive it.
class Process final : private InputPipe::Owner {
public:
    ~Process();  // immediately kills all remaining processes, unless terminate() was called
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // Sends SIGTERM to the process and all its descendants, and SIGKILL after the grace period. 0:
    // immediate SIGKILL.
    void terminate(uint32_t grace_ms);

    // Lets the process survive the destruction of this object. The pool's destructor waits for it,
    // at most `patience_ms` from now.
    void outlive(uint32_t patience_ms);

    // Closes standard output; further output of the process is lost.
    void stop_reading();

    // Returns the input of a running service; otherwise NULL.
    InputPipe* input() { return input_.get(); }

    // The files and folders that a process under no_filesystem_read may read, with symbolic links
    // resolved at its start; NULL: all.
    const std::vector<std::string>* readable() const {
        return is_reading_limited_ ? &readable_ : nullptr;
    }

private:
    friend class Pool;
    friend class Supervisor;
    Process(Pool& pool, Listener& listener);

    void on_input_drained() override;
    void on_input_closed() override;
    void read_output();
    void read_diagnostics();
    void give_output(char* data, size_t size);
    void give_output(std::string& text);
    bool give_diagnostics(std::string_view data);
    bool give_rest();
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
    // Bytes left to drain after exit. Bounded: an unrelated process may have inherited the pipe and
    // keep writing.
    size_t output_left_ = 0;
    size_t diagnostics_left_ = 0;
    bool large_pipe_ = false;
    bool terminating_ = false;
    bool is_service_ = false;
    Lifetime lifetime_;
    // The streams of a program that knows secrets.
    struct Secrets {
        explicit Secrets(const std::vector<std::string>& values)
            : output(values, Redactor::Kind::Json), diagnostics(values, Redactor::Kind::Text) {}
        Redactor output;
        Redactor diagnostics;
    };
    std::unique_ptr<Secrets> secrets_;  // NULL: the output is not redacted
    std::string receipts_;
    bool is_reading_limited_ = false;
    std::vector<std::string> readable_;
};

}  // namespace narratoria::process
