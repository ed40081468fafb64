// SPDX-License-Identifier: Apache-2.0
#pragma once
// A call to a process: the request is its standard input, the reply its standard output. Lines on
// standard error become log events.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/project/runner/call.hpp"
#include "tool/runner/process_runner.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria::tool {

class ProcessCall : public Call, protected process::Listener {
public:
    // `processes` must outlive the call.
    ProcessCall(ProcessRunner& processes, const Invocation& invocation, AttemptListener& listener);
    ~ProcessCall() override;

    void terminate() override;
    std::string diagnostics() const override { return diagnostics_.text(); }

protected:
    // Starts the process. Runs it in a sandbox if `guarantees` is not NULL; the paths in `readable`
    // stay readable there. Both may be NULL. Returns false with a `failure`.
    bool start_process(const std::vector<std::string>& arguments, std::string_view input,
                       const std::vector<std::string>& environment, const std::string& folder,
                       StartFailure& failure, const Guarantees* guarantees = nullptr,
                       const std::vector<std::string>* readable = nullptr);
    // Takes ownership of a process that has this object as its listener. Returns false for NULL.
    bool take_process(std::unique_ptr<Source> process) {
        process_ = std::move(process);
        return process_ != nullptr;
    }
    ProcessRunner& processes() { return processes_; }
    const Limits& limits() const { return limits_; }
    // True if the process did not exit by itself.
    bool was_cut_off(const process::Exit& exit) const;
    // Ends the call.
    void on_exit(const process::Exit& exit) override;

private:
    // True if the reply is complete. The process then has the same time to exit as a tool after its
    // done event. The reply stands, regardless of how the process exits.
    virtual bool is_whole(std::string_view) const { return false; }
    // Called once when the call is terminated. Must end everything that the process has started
    // elsewhere.
    virtual void on_terminate() {}
    // Returns a message for an exit without a reply, to replace the one about the exit; or empty.
    virtual std::string explain(int exit_status) const;

    // Sends the unfinished line as a log event. Returns false if the listener destroyed this
    // object.
    [[nodiscard]] bool log_printed();
    void await_exit();
    void on_output(char* data, size_t size) override;
    void on_diagnostics(std::string_view data) override;

    ProcessRunner& processes_;
    const Limits limits_;
    std::unique_ptr<Source> process_;
    Tail diagnostics_;
    std::string printed_;  // an unfinished line
    std::string reply_;
    Timer linger_;  // starts when the reply is complete
    uint64_t linger_ms_ = 0;
    bool has_lingered_ = false;
    bool terminating_ = false;
    bool is_too_long_ = false;
};

}  // namespace narratoria::tool
