// SPDX-License-Identifier: Apache-2.0
#pragma once
// An attempt whose tool prints events: reads them, judges the end. What stands behind it, a process
// or a plugin that acts like one, is its source.

#include <memory>
#include <string>
#include <string_view>

#include "base/loop.hpp"
#include "event/line_framer.hpp"
#include "process/process.hpp"
#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// The last bytes of what was written.
class Tail {
public:
    void add(std::string_view data);
    std::string text() const;

private:
    std::string text_;
};

// Whatever prints. Destroying it ends what is left.
class Source {
public:
    virtual ~Source() = default;
    virtual void terminate(uint32_t grace_ms) = 0;
    // No more output is wanted.
    virtual void stop_reading() = 0;
};

class StreamAttempt : public Attempt, public process::Listener {
public:
    // `settings` live as long as the attempt.
    StreamAttempt(Loop& loop, const RunnerSettings& settings, const Limits& limits,
                  AttemptListener& listener)
        : settings_(settings),
          limits_(limits),
          listener_(listener),
          framer_(limits.line_bytes),
          linger_(loop) {}
    ~StreamAttempt() override;

    // Before anything is printed.
    void set_source(std::unique_ptr<Source> source) { source_ = std::move(source); }
    bool has_source() const { return source_ != nullptr; }

    void terminate() override;
    std::string diagnostics() const override { return diagnostics_.text(); }

    void on_output(char* data, size_t size) override;
    void on_diagnostics(std::string_view data) override { diagnostics_.add(data); }
    void on_exit(const process::Exit& exit) override;

    // Ends it with a code of the source's own, unless what it printed says worse.
    void on_exit(const process::Exit& exit, std::string code, std::string error);

private:
    bool take(const event::Line& line, const bool& destroyed);
    void count_after_done(std::string_view data);
    uint32_t linger_ms() const;
    void on_linger();
    void note_protocol_error();
    void stop_for_protocol_error();
    std::string describe_protocol_error() const;
    Outcome judge(const process::Exit& exit);

    const RunnerSettings& settings_;
    const Limits limits_;
    std::unique_ptr<Source> source_;
    AttemptListener& listener_;
    event::LineFramer framer_;
    event::Decoder decoder_;
    Tail diagnostics_;
    Timer linger_;
    bool* destroyed_ = nullptr;

    bool done_ = false;
    bool done_ok_ = false;
    bool broken_ = false;
    bool broken_at_the_end_ = false;  // in a last line that has no end
    bool told_to_end_ = false;
    bool lingered_ = false;
    std::string summary_;
    std::string result_;
    std::string last_error_;
    uint64_t lines_after_done_ = 0;
    bool after_done_is_blank_ = true;  // the line that has no end yet
    Fault fault_;
    std::string excerpt_;
    uint64_t fault_line_ = 0;
    std::string own_code_;
    std::string own_error_;
};

}  // namespace narratoria::tool
