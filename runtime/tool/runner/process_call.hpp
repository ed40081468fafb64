// SPDX-License-Identifier: Apache-2.0
#pragma once
// A call that a process carries: the request is its standard input, the reply its standard output.
// What it prints on standard error becomes log events.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/runner/call.hpp"
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
    // Starts the process, in a sandbox if there are guarantees, which leaves `readable` readable; both
    // may be NULL. False with a `failure`.
    bool start_process(const std::vector<std::string>& arguments, std::string_view input,
                       const std::vector<std::string>& environment, const std::string& folder,
                       StartFailure& failure, const Guarantees* guarantees = nullptr,
                       const std::vector<std::string>* readable = nullptr);
    // Takes a process that somebody else started, with this object as its listener; or NULL.
    bool take_process(std::unique_ptr<Source> process) {
        process_ = std::move(process);
        return process_ != nullptr;
    }
    ProcessRunner& processes() { return processes_; }
    const Limits& limits() const { return limits_; }
    // True if the process did not come to an end of its own.
    bool was_cut_off(const process::Exit& exit) const;
    // Ends the call.
    void on_exit(const process::Exit& exit) override;

private:
    // True if nothing can follow in the reply. The process then has as long to end as a tool after its
    // done event. The reply counts, however it ends.
    virtual bool is_whole(std::string_view) const { return false; }
    // Called once when the call is told to end: what the process has started elsewhere must end, too.
    virtual void on_terminate() {}
    // Of an exit without a reply: what is wrong, for people, instead of the exit; or empty.
    virtual std::string explain(int exit_status) const;

    // Sends what was printed since the last line as a log event. False if the listener destroyed this
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
    Timer linger_;  // runs since the reply was whole
    uint64_t linger_ms_ = 0;
    bool has_lingered_ = false;
    bool told_to_end_ = false;
    bool is_too_long_ = false;
};

}  // namespace narratoria::tool
