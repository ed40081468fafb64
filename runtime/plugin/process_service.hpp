// SPDX-License-Identifier: Apache-2.0
#pragma once
// The child processes of one instance (narratoria.process/1). Engine thread only. A process is owned
// here from start() until its on_exit was called, or until the instance ends.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "narratoria/host_process.h"

namespace narratoria::plugin {

class Instance;

class ProcessService {
public:
    // How long a process may take to end when its instance does. Nobody waits for it, but the end of
    // the engine.
    static constexpr uint32_t kEndGraceMs = 40;
    // What may wait for a process that does not read, unless it is a single write.
    static constexpr size_t kMaxWaiting = 64u * 1024 * 1024;

    explicit ProcessService(Instance& instance);
    ~ProcessService();

    // `program` and `events` are whole structs of this version. `why` is set on failure.
    nar_status start(const nar_program& program, const nar_process_events& events, void* user,
                     uint64_t* process, std::string& why);
    nar_status write(uint64_t process, std::string_view bytes);
    nar_status close_input(uint64_t process);
    nar_status terminate(uint64_t process, uint32_t grace_ms);
    // As terminate, and no callback is called any more. May be called in one.
    nar_status release(uint64_t process, uint32_t grace_ms);

    // The instance is disabled: all are killed, and their ends are told to nobody.
    void kill_all();
    // The instance ends. No callback is called any more.
    void end_all();

private:
    class Child;
    Child* find(uint64_t process);

    Instance& instance_;
    std::map<uint64_t, std::unique_ptr<Child>> children_;
};

}  // namespace narratoria::plugin
