// SPDX-License-Identifier: Apache-2.0
#pragma once
// The calls of Python functions that the engine waits for.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "narratoria/engine.hpp"

namespace narratoria::python {

namespace py = pybind11;

class Session;

// An open call: an attempt of a tool that is a Python function, or a request to a narrator.
class PendingCall {
public:
    PendingCall(Session& session, const nar_host* host, std::uint64_t token, py::object request);

    py::object request() const { return request_; }
    std::uint64_t token() const { return token_; }
    bool is_cancelled() const { return is_cancelled_; }
    // False after the end. A tool's late events are dropped without an error.
    bool is_open() const { return session_ != nullptr; }
    py::object on_cancel = py::none();

    void cancel();  // called by the engine
    int traverse(visitproc visit, void* arg) const;
    void leave();  // called at the end of the call or of its session

protected:
    Session* session_;
    const nar_host* host_;
    std::uint64_t token_;
    py::object request_;
    bool is_cancelled_ = false;
};

class Invocation : public PendingCall {
public:
    using PendingCall::PendingCall;
    // Set by Python after the function has emitted its own `done`.
    bool is_done = false;
    // Emits one event. False if the attempt has ended.
    bool emit(py::handle event);
    bool diagnostics(std::string_view text);
    // Applies the events emitted so far before it returns, unless an event is being handled.
    void deliver_output();
    // Ends the attempt, once: after these last lines of events, which always have room, and with
    // the code and the message of a failure, if there is one.
    void end(std::string_view lines, std::string_view code, std::string_view message);

private:
    friend class Session;
};

class Reply : public PendingCall {
public:
    Reply(Session& session, const nar_host* host, const nar_narrator_request& request);
    // Nothing if the time is unlimited.
    std::optional<std::uint32_t> timeout_ms() const { return timeout_ms_; }
    // Tells the next piece of the narrative. Returns false if the request has ended.
    bool delta(std::string_view text);
    // Reports what the reply takes. Throws if the report is not valid.
    bool usage(std::string_view report);
    bool plan(std::string_view plan);
    bool fail(std::string_view message);
    // Runs a tool. `on_outcome` is called once, later, with its outcome. Returns 0 if the request has
    // ended.
    std::uint64_t invoke(py::handle invocation, py::object on_outcome);
    void cancel_invocation(std::uint64_t number);

private:
    struct Invoked;
    static bool is_taken(nar_status status);
    bool settle(nar_status status);

    std::optional<std::uint32_t> timeout_ms_;
};

}  // namespace narratoria::python
