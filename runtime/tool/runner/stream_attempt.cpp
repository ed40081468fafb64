// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/stream_attempt.hpp"

#include <sys/wait.h>

#include <csignal>

#include "base/bytes/utf8.hpp"
#include "base/json/tape.hpp"
#include "base/lifetime.hpp"
#include "event/error_code.hpp"
#include "process/limit_end.hpp"

namespace narratoria::tool {
namespace {

// The decoder frees its memory after a line longer than this.
constexpr size_t kLargeLine = 64 * 1024;
constexpr size_t kDiagnosticsTail = 64 * 1024;

}  // namespace

void Tail::add(std::string_view data) {
    if (data.size() > kDiagnosticsTail) data.remove_prefix(data.size() - kDiagnosticsTail);
    // The buffer may grow to twice the size, so that the front is rarely erased.
    if (text_.size() + data.size() > 2 * kDiagnosticsTail) {
        text_.erase(0, text_.size() + data.size() - kDiagnosticsTail);
    }
    text_.append(data);
}

std::string Tail::text() const {
    std::string_view kept = text_;
    if (kept.size() > kDiagnosticsTail) kept.remove_prefix(kept.size() - kDiagnosticsTail);
    // Do not begin in the middle of a UTF-8 character.
    for (int i = 0; i < 3 && !kept.empty() && utf8::continues(kept[0]); ++i) kept.remove_prefix(1);
    return utf8::repaired(kept);
}

StreamAttempt::~StreamAttempt() {
    lifetime_.end();
    // An abandoned tool still gets its grace period, in the background.
    if (source_) source_->terminate(settings_.grace_ms);
}

void StreamAttempt::terminate() {
    terminating_ = true;
    source_->terminate(settings_.grace_ms);
}

void StreamAttempt::on_output(char* data, size_t size) {
    if (done_) return count_after_done({data, size});
    const Lifetime::Watch life = lifetime_.watch();
    listener_.on_batch();
    const bool go_on =
        framer_.feed(data, size, [&](const event::Line& line) { return take(line, life); });
    if (life.ended()) return;
    listener_.on_batch_end();
    if (!go_on && !done_) stop_for_protocol_error();
    // After done, no line limit applies; count and drop the unfinished line now.
    if (done_) count_after_done({});
}

void StreamAttempt::deliver_early() {
    has_ended_early_ = source_->has_ended_early();
    // The source may destroy this object.
    if (has_ended_early_) source_->deliver_early();
}

bool StreamAttempt::take_event(std::string line) {
    if (done_ || broken_ || line.size() > limits_.line_bytes) return false;
    const size_t size = line.size();
    line.append(json::kPadding, '\0');
    const Lifetime::Watch life = lifetime_.watch();
    listener_.on_batch();
    const bool is_taken = take({{line.data(), size}, framer_.line_number(), 0}, life);
    if (life.ended()) return true;
    listener_.on_batch_end();
    return is_taken;
}

void StreamAttempt::on_exit(const process::Exit& exit) {
    linger_.stop();
    if (done_) {
        count_after_done("\n");
    } else if (!broken_) {
        const Lifetime::Watch life = lifetime_.watch();
        listener_.on_batch();
        const bool fine = framer_.finish([&](const event::Line& line) { return take(line, life); });
        if (life.ended()) return;
        listener_.on_batch_end();
        if (!fine) {
            note_protocol_error();
            broken_at_the_end_ = true;
        }
    }
    // Last: the listener may destroy this object.
    listener_.on_ended(judge(exit));
}

void StreamAttempt::on_exit(const process::Exit& exit, std::string code, std::string error) {
    own_code_ = std::move(code);
    own_error_ = std::move(error);
    on_exit(exit);
}

// Returns false to stop reading: the line is not an event, or the listener destroyed the attempt.
bool StreamAttempt::take(const event::Line& line, const Lifetime::Watch& life) {
    if (event::is_blank(line.text)) return true;
    if (done_) {
        // Lines after done are ignored, but drained and counted (spec 000 §4.6).
        ++lines_after_done_;
        return true;
    }
    event::Event event;
    if (!decoder_.decode(line.text, event)) {
        fault_ = decoder_.fault();
        excerpt_ = event::excerpt(line.text, fault_.byte);
        fault_line_ = line.number;
        return false;
    }
    if (event.type == event::Type::Done) {
        done_ = true;
        done_ok_ = event.field(event::Field::Ok).boolean();
        summary_ = event.text(event::Field::Summary);
        const json::Value retry = event.field(event::Field::Retry);
        may_retry_ = !retry || !retry.is_boolean() || retry.boolean();
        if (const json::Value result = event.field(event::Field::Result)) {
            result_ = result.raw();
        }
        if (!has_ended_early_) linger_.start(settings_.linger_ms(), [this] { on_linger(); });
    } else if (event.type == event::Type::Error) {
        error_code_ = event.text(event::Field::ErrorCode);
        error_message_ = event.text(event::Field::ErrorMessage);
    }
    // The listener may destroy this object; `destroyed` lives on the caller's stack.
    listener_.on_event(event);
    if (life.ended()) return false;
    if (line.text.size() > kLargeLine) decoder_.shrink();
    return true;
}

// Counts lines without decoding or storing them. The framer's partial line is the beginning of the
// first one.
void StreamAttempt::count_after_done(std::string_view data) {
    after_done_is_blank_ = after_done_is_blank_ && event::is_blank(framer_.partial());
    framer_.drop_partial();
    for (size_t end = 0; (end = data.find('\n')) != std::string_view::npos;) {
        if (!after_done_is_blank_ || !event::is_blank(data.substr(0, end))) {
            ++lines_after_done_;
        }
        after_done_is_blank_ = true;
        data.remove_prefix(end + 1);
    }
    after_done_is_blank_ = after_done_is_blank_ && event::is_blank(data);
}

void StreamAttempt::on_linger() {
    lingered_ = true;
    terminate();
}

void StreamAttempt::note_protocol_error() {
    broken_ = true;
    if (!framer_.over_limit()) return;
    fault_ = {"event-line-limit", "", framer_.limit(),
              "the line is longer than the limit of " + std::to_string(framer_.limit()) + " bytes",
              ""};
    fault_line_ = framer_.line_number();
    excerpt_ = event::excerpt(framer_.partial().substr(0, 80), 0);
}

void StreamAttempt::stop_for_protocol_error() {
    note_protocol_error();
    source_->stop_reading();
    terminate();
}

std::string StreamAttempt::describe_protocol_error() const {
    // Probably a message for people, not a broken event.
    if (fault_.rule == "json-syntax" && fault_.byte == 0 && !excerpt_.empty() &&
        excerpt_.front() != '{') {
        return "the tool wrote \"" + excerpt_ + "\" to standard output (line " +
               std::to_string(fault_line_) +
               "), where only events (JSON, one per line) belong; write messages to standard error";
    }
    if (framer_.over_limit()) {
        const bool is_result = excerpt_.find("\"type\":\"done\"") != std::string::npos;
        return (is_result ? "the result (line " : "an event (line ") + std::to_string(fault_line_) +
               ") is longer than the limit of " + std::to_string(framer_.limit()) +
               " bytes; write large data to a file and announce it as an asset";
    }
    std::string text =
        "line " + std::to_string(fault_line_) + ", byte " + std::to_string(fault_.byte + 1) + ": ";
    if (!fault_.pointer.empty()) text += fault_.pointer + ": ";
    text += fault_.message + " [" + fault_.rule + "]";
    if (!excerpt_.empty()) text += "; near: " + excerpt_;
    return text;
}

Outcome StreamAttempt::judge(const process::Exit& exit) const {
    Outcome outcome;
    outcome.diagnostics = diagnostics_.text();
    outcome.lines_after_done = lines_after_done_;
    outcome.result = result_;
    outcome.may_retry = may_retry_ && exit.may_retry;
    outcome.user_us = exit.user_us;
    outcome.system_us = exit.system_us;
    outcome.resident_kb = exit.resident_kb;
    outcome.guarantees = exit.receipts;
    outcome.details = details_;
    auto fail = [&](const char* code, std::string error) {
        outcome.code = code;
        outcome.error = std::move(error);
        return outcome;
    };
    if (!exit.start_failure.empty()) {
        outcome.no_supervisor = exit.no_supervisor;
        return fail(exit.start_code.c_str(), exit.start_failure);
    }
    outcome.limit = process::describe_process_limit(limits_, exit, "the tool");
    // If the tool reports no error itself, a limit that it reached is the probable cause.
    const std::string refused = refused_text(name_, exit);
    auto fail_by_itself = [&](const char* code, std::string error) {
        if (!outcome.limit.empty()) return fail("PROCESS_LIMIT", outcome.limit + "; " + error);
        if (!refused.empty()) return fail("GUARANTEE_BLOCKED", refused + " As a result: " + error);
        return fail(code, std::move(error));
    };

    const bool signaled = !exit.supervisor_lost && WIFSIGNALED(exit.wait_status);
    if (signaled) outcome.signal = WTERMSIG(exit.wait_status);
    else if (!exit.supervisor_lost) outcome.exit_status = WEXITSTATUS(exit.wait_status);

    // A half-written last line is a consequence of an abnormal exit, so the exit is reported
    // instead.
    const bool cut_short =
        broken_at_the_end_ && (exit.supervisor_lost || signaled || outcome.exit_status > 0);
    if (broken_ && !cut_short) return fail("PROTOCOL_ERROR", describe_protocol_error());
    if (exit.supervisor_lost) {
        return fail("SUPERVISOR_LOST", "the tool's supervisor " + exit.loss);
    }
    // The runtime terminated a tool that lingered after done: neither the signal nor the exit
    // status is a failure. This does not apply if the tool had already exited and only the removal
    // of its files took long.
    const bool our_death = lingered_ && done_ && !exit.ended_before_request;
    const process::LimitEnd limit = process::limit_end(limits_, exit, terminating_, "the tool");
    if (!limit.code.empty()) return fail(limit.code.c_str(), limit.text);
    if (!own_code_.empty()) {
        return fail(own_code_.c_str(),
                    refused.empty() ? own_error_ : own_error_ + " (" + refused + ")");
    }
    if (signaled && !our_death) {
        return fail_by_itself("SIGNALED",
                              "the tool was terminated by " + process::signal_text(outcome.signal) +
                                  (done_ ? " after its done event" : " before its done event"));
    }
    if (outcome.exit_status > 0 && !our_death) {
        std::string error = "the tool exited with status " + std::to_string(outcome.exit_status) +
                            (done_ ? " after its done event" : " and without a done event");
        if (!exit.probable_cause.empty()) error += "; its program " + exit.probable_cause;
        return fail_by_itself("EXIT_STATUS", std::move(error));
    }
    if (!done_) return fail_by_itself("MISSING_DONE", "the tool exited without a done event");
    if (our_death) {
        outcome.warning_code = "LINGERED";
        outcome.warning = "the tool was still running " + std::to_string(settings_.linger_ms()) +
                          " ms after its done event and was terminated";
        if (outcome.exit_status > 0) {
            outcome.warning +=
                "; its exit status " + std::to_string(outcome.exit_status) + " is ignored";
        }
    }
    judge_done(outcome);
    if (!outcome.ok && !refused.empty()) outcome.error += " (" + refused + ")";
    return outcome;
}

// Applies the `done` event to an outcome that has no other failure.
void StreamAttempt::judge_done(Outcome& outcome) const {
    outcome.ok = done_ok_;
    if (!done_ok_) {
        outcome.code = event::is_error_code(error_code_) ? error_code_ : "TOOL_FAILED";
        outcome.error = !error_message_.empty() ? error_message_
                        : !summary_.empty()     ? summary_
                                                : "the tool reported ok: false";
        if (!outcome.limit.empty()) outcome.error += " (" + outcome.limit + ")";
    } else if (!outcome.limit.empty() && outcome.warning.empty()) {
        outcome.warning_code = "PROCESS_LIMIT";
        outcome.warning = outcome.limit;
    }
}

Outcome StreamAttempt::outcome_of_done() const {
    Outcome outcome;
    outcome.diagnostics = diagnostics_.text();
    outcome.lines_after_done = lines_after_done_;
    outcome.result = result_;
    outcome.may_retry = may_retry_;
    judge_done(outcome);
    return outcome;
}

}  // namespace narratoria::tool
