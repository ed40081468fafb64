// SPDX-License-Identifier: Apache-2.0
#pragma once
// narratoria.Event: a record of the event stream. One is made for every event of a Python sink, so
// it is a plain C type that copies the body and parses it on first access.

#include <pybind11/pybind11.h>

#include <string>

#include "narratoria/event.hpp"

namespace narratoria::python {

namespace py = pybind11;

// Adds the type to the module.
void add_event_type(py::module_& module);

// Makes the events of one sink. Caches the ids, which most events share. Needs the GIL.
class EventMaker {
public:
    EventMaker() = default;
    EventMaker(const EventMaker&) = delete;
    EventMaker& operator=(const EventMaker&) = delete;

    // Returns a new reference, or NULL with the exception set.
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
