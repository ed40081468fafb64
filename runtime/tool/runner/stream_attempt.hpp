// SPDX-License-Identifier: Apache-2.0
#pragma once
// An attempt of a tool that prints events: decodes the output and determines the outcome. The
// output comes from a source: a process, or a plugin that acts like one.

#include <memory>
#include <string>
#include <string_view>

#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "event/line_framer.hpp"
#include "process/process.hpp"
#include "tool/runner.hpp"

namespace narratoria::tool {

// Keeps the last bytes of a stream, in bounded memory.
class Tail {
public:
    void add(std::string_view data);
    std::string text() const;

private:
    std::string text_;
};

// The producer of the output, owned by its attempt. The destructor terminates it.
class Source {
public:
    virtual ~Source() = default;
    // True if the tool ended within Runner::start; deliver_early() then delivers what it reported.
    virtual bool has_ended_early() const { return false; }
    virtual void deliver_early() {}
    virtual void terminate(uint32_t grace_ms) = 0;
    // Discards all further output.
    virtual void stop_reading() = 0;
    // As Attempt::readable().
    virtual const std::vector<std::string>* readable() const { return nullptr; }
};

// Needs its source before any output arrives. Ends with one AttemptListener::on_ended(). Engine
// thread only. The listener may destroy the attempt in any call from here.
class StreamAttempt : public Attempt, public process::Listener {
public:
    // `settings` and `listener` must outlive the attempt.
    StreamAttempt(Loop& loop, const RunnerSettings& settings, const Limits& limits,
                  AttemptListener& listener)
        : settings_(settings),
          limits_(limits),
          listener_(listener),
          framer_(limits.line_bytes),
          linger_(loop) {}
    ~StreamAttempt() override;
    // Sets the tool's name for messages about its sandbox.
    void set_name(std::string_view name) { name_ = name; }

    // Must be called before any output arrives.
    void set_source(std::unique_ptr<Source> source) { source_ = std::move(source); }
    bool has_source() const { return source_ != nullptr; }

    // Calls AttemptListener::on_started(). For a source that produces output while it is started.
    void start_early() { listener_.on_started(); }
    // As AttemptListener::on_waiting().
    void set_waiting(bool waits) { listener_.on_waiting(waits); }
    // Details of the outcome, a JSON object.
    void set_details(std::string details) { details_ = std::move(details); }

    // Handles an event that the tool sends by a function call instead of writing it. `line` must be
    // a valid event, but not done. The event has taken effect when this returns. Returns false
    // after done or an invalid line, or if `line` exceeds the line limit. Must not be called while
    // output is handled.
    bool take_event(std::string line);

    void deliver_early() override;
    void terminate() override;
    std::string diagnostics() const override { return diagnostics_.text(); }
    const std::vector<std::string>* readable() const override { return source_->readable(); }
    Outcome outcome_of_done() const override;

    void on_output(char* data, size_t size) override;
    void on_diagnostics(std::string_view data) override { diagnostics_.add(data); }
    void on_exit(const process::Exit& exit) override;

    // Like on_exit(exit), with an error code from the source. A more severe failure in the output
    // or the exit takes precedence.
    void on_exit(const process::Exit& exit, std::string code, std::string error);

private:
    bool take(const event::Line& line, const Lifetime::Watch& life);
    void count_after_done(std::string_view data);
    void on_linger();
    void note_protocol_error();
    void stop_for_protocol_error();
    std::string describe_protocol_error() const;
    Outcome judge(const process::Exit& exit) const;
    void judge_done(Outcome& outcome) const;

    const RunnerSettings& settings_;
    const Limits limits_;
    std::unique_ptr<Source> source_;
    AttemptListener& listener_;
    event::LineFramer framer_;
    event::Decoder decoder_;
    Tail diagnostics_;
    Timer linger_;
    Lifetime lifetime_;

    bool done_ = false;
    bool done_ok_ = false;
    bool may_retry_ = true;
    bool broken_ = false;
    bool broken_at_the_end_ = false;  // the error is in a last line without a newline
    bool terminating_ = false;
    bool has_ended_early_ = false;  // the end follows in deliver_early()
    bool lingered_ = false;
    std::string summary_;
    std::string result_;
    std::string error_code_;  // of the last error event
    std::string error_message_;
    uint64_t lines_after_done_ = 0;
    bool after_done_is_blank_ = true;  // the unfinished line is blank so far
    Fault fault_;
    std::string excerpt_;
    uint64_t fault_line_ = 0;
    std::string own_code_;
    std::string name_ = "the tool";
    std::string own_error_;
    std::string details_;
};

}  // namespace narratoria::tool
