// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ways in which a session calls Python and is called by it; the rules are in session.hpp.

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "session.hpp"
#include "tool_threads.hpp"

namespace narratoria::python {

template <class Drive>
void Session::without_lock(Drive&& drive) {
    struct LockGuard {
        Session& session;
        ~LockGuard() { session.take_lock(); }
    } guard{*this};
    released_ = PyEval_SaveThread();
    lock_was_released();
    drive();
}

template <class Call>
bool Session::call(const char* what, Call&& callback) noexcept {
    take_lock();
    try {
        callback();
        return true;
    } catch (py::error_already_set& error) {
        report(what, error);
    } catch (const py::builtin_exception& error) {
        error.set_error();
        py::error_already_set made;
        report(what, made);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        py::error_already_set made;
        report(what, made);
    }
    return false;
}

template <class Call>
auto Session::directly(Call&& call) {
    const CallScope inside(*this);
    struct Direct {
        explicit Direct(std::uint32_t& its_depth) : depth(its_depth) { ++depth; }
        ~Direct() { --depth; }
        std::uint32_t& depth;
    } const direct(direct_);
    // An exception that was kept before belongs to the driving call.
    const bool had_pending_exception = static_cast<bool>(pending_exception_);
    const auto throw_new_exception = [&] {
        if (!had_pending_exception) throw_pending();
    };
    try {
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            throw_new_exception();
        } else {
            auto out = call();
            throw_new_exception();
            return out;
        }
    } catch (...) {
        throw_new_exception();
        throw;
    }
}

}  // namespace narratoria::python
