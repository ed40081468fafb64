// SPDX-License-Identifier: Apache-2.0
#include "pending_call.hpp"

#include <memory>
#include <string>
#include <utility>

#include "host.hpp"
#include "python_calls.hpp"
#include "session.hpp"
#include "threads.hpp"
#include "tool_threads.hpp"
#include "value.hpp"

namespace narratoria::python {

PendingCall::PendingCall(Session& session, const nar_host* host, std::uint64_t token,
                         py::object request)
    : session_(&session), host_(host), token_(token), request_(std::move(request)) {}

void PendingCall::cancel() {
    is_cancelled_ = true;
    const py::object callback = on_cancel;
    if (!callback.is_none()) call_python(callback);
}

void PendingCall::leave() {
    session_ = nullptr;
    // Usually a method of a task that has this object in its frame.
    const py::object dropped = std::exchange(on_cancel, py::none());
}

int PendingCall::traverse(visitproc visit, void* arg) const {
    Py_VISIT(request_.ptr());
    Py_VISIT(on_cancel.ptr());
    return 0;
}

bool Invocation::emit(py::handle event) {
    if (!is_open()) return false;
    std::string line;
    append_json(line, event, session_->hooks_.attr("to_plain"));
    line += '\n';
    // The conversion may have run code that closed the session.
    if (!is_open()) return false;
    const nar_status status = invocations(host_).output(host_, token_, detail::to_c(line));
    if (status == NAR_FORKED) session_->refuse_forked();
    if (status == NAR_BUSY) {
        throw Error(NAR_BUSY, "OUTPUT_FULL",
                    "16 MiB of this tool's events are unread; in an async function, await "
                    "something and retry",
                    "");
    }
    return status == NAR_OK;
}

bool Invocation::diagnostics(std::string_view text) {
    return is_open() && invocations(host_).diagnostics(host_, token_, detail::to_c(text)) == NAR_OK;
}

void Invocation::deliver_output() {
    if (!is_open()) return;
    session_->directly([&] {
        host_functions<nar_host_context>(host_, NAR_HOST_CONTEXT).deliver_output(host_, token_);
    });
}

void Invocation::end(std::string_view lines, std::string_view code, std::string_view message) {
    if (!is_open()) return;
    const auto kept = session_->take_pending_call(token_);
    tool_is_ending();
    end_invocation(host_, token_, lines, code, message);
    leave();
}

Reply::Reply(Session& session, const nar_host* host, const nar_narrator_request& request)
    : PendingCall(session, host, request.token, to_python(detail::to_view(request.json))) {
    if (request.timeout_ms != NAR_NONE) timeout_ms_ = request.timeout_ms;
}

bool Reply::settle(nar_status status) {
    const auto kept = session_->take_pending_call(token_);
    leave();
    return status == NAR_OK;
}

// Whether the engine took a report of the reply. False: the request has ended.
bool Reply::is_taken(nar_status status) {
    if (status == NAR_BUSY) {
        throw Error(NAR_BUSY, "OUTPUT_FULL",
                    "16 MiB of the narrator's pieces are unread; await something and retry", "");
    }
    return status == NAR_OK;
}

bool Reply::delta(std::string_view text) {
    return is_open() &&
           is_taken(narrator_functions(host_).delta(host_, token_, detail::to_c(text)));
}

bool Reply::usage(std::string_view report) {
    if (!is_open()) return false;
    const nar_status status = narrator_functions(host_).usage(host_, token_, detail::to_c(report));
    if (status == NAR_INVALID_DOCUMENT) {
        throw py::value_error("the usage is not valid; the log has the reason");
    }
    return is_taken(status);
}

bool Reply::plan(std::string_view plan) {
    return is_open() && settle(narrator_functions(host_).reply(host_, token_, detail::to_c(plan)));
}

bool Reply::fail(std::string_view message) {
    return is_open() &&
           settle(narrator_functions(host_).fail(host_, token_, detail::to_c(message)));
}

struct Reply::Invoked {
    Session& session;
    py::object on_outcome;

    static void run(void* user, const nar_invoke_outcome* outcome) noexcept {
        const std::unique_ptr<Invoked> self(static_cast<Invoked*>(user));
        // The function must be dropped with the GIL.
        self->session.call("an invocation's outcome", [&] {
            const py::object function = std::move(self->on_outcome);
            call_python(function, to_python(detail::to_view(outcome->json)));
        });
    }
};

std::uint64_t Reply::invoke(py::handle invocation, py::object on_outcome) {
    if (!is_open()) return 0;
    std::string text;
    append_json(text, invocation, session_->hooks_.attr("to_plain"));
    // The conversion may have run code that closed the session.
    if (!is_open()) return 0;
    auto invoked = std::make_unique<Invoked>(Invoked{*session_, std::move(on_outcome)});
    std::uint64_t number = 0;
    nar_failure failure{};
    failure.size = sizeof failure;
    const nar_status status = host_functions<nar_host_invoke>(host_, NAR_HOST_INVOKE)
                                  .invoke(host_, token_, detail::to_c(text), Invoked::run,
                                          invoked.get(), &number, &failure);
    if (status == NAR_GONE) return 0;
    if (status != NAR_OK) throw Error(status, "INVOCATION", failure.message, "");
    // Owned by the engine from here on, which calls run() once.
    static_cast<void>(invoked.release());
    return number;
}

void Reply::cancel_invocation(std::uint64_t number) {
    if (!is_open()) return;
    host_functions<nar_host_invoke>(host_, NAR_HOST_INVOKE).cancel(host_, token_, number);
}

}  // namespace narratoria::python
