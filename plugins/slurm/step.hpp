// SPDX-License-Identifier: Apache-2.0
#pragma once
// One tool as a step of a job: srun, and on the node a shell that reports where the step runs and
// what it used.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/files.hpp"
#include "slurm/messages.hpp"

namespace narratoria::slurm {

// Engine thread only.
class Step {
public:
    struct Request {
        std::uint64_t job = 0;
        std::vector<std::string> options;  // of srun
        std::string limits;                // commands of the shell that set those of the tool
        std::string path;                  // of the tool
        std::vector<std::string> environment;
        std::string folder;
        std::string input;
        // The tool's files come back to a folder in it, if the node does not share it; else empty.
        std::string output_folder;
        std::uint64_t most_file_bytes = 0;
    };
    // Only on_exit may destroy the step.
    struct Events {
        // The step waits for its turn in the job, for this reason; called when the reason changes.
        std::function<void(const std::string& reason)> on_pending;
        // The tool begins.
        std::function<void()> on_started;
        std::function<void(std::string_view bytes)> on_output;
        std::function<void(std::string_view bytes)> on_diagnostics;
        std::function<void(const plugin::ProcessExit& exit)> on_exit;
    };

    // Throws narratoria::Error if srun cannot be started.
    Step(const plugin::Host& host, const Request& request, Events events);
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    void terminate() { srun_.terminate(kGraceMs); }
    bool has_started() const { return has_started_; }
    const Messages& messages() const { return messages_; }
    const std::string& node() const { return node_; }
    // {"step":"17.0","node":"n1"}; empty if the tool has not begun.
    std::string details() const;
    // Processor time of the tool; 0: unknown.
    std::chrono::microseconds user_time() const { return user_time_; }
    std::chrono::microseconds system_time() const { return system_time_; }
    // Largest resident memory of one process of the tool; 0: unknown.
    std::uint64_t resident_bytes() const { return resident_bytes_; }
    // True if the node can write into a folder for the tool's files. Valid once the tool has begun.
    bool has_output_folder() const { return has_output_folder_; }

private:
    // The time in which srun and the tool may end after SIGTERM.
    static constexpr std::uint32_t kGraceMs = 5000;

    void say_pending(const std::string& reason);
    void take_output(std::string_view bytes);
    void pass_on(std::string_view bytes);
    void bring_files(plugin::ProcessExit& exit);
    void take_diagnostics(std::string_view bytes);
    void take_times();
    void take_memory(std::size_t end);

    const Events events_;
    Messages messages_;
    std::string shown_pending_;
    bool has_started_ = false;
    std::string first_line_;   // of the output, until it is complete
    std::string diagnostics_;  // the end, which may contain the times
    std::string id_;
    std::string node_;
    const std::string output_folder_;
    const std::uint64_t most_file_bytes_;
    std::optional<Files> files_;  // once the tool has begun; nothing: the node has no folder for it
    std::chrono::microseconds user_time_{0};
    std::chrono::microseconds system_time_{0};
    std::uint64_t resident_bytes_ = 0;
    bool has_output_folder_ = false;
    plugin::Timer late_;
    plugin::Process srun_;
};

}  // namespace narratoria::slurm
