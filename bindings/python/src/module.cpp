// SPDX-License-Identifier: Apache-2.0
// narratoria._core: the compiled part of the Python package. Not for direct use: the package is the
// public API.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/near_name.hpp"
#include "event.hpp"
#include "narratoria/limits.h"
#include "narratoria/narratoria.h"
#include "narratoria/store.hpp"
#include "narratoria/validate.hpp"
#include "session.hpp"
#include "tool_threads.hpp"
#include "value.hpp"

namespace py = pybind11;
namespace python = narratoria::python;

namespace {

// Sets an exception of the SDK as the class of narratoria.errors for its status.
void throw_error(const narratoria::Error& error) {
    try {
        const py::object made =
            py::module_::import("narratoria.errors")
                .attr("from_status")(nar_status_name(error.status()), python::to_str(error.code()),
                                     python::to_str(error.message()),
                                     python::to_str(error.details()));
        PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
    } catch (py::error_already_set& another) {
        another.restore();
    }
}

// Only the main interpreter is supported: the library's callbacks run in it.
bool is_refused() {
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return false;
    PyErr_SetString(
        PyExc_ImportError,
        "narratoria does not work in sub-interpreters: its callbacks belong to the main "
        "one; use a process, or a thread of the main interpreter");
    return true;
}

// NULL before construction and after destruction.
python::Session* session_of(PyObject* self) {
    const auto value = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
    return value.holder_constructed() ? value.value_ptr<python::Session>() : nullptr;
}

// For a sub-interpreter that gets a copy of the module without a call of its init function. Plain
// C: pybind11 would hang there.
PyMethodDef check_interpreter = {"check_interpreter",
                                 [](PyObject*, PyObject*) -> PyObject* {
                                     if (is_refused()) return nullptr;
                                     Py_RETURN_NONE;
                                 },
                                 METH_NOARGS, nullptr};

// Py_VISIT needs parameters with these names.
int traverse_session(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const python::Session* session = session_of(self);
    return session == nullptr ? 0 : session->traverse(visit, arg);
}

void finalize_session(PyObject* self) {
    // Preserves a pending exception.
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    if (python::Session* session = session_of(self)) session->finalize();
    PyErr_Restore(type, value, trace);
}

int clear_session(PyObject* self) {
    if (python::Session* session = session_of(self)) session->clear();
    return 0;
}

void make_collectable(PyHeapTypeObject* heap_type) {
    PyTypeObject* type = &heap_type->ht_type;
    type->tp_flags |= Py_TPFLAGS_HAVE_GC;
    type->tp_traverse = traverse_session;
    type->tp_finalize = finalize_session;
    type->tp_clear = clear_session;
}

}  // namespace

// pybind11 would hang in a sub-interpreter. Its init function gets a different name, and the real
// one checks the interpreter first.
#define PyInit__core narratoria_init_core
PYBIND11_MODULE(_core, module) {
    module.doc() = "The compiled part of narratoria. Use the package; this may change.";
    module.attr("library_version") = nar_library_version();
    module.attr("abi_version") =
        py::make_tuple(nar_abi_version() >> 16, nar_abi_version() & 0xFFFFu);
    module.attr("header_abi_version") = py::make_tuple(NAR_ABI_MAJOR, NAR_ABI_MINOR);
    // The largest number of each limit, by name; the next number means "no limit".
    py::dict limits;
#define NARRATORIA_LIMIT(name, type, least, text) \
    limits[#name] = std::numeric_limits<type>::max() - 1;
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    module.attr("largest_limits") = limits;

    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const narratoria::Error& error) {
            throw_error(error);
        }
    });

    python::add_event_type(module);
    module.attr("check_interpreter") =
        py::reinterpret_steal<py::object>(PyCFunction_New(&check_interpreter, nullptr));
    module.def("kind_name", [](std::uint32_t kind) { return nar_kind_name(kind); });
    // The name that `name` probably misspells, or None.
    module.def("near_name",
               [](std::string_view name,
                  const std::vector<std::string_view>& known) -> std::optional<std::string> {
                   const std::string_view near = narratoria::near_name(name, known);
                   return near.empty() ? std::nullopt : std::optional<std::string>(near);
               });
    module.def("from_json", [](const py::object& text) {
        if (PyBytes_Check(text.ptr())) {
            return python::to_python(PyBytes_AS_STRING(text.ptr()),
                                     static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr())));
        }
        return python::to_python(py::cast<std::string_view>(text));
    });
    module.def(
        "to_json",
        [](const py::object& value, const py::object& convert) {
            std::string out;
            python::append_json(out, value, convert);
            return python::to_str(out);
        },
        py::arg("value"), py::arg("convert") = py::none());
    module.def("validate", [](std::uint32_t document, std::string_view text) {
        const narratoria::Text faults =
            narratoria::validate(static_cast<narratoria::Document>(document), text);
        return python::to_python(faults.view());
    });
    module.def("store_sessions", [](const std::string& store) {
        return python::to_python(narratoria::Store(store).sessions().view());
    });
    module.def("store_turns", [](const std::string& store, std::string_view session) {
        return python::to_python(narratoria::Store(store).turns(session).view());
    });
    module.def("store_state",
               [](const std::string& store, std::string_view session, std::uint64_t turn) {
                   return python::to_python(narratoria::Store(store).state(session, turn).view());
               });
    module.def("store_go_to",
               [](const std::string& store, std::string_view session, std::uint64_t turn) {
                   narratoria::Store(store).go_to(session, turn);
               });
    module.def("store_prune",
               [](const std::string& store, std::string_view session, std::uint64_t turn) {
                   return narratoria::Store(store).prune(session, turn);
               });
    module.def("store_set_name",
               [](const std::string& store, std::string_view session, std::string_view name,
                  std::uint64_t turn) { narratoria::Store(store).set_name(session, name, turn); });
    module.def("parse_script", [](std::string_view source) {
        nar_text* tree = nullptr;
        {
            const py::gil_scoped_release released;
            narratoria::detail::Check check;
            check(nar_script_parse(narratoria::detail::to_c(source), &tree, check.details()));
        }
        const narratoria::Text text(tree);
        return python::to_python(text.view());
    });
    module.def("release_threads", &python::Session::release_threads);
    py::class_<python::ThreadInbox>(module, "ThreadInbox")
        .def(py::init<>())
        .def("put", &python::ThreadInbox::put)
        .def("get", &python::ThreadInbox::get);

    py::class_<python::Ticket, std::shared_ptr<python::Ticket>>(module, "Ticket")
        .def_readonly("is_done", &python::Ticket::is_done)
        .def_readonly("value", &python::Ticket::value);

    py::class_<python::ResultText>(module, "ResultText")
        .def("to_dict", &python::ResultText::to_dict)
        .def_property_readonly(
            "success", [](const python::ResultText& self) { return self.result.success(); });

    py::class_<python::PendingCall, std::shared_ptr<python::PendingCall>>(module, "PendingCall")
        .def_property_readonly("request", &python::PendingCall::request)
        .def_property_readonly("is_cancelled", &python::PendingCall::is_cancelled)
        .def_property_readonly("is_open", &python::PendingCall::is_open)
        .def_readwrite("on_cancel", &python::PendingCall::on_cancel);
    py::class_<python::Invocation, python::PendingCall, std::shared_ptr<python::Invocation>>(
        module, "Invocation")
        .def_readwrite("is_done", &python::Invocation::is_done)
        .def("emit", &python::Invocation::emit)
        .def("diagnostics", &python::Invocation::diagnostics)
        .def("deliver_output", &python::Invocation::deliver_output)
        .def("end", &python::Invocation::end, py::arg("lines") = "", py::arg("code") = "",
             py::arg("message") = "");
    py::class_<python::Reply, python::PendingCall, std::shared_ptr<python::Reply>>(module, "Reply")
        .def_property_readonly("timeout_ms", &python::Reply::timeout_ms)
        .def("delta", &python::Reply::delta)
        .def("usage", &python::Reply::usage)
        .def("plan_text", &python::Reply::plan)
        .def("fail", &python::Reply::fail)
        .def("invoke", &python::Reply::invoke)
        .def("cancel_invocation", &python::Reply::cancel_invocation);

    py::class_<python::Session>(module, "Session", py::custom_type_setup(make_collectable))
        .def(py::init<const py::dict&>())
        .def("close", &python::Session::close)
        .def("log_left_out_plugins", &python::Session::log_left_out_plugins)
        .def_property_readonly("is_closed", &python::Session::is_closed)
        .def_property_readonly("is_foreign", &python::Session::is_foreign)
        .def_property_readonly("is_own_thread", &python::Session::is_own_thread)
        .def("prompt", &python::Session::prompt, py::arg("text"), py::arg("ended") = py::none())
        .def("again", &python::Session::again, py::arg("turn"), py::arg("tools"),
             py::arg("ended") = py::none())
        .def("resume", &python::Session::resume, py::arg("turn"), py::arg("repeat"),
             py::arg("ended") = py::none())
        .def("execute", &python::Session::execute, py::arg("plan"), py::arg("folder"),
             py::arg("ended") = py::none())
        .def("run_script", &python::Session::run_script, py::arg("source"), py::arg("scope"),
             py::arg("tools"), py::arg("printed"), py::arg("ended") = py::none())
        .def("cancel", &python::Session::cancel)
        .def("wait", &python::Session::wait)
        .def("begin_use", &python::Session::begin_use)
        .def("end_use", &python::Session::end_use)
        .def("post", &python::Session::post, py::arg("function"), py::arg("is_deferred") = false)
        .def("refuse_forked", &python::Session::refuse_forked)
        .def("refuse_inside", &python::Session::refuse_inside)
        .def("end_wait", &python::Session::end_wait)
        .def("run", &python::Session::run)
        .def("descriptor", &python::Session::descriptor)
        .def("timeout_ms", &python::Session::timeout_ms)
        .def("is_busy", &python::Session::is_busy)
        .def("state", &python::Session::state)
        .def("state_size", &python::Session::state_size)
        .def("has_state", &python::Session::has_state)
        .def("patch_state", &python::Session::patch_state)
        .def("set_state", &python::Session::set_state)
        .def("clear_state", &python::Session::clear_state)
        .def("register_state_metadata", &python::Session::register_state_metadata)
        .def("state_metadata", &python::Session::state_metadata)
        .def("all_state_metadata", &python::Session::all_state_metadata)
        .def("format_state_for_prompt", &python::Session::format_state_for_prompt)
        .def("history", &python::Session::history)
        .def("turns", &python::Session::turns)
        .def("current", &python::Session::current)
        .def("go_to", &python::Session::go_to)
        .def("assets", &python::Session::assets)
        .def("latest_asset", &python::Session::latest_asset)
        .def("assets_after", &python::Session::assets_after)
        .def("plugins", &python::Session::plugins)
        .def("published", &python::Session::published)
        .def("id", &python::Session::id)
        .def("opening", &python::Session::opening)
        .def("attach", &python::Session::attach)
        .def("detach", &python::Session::detach)
        .def("add_tool", &python::Session::add_tool)
        .def("add_tool_path", &python::Session::add_tool_path)
        .def("remove_tool", &python::Session::remove_tool)
        .def("find_tool", &python::Session::find_tool)
        .def("tools", &python::Session::tools)
        .def("tools_for_models", &python::Session::tools_for_models)
        .def("add_ui_handler", &python::Session::add_ui_handler)
        .def("add_asset_renderer", &python::Session::add_asset_renderer)
        .def("set_narrator", &python::Session::set_narrator);
}
#undef PyInit__core

extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
    return is_refused() ? nullptr : narratoria_init_core();
}
