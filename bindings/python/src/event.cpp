// SPDX-License-Identifier: Apache-2.0
#include "event.hpp"

#include <array>
#include <cstddef>

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
    PyObject* bytes;       // the body, as it came
    PyObject* body;        // the same as a dict, once it was looked at
    PyObject* data;        // the same as an object of its kind, likewise
};

PyTypeObject* event_type = nullptr;

EventObject* of(PyObject* object) { return reinterpret_cast<EventObject*>(object); }

constexpr std::array<const char*, 7> kTypes = {nullptr,    "log",   "state_patch", "asset",
                                               "ui_event", "error", "done"};

PyObject* new_reference(PyObject* object) {
    Py_INCREF(object);
    return object;
}

// What the getters throw becomes Python's exception.
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
        // Exact: a float of seconds would lose microseconds.
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

// Another thread may have made one meanwhile. Takes the reference.
void keep_first(PyObject*& place, PyObject* made) {
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
        keep_first(event->body, made);
    }
    return new_reference(event->body);
}

PyObject* get_data(PyObject* self, void*) {
    EventObject* event = of(self);
    if (event->data == nullptr) {
        PyObject* made = guarded([&] {
            const py::object kind = py::reinterpret_steal<py::object>(get_kind(self, nullptr));
            const py::object body = py::reinterpret_steal<py::object>(get_body(self, nullptr));
            if (!kind || !body) throw py::error_already_set();
            return py::module_::import("narratoria.events")
                .attr("event_from_dict")(kind, body)
                .release()
                .ptr();
        });
        if (made == nullptr) return nullptr;
        keep_first(event->data, made);
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
        // As much of it as stands in a line.
        constexpr std::size_t kLongest = 100;
        std::string text = py::cast<std::string>(event.attr("text"));
        if (text.size() > kLongest) {
            std::size_t end = kLongest;
            while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
            text = text.substr(0, end) + "…";
        }
        out += ": " + text + ">";
        return to_str(out).release().ptr();
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
    {"type", get_type, nullptr, "str | None: of a tool's event \"log\", \"done\" …, else None.",
     nullptr},
    {"text", get_text, nullptr, "str: the body as JSON; for a tool's event as the tool wrote it.",
     nullptr},
    {"body", get_body, nullptr, "dict: the body, parsed at the first access.", nullptr},
    {"data", get_data, nullptr,
     "the body as an object of its kind, for pattern matching: Log, Done, PlanStarted …", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"to_dict", to_dict, METH_NOARGS,
     "to_dict()\n--\n\nThe whole record {seq, time, sessionId, planId, "
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
     "to_json()\n--\n\nThe same as one line of JSON, without parsing the body: for a file, "
     "or for server-sent events.\n\n"
     ">>> import narratoria\n"
     ">>> with narratoria.Session() as session:\n"
     "...     _ = session.add_sink(lambda event: print(event.to_json()), kinds=[\"plan_ended\"])\n"
     "...     _ = session.execute({\"requestId\": \"p\", \"tools\": []})\n"
     "{\"seq\":2,...\"kind\":\"plan_ended\",...}\n"},
    {nullptr, nullptr, 0, nullptr}};

constexpr const char* kDoc =
    "One record of a session's event stream: what a tool said, or a step of the runtime.\n"
    "\n"
    "Sinks and ``async for event in session.events()`` get them. The body is parsed when it is\n"
    "looked at, not before.\n"
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
