// SPDX-License-Identifier: Apache-2.0
#include "event.hpp"

#include <structmember.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "narratoria/utf8.hpp"
#include "value.hpp"

namespace narratoria::python {
namespace {

struct EventObject {
    PyObject_HEAD std::uint64_t seq;
    std::int64_t time_us;
    std::uint32_t kind;
    std::uint32_t type;
    std::uint32_t attempt;
    PyObject* session_id;  // str
    PyObject* plan_id;     // str or None
    PyObject* tool_id;     // str or None
    PyObject* bytes;       // the body as received
    PyObject* body;        // the body as a dict; NULL before the first access
    PyObject* data;        // the body as an object of its class; NULL before the first access
};

PyTypeObject* event_type = nullptr;

EventObject* of(PyObject* object) { return reinterpret_cast<EventObject*>(object); }

constexpr std::array<const char*, 7> kTypes = {nullptr,    "log",   "state_patch", "asset",
                                               "ui_event", "error", "done"};

PyObject* new_reference(PyObject* object) {
    Py_INCREF(object);
    return object;
}

// Converts a C++ exception of a getter to Python's.
template <typename Get>
PyObject* guarded(Get&& get) noexcept {
    try {
        return get();
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    }
    return nullptr;
}

void event_dealloc(PyObject* self) {
    EventObject* event = of(self);
    Py_XDECREF(event->session_id);
    Py_XDECREF(event->plan_id);
    Py_XDECREF(event->tool_id);
    Py_XDECREF(event->bytes);
    Py_XDECREF(event->body);
    Py_XDECREF(event->data);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* get_seq(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(of(self)->seq); }
PyObject* get_attempt(PyObject* self, void*) {
    if (of(self)->attempt == 0) return new_reference(Py_None);
    return PyLong_FromUnsignedLong(of(self)->attempt);
}
PyObject* get_session_id(PyObject* self, void*) { return new_reference(of(self)->session_id); }
PyObject* get_plan_id(PyObject* self, void*) { return new_reference(of(self)->plan_id); }
PyObject* get_tool_id(PyObject* self, void*) { return new_reference(of(self)->tool_id); }

PyObject* get_kind(PyObject* self, void*) {
    static std::array<PyObject*, 32> made{};
    const std::uint32_t kind = of(self)->kind;
    const char* name = nar_kind_name(kind);
    if (name == nullptr) return PyUnicode_FromFormat("kind_%u", static_cast<unsigned>(kind));
    if (kind >= made.size()) return PyUnicode_InternFromString(name);
    if (made[kind] == nullptr) made[kind] = PyUnicode_InternFromString(name);
    return made[kind] == nullptr ? nullptr : new_reference(made[kind]);
}

PyObject* get_type(PyObject* self, void*) {
    static std::array<PyObject*, kTypes.size()> made{};
    const std::uint32_t type = of(self)->type;
    if (type == 0 || type >= kTypes.size()) return new_reference(Py_None);
    if (made[type] == nullptr) made[type] = PyUnicode_InternFromString(kTypes[type]);
    return made[type] == nullptr ? nullptr : new_reference(made[type]);
}

PyObject* get_time(PyObject* self, void*) {
    return guarded([&] {
        // Integer arithmetic: a float of seconds would lose microseconds.
        const py::module_ datetime = py::module_::import("datetime");
        const py::object utc = datetime.attr("timezone").attr("utc");
        const py::object start = datetime.attr("datetime")(1970, 1, 1, 0, 0, 0, 0, utc);
        const py::object since =
            datetime.attr("timedelta")(py::arg("microseconds") = of(self)->time_us);
        return (start + since).release().ptr();
    });
}

PyObject* get_text(PyObject* self, void*) {
    const PyObject* bytes = of(self)->bytes;
    return PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), "replace");
}

// Another thread may have filled `place` meanwhile. Takes ownership of `made`.
void set_if_null(PyObject*& place, PyObject* made) {
    if (place == nullptr) place = made;
    else Py_DECREF(made);
}

PyObject* get_body(PyObject* self, void*) {
    EventObject* event = of(self);
    if (event->body == nullptr) {
        PyObject* made = guarded([&] {
            return to_python(PyBytes_AS_STRING(event->bytes),
                             static_cast<std::size_t>(PyBytes_GET_SIZE(event->bytes)))
                .release()
                .ptr();
        });
        if (made == nullptr) return nullptr;
        set_if_null(event->body, made);
    }
    return new_reference(event->body);
}

// ---- a body as an object of its class, without running Python

// A class of narratoria.events, as its dataclass describes it.
struct BodyClass {
    struct Field {
        PyObject* name;     // in JSON
        Py_ssize_t offset;  // of the slot
        char check;         // the accepted values, see accepts()
        bool is_required;
        bool is_optional;     // an explicit null is kept in `extra`
        PyObject* otherwise;  // the default, or the function that makes it
        bool is_factory;      // `otherwise` is a function
    };
    PyTypeObject* type = nullptr;
    PyObject* names = nullptr;  // of all members, a frozenset
    Py_ssize_t extra = 0;
    std::vector<std::pair<PyObject*, PyObject*>> constants;
    std::vector<Field> fields;
};

// By kind; after the kinds, by type for a tool's events. They live as long as the process.
std::array<std::unique_ptr<BodyClass>, 64 + kTypes.size()> body_classes;

std::size_t body_class_index(std::uint32_t kind, std::uint32_t type) {
    if (kind == NAR_KIND_TOOL_EVENT) return type < kTypes.size() ? 64 + type : 0;
    return kind < 64 ? kind : 0;
}

bool accepts(char check, PyObject* value) {
    switch (check) {
        case 't':
            if (!PyList_CheckExact(value)) return false;
            for (Py_ssize_t at = 0; at < PyList_GET_SIZE(value); ++at) {
                if (!PyUnicode_CheckExact(PyList_GET_ITEM(value, at))) return false;
            }
            return true;
        case 's': return PyUnicode_CheckExact(value);
        case 'n': return PyUnicode_CheckExact(value) || value == Py_None;
        case 'b': return PyBool_Check(value);
        case 'i': return PyLong_CheckExact(value);
        case 'm': return PyDict_CheckExact(value);
        case 'a': return true;
        case 'l':
            if (!PyUnicode_CheckExact(value)) return false;
            for (const char* level : {"info", "debug", "warn", "error"}) {
                if (PyUnicode_CompareWithASCIIString(value, level) == 0) return true;
            }
            return false;
        default: return false;
    }
}

// Returns a new reference to a field's value. Lists are copied, as by the readers in Python.
PyObject* field_value(char check, PyObject* value) {
    if (check == 't') return PyList_GetSlice(value, 0, PyList_GET_SIZE(value));
    return new_reference(value);
}

// Returns the value of a missing field.
PyObject* default_value(const BodyClass::Field& field) {
    if (!field.is_factory) return new_reference(field.otherwise);
    if (PyType_Check(field.otherwise)) {
        auto* const type = reinterpret_cast<PyTypeObject*>(field.otherwise);
        // A dict, a list or a subclass without its own __init__: a call would take twice as long.
        if (type->tp_init == PyDict_Type.tp_init || type->tp_init == PyList_Type.tp_init) {
            static PyObject* const no_arguments = PyTuple_New(0);
            return type->tp_new(type, no_arguments, nullptr);
        }
    }
    return PyObject_CallNoArgs(field.otherwise);
}

// Adds the unknown members, in the order of the body.
void add_unknown(const BodyClass& body_class, PyObject* body, PyObject* extra) {
    Py_ssize_t position = 0;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(body, &position, &name, &value) != 0) {
        const int is_known = PySet_Contains(body_class.names, name);
        if (is_known < 0 || (is_known == 0 && PyDict_SetItem(extra, name, value) != 0)) {
            throw py::error_already_set();
        }
    }
}

// Returns NULL without an exception for an unusual body, which Python code must read.
PyObject* make_data(const BodyClass& body_class, PyObject* body) {
    if (!PyDict_CheckExact(body)) return nullptr;
    for (const auto& [name, constant] : body_class.constants) {
        PyObject* value = PyDict_GetItemWithError(body, name);
        if (value == nullptr || !PyUnicode_CheckExact(value) ||
            PyUnicode_Compare(value, constant) != 0) {
            PyErr_Clear();
            return nullptr;
        }
    }
    py::object made =
        py::reinterpret_steal<py::object>(body_class.type->tp_alloc(body_class.type, 0));
    if (!made) throw py::error_already_set();
    const auto slot = [&](Py_ssize_t offset) -> PyObject*& {
        return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made.ptr()) + offset);
    };
    auto known = static_cast<Py_ssize_t>(body_class.constants.size());
    for (const BodyClass::Field& field : body_class.fields) {
        PyObject* value = PyDict_GetItemWithError(body, field.name);
        if (value != nullptr) {
            if (!accepts(field.check, value) || (field.is_optional && value == Py_None)) {
                return nullptr;
            }
            ++known;
        } else {
            if (PyErr_Occurred() != nullptr) throw py::error_already_set();
            if (field.is_required) return nullptr;
        }
        PyObject* held = value != nullptr ? field_value(field.check, value) : default_value(field);
        if (held == nullptr) throw py::error_already_set();
        slot(field.offset) = held;
    }
    PyObject* extra = PyDict_New();
    if (extra == nullptr) throw py::error_already_set();
    slot(body_class.extra) = extra;
    if (known != PyDict_GET_SIZE(body)) add_unknown(body_class, body, extra);
    return made.release().ptr();
}

Py_ssize_t slot_offset(const py::handle& descriptor) {
    if (!Py_IS_TYPE(descriptor.ptr(), &PyMemberDescr_Type)) {
        throw py::type_error("a class of events must have a slot for each attribute");
    }
    return reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member->offset;
}

PyObject* get_data(PyObject* self, void*) {
    EventObject* event = of(self);
    if (event->data == nullptr) {
        PyObject* made = guarded([&]() -> PyObject* {
            static bool is_filled = false;
            if (!is_filled) {
                py::module_::import("narratoria._hooks").attr("add_body_classes")();
                is_filled = true;
            }
            const auto& known = body_classes[body_class_index(event->kind, event->type)];
            if (known) {
                const py::object body = py::reinterpret_steal<py::object>(get_body(self, nullptr));
                if (!body) throw py::error_already_set();
                if (PyObject* data = make_data(*known, body.ptr())) return data;
            }
            const py::object kind = py::reinterpret_steal<py::object>(get_kind(self, nullptr));
            const py::object body = py::reinterpret_steal<py::object>(get_body(self, nullptr));
            if (!kind || !body) throw py::error_already_set();
            return py::module_::import("narratoria.events")
                .attr("event_from_dict")(kind, body)
                .release()
                .ptr();
        });
        if (made == nullptr) return nullptr;
        set_if_null(event->data, made);
    }
    return new_reference(event->data);
}

PyObject* to_dict(PyObject* self, PyObject*) {
    return guarded([&] {
        const py::handle event(self);
        const py::object time =
            event.attr("time").attr("isoformat")(py::arg("timespec") = "microseconds");
        py::dict out;
        out["seq"] = event.attr("seq");
        out["time"] = time.attr("replace")("+00:00", "Z");
        out["sessionId"] = event.attr("session_id");
        out["planId"] = event.attr("plan_id");
        out["toolId"] = event.attr("tool_id");
        out["attempt"] = event.attr("attempt");
        out["kind"] = event.attr("kind");
        out["event"] = event.attr("body");
        return out.release().ptr();
    });
}

PyObject* to_json(PyObject* self, PyObject*) {
    return guarded([&] {
        const EventObject& event = *of(self);
        auto view = [](PyObject* text) -> nar_str {
            if (text == Py_None) return {};
            Py_ssize_t size = 0;
            const char* data = PyUnicode_AsUTF8AndSize(text, &size);
            if (data == nullptr) throw py::error_already_set();
            return {data, static_cast<std::uint64_t>(size)};
        };
        nar_event raw{};
        raw.size = sizeof raw;
        raw.kind = event.kind;
        raw.type = event.type;
        raw.attempt = event.attempt;
        raw.seq = event.seq;
        raw.time_us = event.time_us;
        raw.session_id = view(event.session_id);
        raw.plan_id = view(event.plan_id);
        raw.tool_id = view(event.tool_id);
        raw.body = {PyBytes_AS_STRING(event.bytes),
                    static_cast<std::uint64_t>(PyBytes_GET_SIZE(event.bytes))};
        return to_str(Event(raw).json().view()).release().ptr();
    });
}

PyObject* event_repr(PyObject* self) {
    return guarded([&] {
        const py::handle event(self);
        std::string out = "<Event " + std::to_string(of(self)->seq) + " ";
        const py::object type = event.attr("type");
        out += py::cast<std::string>(type.is_none() ? event.attr("kind") : py::object(type));
        if (!event.attr("tool_id").is_none()) {
            out += " of " + py::cast<std::string>(event.attr("tool_id"));
            if (of(self)->attempt > 1)
                out += " (attempt " + std::to_string(of(self)->attempt) + ")";
        }
        // The part of the body that fits on a line.
        constexpr std::size_t kLongest = 100;
        const auto text = py::cast<std::string>(event.attr("text"));
        const std::string_view shown = detail::prefix_of(text, kLongest);
        out.append(": ").append(shown).append(shown.size() < text.size() ? "…>" : ">");
        return to_str(out).release().ptr();
    });
}

// For pickle and copy: the arguments of restore_event.
PyObject* reduce(PyObject* self, PyObject*) {
    return guarded([&] {
        const EventObject& event = *of(self);
        const py::object restore = py::module_::import("narratoria._hooks").attr("restore_event");
        const py::tuple state =
            py::make_tuple(event.seq, event.time_us, event.kind, event.type, event.attempt,
                           py::handle(event.session_id), py::handle(event.plan_id),
                           py::handle(event.tool_id), py::handle(event.bytes));
        return py::make_tuple(restore, state).release().ptr();
    });
}

PyGetSetDef getters[] = {
    {"seq", get_seq, nullptr,
     "int: from 1, without gaps within a session, in order of reading and merging.", nullptr},
    {"time", get_time, nullptr, "datetime.datetime: when it was read, in UTC.", nullptr},
    {"session_id", get_session_id, nullptr, "str: the session.", nullptr},
    {"plan_id", get_plan_id, nullptr, "str | None: the plan's requestId; None outside a plan.",
     nullptr},
    {"tool_id", get_tool_id, nullptr, "str | None: the tool's toolId in that plan.", nullptr},
    {"attempt", get_attempt, nullptr, "int | None: the tool's attempt, from 1.", nullptr},
    {"kind", get_kind, nullptr, "str: \"tool_event\", or a step of the runtime.", nullptr},
    {"type", get_type, nullptr,
     "str | None: the type of a tool's event: \"log\", \"done\" …; otherwise None.", nullptr},
    {"text", get_text, nullptr, "str: the body as JSON; for a tool's event as the tool wrote it.",
     nullptr},
    {"body", get_body, nullptr, "dict: the body, parsed on first access.", nullptr},
    {"data", get_data, nullptr,
     "the body as an object of its class, for pattern matching: Log, Done, PlanStarted …", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"to_dict", to_dict, METH_NOARGS,
     "to_dict()\n--\n\nReturns the whole record {seq, time, sessionId, planId, "
     "toolId, attempt, kind, event}, "
     "as `narratoria run --events` writes it.\n\n"
     ">>> import narratoria\n"
     ">>> with narratoria.Session(id=\"cellar\") as session:\n"
     "...     seen = []\n"
     "...     _ = session.add_sink(seen.append, [\"plan_ended\"])\n"
     "...     _ = session.execute({\"requestId\": \"p\", \"tools\": []})\n"
     ">>> record = seen[0].to_dict()\n"
     ">>> record[\"sessionId\"], record[\"planId\"], record[\"kind\"]\n"
     "('cellar', 'p', 'plan_ended')\n"},
    {"to_json", to_json, METH_NOARGS,
     "to_json()\n--\n\nReturns the record as one line of JSON, without parsing the body: for a "
     "file, or for server-sent events.\n\n"
     ">>> import narratoria\n"
     ">>> with narratoria.Session() as session:\n"
     "...     _ = session.add_sink(lambda event: print(event.to_json()), kinds=[\"plan_ended\"])\n"
     "...     _ = session.execute({\"requestId\": \"p\", \"tools\": []})\n"
     "{\"seq\":2,...\"kind\":\"plan_ended\",...}\n"},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

constexpr const char* kDoc =
    "One record of a session's event stream: an event of a tool, or a step of the runtime.\n"
    "\n"
    "Sinks and ``async for event in session.events()`` receive them. The body is parsed on first\n"
    "access.\n"
    "\n"
    ">>> import narratoria\n"
    ">>> with narratoria.Session() as session:\n"
    "...     seen = []\n"
    "...     session.add_sink(seen.append, kinds=[\"plan_ended\"])\n"
    "...     session.execute({\"requestId\": \"p\", \"tools\": []})\n"
    "<built-in method append ...\n"
    "<Result ...\n"
    ">>> seen[0].kind, seen[0].body[\"success\"]\n"
    "('plan_ended', True)\n";

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(event_dealloc)},
                       {Py_tp_repr, reinterpret_cast<void*>(event_repr)},
                       {Py_tp_getset, getters},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>(kDoc)},
                       {0, nullptr}};

PyType_Spec spec = {"narratoria.Event", static_cast<int>(sizeof(EventObject)), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void add_event_type(py::module_& module) {
    py::object made = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
    if (!made) throw py::error_already_set();
    made.attr("__match_args__") = py::make_tuple("kind", "data");
    event_type = reinterpret_cast<PyTypeObject*>(made.ptr());
    // Lives as long as the process: events may outlive the module.
    made.inc_ref();
    module.attr("Event") = made;
    module.def("restore_event",
               [](std::uint64_t seq, std::int64_t time_us, std::uint32_t kind, std::uint32_t type,
                  std::uint32_t attempt, const py::str& session_id, const py::object& plan_id,
                  const py::object& tool_id, const py::bytes& bytes) {
                   for (const py::object& id : {plan_id, tool_id}) {
                       if (!id.is_none() && !py::isinstance<py::str>(id)) {
                           throw py::type_error("an id of an event must be a str or None");
                       }
                   }
                   EventObject* out = PyObject_New(EventObject, event_type);
                   if (out == nullptr) throw py::error_already_set();
                   out->seq = seq;
                   out->time_us = time_us;
                   out->kind = kind;
                   out->type = type;
                   out->attempt = attempt;
                   out->session_id = new_reference(session_id.ptr());
                   out->plan_id = new_reference(plan_id.ptr());
                   out->tool_id = new_reference(tool_id.ptr());
                   out->bytes = new_reference(bytes.ptr());
                   out->body = nullptr;
                   out->data = nullptr;
                   return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(out));
               });
    // Adds a class of narratoria.events. Each field is a tuple: name in JSON, slot, check, is
    // required, is optional, default, whether the default is a function.
    module.def("add_body_class", [](const std::string& kind_name, const std::string& type_name,
                                    const py::type& type, const py::dict& constants,
                                    const py::object& extra, const py::list& fields) {
        std::uint32_t kind = 1;
        while (nar_kind_name(kind) != nullptr && nar_kind_name(kind) != kind_name) ++kind;
        std::uint32_t number = 0;
        for (std::uint32_t each = 1; each < kTypes.size(); ++each) {
            if (type_name == kTypes[each]) number = each;
        }
        const std::size_t index = body_class_index(kind, number);
        if (nar_kind_name(kind) == nullptr || index == 0) return;
        auto known = std::make_unique<BodyClass>();
        known->type = reinterpret_cast<PyTypeObject*>(new_reference(type.ptr()));
        known->names = new_reference(py::object(type.attr("_names")).ptr());
        if (!PyAnySet_Check(known->names))
            throw py::type_error("the names of members must be a set");
        known->extra = slot_offset(extra);
        for (const auto& [name, value] : constants) {
            known->constants.emplace_back(new_reference(name.ptr()), new_reference(value.ptr()));
        }
        for (const py::handle each : fields) {
            const auto field = py::cast<py::tuple>(each);
            known->fields.push_back(
                {new_reference(py::object(field[0]).ptr()), slot_offset(field[1]),
                 py::cast<char>(field[2]), py::cast<bool>(field[3]), py::cast<bool>(field[4]),
                 new_reference(py::object(field[5]).ptr()), py::cast<bool>(field[6])});
        }
        body_classes[index] = std::move(known);
    });
}

void EventMaker::update(Shared& place, std::string_view text) {
    if (place.made && place.text == text) return;
    place.made = text.empty() ? py::object(py::none()) : py::object(to_str(text));
    place.text = text;
}

PyObject* EventMaker::make(const Event& event) {
    const nar_event& raw = event.raw();
    update(session_id_, event.session_id());
    update(plan_id_, event.plan_id());
    update(tool_id_, event.tool_id());
    PyObject* bytes =
        PyBytes_FromStringAndSize(raw.body.data, static_cast<Py_ssize_t>(raw.body.size));
    EventObject* made = bytes == nullptr ? nullptr : PyObject_New(EventObject, event_type);
    if (made == nullptr) {
        Py_XDECREF(bytes);
        return nullptr;
    }
    made->seq = raw.seq;
    made->time_us = raw.time_us;
    made->kind = raw.kind;
    made->type = raw.type;
    made->attempt = raw.attempt;
    made->session_id = new_reference(session_id_.made.ptr());
    made->plan_id = new_reference(plan_id_.made.ptr());
    made->tool_id = new_reference(tool_id_.made.ptr());
    made->bytes = bytes;
    made->body = nullptr;
    made->data = nullptr;
    return reinterpret_cast<PyObject*>(made);
}

}  // namespace narratoria::python
