// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between JSON and Python's plain values: dict, list, str, int, float, bool, None. Numbers are exact:
// integers of 64 bits, floats as the shortest text that gives the same again.

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace narratoria::python {

namespace py = pybind11;

// `text` must be followed by a NUL, as every std::string and bytes object is, and be JSON that the
// runtime made or has checked. Throws py::value_error for other text.
py::object to_python(const char* text, std::size_t size);
// The same for a text that may have no NUL behind it.
py::object to_python(std::string_view text);

// Appends a value as JSON on one line. What is no JSON is refused by ValueError or TypeError, with the
// JSON Pointer of the place. `convert` makes a plain value of one that is none, or answers
// NotImplemented; it may be empty.
void append_json(std::string& out, py::handle value, py::handle convert = py::handle());

// UTF-8 text to a str; what is no UTF-8 is replaced.
py::str to_str(std::string_view text);

}  // namespace narratoria::python
