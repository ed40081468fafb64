// SPDX-License-Identifier: Apache-2.0
#pragma once
// The child processes of a checked instance: real programs on pipes, without a supervisor. They are
// killed, each with its process group, when the instance ends. Engine thread only.

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"
#include "narratoria/host_process.h"

namespace narratoria::command::plugin_check {

class FakeProcesses {
public:
    // Calls a callback of the plugin.
    using Call = std::function<void(const char* name, const std::function<void()>& ask)>;

    FakeProcesses() = default;
    FakeProcesses(FakeProcesses&&) = delete;
    ~FakeProcesses() { end_all(); }

    // False, and the reason in `why`, if the program could not be started.
    bool start(std::uint64_t handle, std::vector<std::string> arguments,
               std::vector<std::string> environment, const std::string& folder,
               const nar_process_events& events, void* user, std::string& why);
    nar_status write(std::uint64_t handle, std::string_view bytes);
    nar_status close_input(std::uint64_t handle);
    nar_status terminate(std::uint64_t handle, std::uint32_t grace_ms);
    nar_status release(std::uint64_t handle);
    void end_all();

    bool is_empty() const { return all_.empty(); }
    void add_to(std::vector<pollfd>& waiting) const;
    // Writes and reads without waiting, and calls the plugin's callbacks. Detects exits within a
    // few milliseconds of the loop's next round.
    void run(const Call& call);

private:
    struct One {
        pid_t pid = 0;
        Descriptor input, output, diagnostics;
        std::string unsent;
        bool closes_input = false;
        bool was_refused = false;
        std::int64_t kill_at_ms = -1;
        nar_process_events events{};
        void* user = nullptr;
    };

    One* find(std::uint64_t handle);
    void send(std::uint64_t handle, const Call& call);
    void receive(std::uint64_t handle, bool is_output, const Call& call);
    static void kill_group(One& one);

    std::map<std::uint64_t, One> all_;
};

}  // namespace narratoria::command::plugin_check
