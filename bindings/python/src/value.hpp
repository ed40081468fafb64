// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts between JSON and Python's plain values: dict, list, str, int, float, bool, None. Numbers
// are exact: integers have 64 bits, and floats are written as the shortest text that reads back
// equal.

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace narratoria::python {

namespace py = pybind11;

// `text` must be followed by a NUL, like every std::string and bytes object, and be JSON that the
// runtime made or has checked. Throws py::value_error for any other text.
py::object to_python(const char* text, std::size_t size);
// The same for text without a NUL after it; copies the text.
py::object to_python(std::string_view text);

// Appends a value as JSON on one line. Refuses a value that is not JSON by ValueError or TypeError,
// with the JSON Pointer of the place. `convert`, which may be empty, converts such a value to a
// plain one or returns NotImplemented.
void append_json(std::string& out, py::handle value, py::handle convert = py::handle());

// Converts UTF-8 to a str; invalid bytes are replaced.
py::str to_str(std::string_view text);

}  // namespace narratoria::python
