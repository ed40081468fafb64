// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times and limits of a session and of a tool.

#include <pybind11/pybind11.h>

#include "narratoria/engine.hpp"

namespace narratoria::python {

namespace py = pybind11;

// Reads numbers by name, from Python's Times or Limits; missing ones have the default.
Times times_of(const py::dict& given);
Limits limits_of(const py::dict& given);

}  // namespace narratoria::python
