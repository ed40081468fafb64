// SPDX-License-Identifier: Apache-2.0
#pragma once
// The child processes of one plugin instance (narratoria.process/1).

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "narratoria/host_process.h"

namespace narratoria::plugin {

class Instance;

// Owns each process from start() until its on_exit() was called or the instance is destroyed.
// Engine thread only.
class ProcessService {
public:
    // The grace period of processes when their instance is destroyed. Only the engine's destructor
    // waits for it.
    static constexpr uint32_t kEndGraceMs = 40;
    // The limit of queued input per process. A single larger write is accepted if nothing is
    // queued.
    static constexpr size_t kMaxWaiting = 64u * 1024 * 1024;

    explicit ProcessService(Instance& instance);
    ~ProcessService();

    // `program` and `events` must be complete structs of this version. On failure, sets `why`.
    nar_status start(const nar_program& program, const nar_process_events& events, void* user,
                     uint64_t* process, std::string& why);
    nar_status write(uint64_t process, std::string_view bytes);
    nar_status close_input(uint64_t process);
    nar_status terminate(uint64_t process, uint32_t grace_ms);
    // Like terminate(), but no further callback is called. May be called from a callback.
    nar_status release(uint64_t process, uint32_t grace_ms);

    // Kills all processes of a disabled instance, without callbacks.
    void kill_all();
    // Terminates all processes when the instance ends. No further callback is called.
    void end_all();

private:
    class Child;
    Child* find(uint64_t process);

    Instance& instance_;
    std::map<uint64_t, std::unique_ptr<Child>> children_;
};

}  // namespace narratoria::plugin
