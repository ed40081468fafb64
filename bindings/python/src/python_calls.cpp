// SPDX-License-Identifier: Apache-2.0
#include "python_calls.hpp"

#include <cxxabi.h>
#include <unistd.h>

namespace narratoria::python {

void block_forever() {
    for (;;) ::pause();
}

py::object call_vector(PyObject* function, PyObject* const* arguments, std::size_t count) {
    PyObject* answer = nullptr;
    try {
        answer = PyObject_Vectorcall(function, arguments, count, nullptr);
    } catch (abi::__forced_unwind&) {
        block_forever();
    }
    if (answer == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(answer);
}

py::object exception_of(const py::error_already_set& error) {
    const py::object exception = error.value();
    if (error.trace() && !error.trace().is_none()) {
        PyException_SetTraceback(exception.ptr(), error.trace().ptr());
    }
    return exception;
}

}  // namespace narratoria::python
