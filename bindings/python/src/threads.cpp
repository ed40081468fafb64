// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include <cxxabi.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "python_calls.hpp"

namespace narratoria::python {

Session::CallScope::CallScope(Session& session) : session_(session) {
    session.refuse_forked();
    const std::thread::id caller = std::this_thread::get_id();
    if (session.depth_ > 0 && session.owner_ != caller) {
        throw Error(NAR_BUSY, "SESSION_IN_USE",
                    "another thread is using this session; only one thread may use it at a time "
                    "(cancel() may be called on any thread)",
                    "");
    }
    if (!session.engine_) {
        throw Error(NAR_GONE, "SESSION_CLOSED", "the session is closed; create a new one", "");
    }
    if (session.owner_ != caller) {
        session.engine_->adopt_thread();
        session.owner_ = caller;
    }
    ++session.depth_;
}

Session::CallScope::~CallScope() { session_.leave(); }

void Session::leave() {
    // Dropping these may call leave() again. Not while the engine is being destroyed: see close().
    if (--depth_ == 0 && !is_closing_) std::vector<std::unique_ptr<Registration>>().swap(retired_);
}

narratoria::Session& Session::handle() { return *session_; }

void Session::take_lock() {
    if (released_ == nullptr) return;
    await_ending_tool();
    try {
        PyEval_RestoreThread(std::exchange(released_, nullptr));
    } catch (abi::__forced_unwind&) {
        block_forever();
    }
}

void Session::throw_pending() {
    if (!pending_exception_) return;
    const py::object exception = std::exchange(pending_exception_, py::object());
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
    throw py::error_already_set();
}

void Session::report(const char* what, py::error_already_set& error) noexcept {
    try {
        if (!error.matches(PyExc_Exception)) {
            if (pending_exception_) return;
            pending_exception_ = exception_of(error);
            // Without this, the work would continue until the driving call returns: a narrator
            // would be asked again, and a sink would get all pending events. A direct call ends at
            // once, and its caller may catch the exception.
            if (!is_closing_ && direct_ == 0) handle().cancel();
            return;
        }
        call_python(hooks_.attr("report_exception"), py::str(what), exception_of(error), reported_);
    } catch (py::error_already_set& another) {
        another.discard_as_unraisable("narratoria");
    } catch (...) {
    }
}

}  // namespace narratoria::python
