// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls of Python functions from C++.

#include <pybind11/pybind11.h>

#include <cstddef>

namespace narratoria::python {

namespace py = pybind11;

// Called when the interpreter has been finalized. Python before 3.14 would end this thread here and
// unwind frames that hold Python objects. Sleeps instead; the process ends soon.
[[noreturn]] void block_forever();

// Calls a Python function. No object with a destructor exists between here and Python, so that a
// thread that Python ends does not touch any object.
py::object call_vector(PyObject* function, PyObject* const* arguments, std::size_t count);

template <class... Arguments>
py::object call_python(const py::object& function, const Arguments&... arguments) {
    PyObject* const all[] = {arguments.ptr()..., nullptr};
    return call_vector(function.ptr(), all, sizeof...(arguments));
}

// Returns the exception with its traceback, which pybind11 stores separately.
py::object exception_of(const py::error_already_set& error);

}  // namespace narratoria::python
