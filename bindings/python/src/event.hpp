// SPDX-License-Identifier: Apache-2.0
#pragma once
// narratoria.Event: a record of the event stream. Made for every event that a Python sink gets, so it
// is a plain C type: it copies the body and nothing is read before somebody looks.

#include <pybind11/pybind11.h>

#include <string>

#include "narratoria/event.hpp"

namespace narratoria::python {

namespace py = pybind11;

// Adds the type to the module.
void add_event_type(py::module_& module);

// The texts that most events of a session share, made once.
class EventMaker {
public:
    EventMaker() = default;
    EventMaker(const EventMaker&) = delete;
    EventMaker& operator=(const EventMaker&) = delete;

    // A new reference, or NULL with the exception set.
    PyObject* make(const Event& event);

private:
    struct Shared {
        std::string text;
        py::object made;
    };
    static void update(Shared& place, std::string_view text);

    Shared session_id_;
    Shared plan_id_;
    Shared tool_id_;
};

}  // namespace narratoria::python
